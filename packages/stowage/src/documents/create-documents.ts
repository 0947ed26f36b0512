import type { Logger } from '../basics/log/logger.ts';
import type { RemoteFetcher } from '../basics/network/remote.ts';
import {
  defaultDocxLimits,
  defaultPdfLimits,
  type DocumentMaker,
  type DocxLimits,
  type PdfLimits,
} from './documents.ts';
import type { DocxEngine } from './docx/engine.ts';
import type { BrowserChoice, PdfEngine } from './pdf/engine.ts';

/** What the documents of a connector are made with. */
export interface DocumentsParts {
  readonly remote: RemoteFetcher;
  readonly log: Logger;
  readonly browser?: Partial<BrowserChoice>;
  readonly pdfLimits?: Partial<PdfLimits>;
  readonly docxLimits?: Partial<DocxLimits>;
}

/** Makes a value at its first use, and again after a failure. `made` is the value as far as there is one. */
const lazily = <Value>(make: () => Promise<Value>) => {
  let value: Promise<Value> | undefined;
  return {
    get: (): Promise<Value> =>
      (value ??= make().catch((error: unknown) => {
        value = undefined;
        throw error;
      })),
    made: (): Promise<Value> | undefined => value,
  };
};

/**
 * Makes the port to both engines. Nothing is loaded or started before the first document; `close` ends what
 * was.
 */
export const createDocuments = ({
  remote,
  log,
  browser = {},
  pdfLimits,
  docxLimits,
}: DocumentsParts): DocumentMaker => {
  const pdf = lazily<PdfEngine>(async () => {
    const { createPdfEngine } = await import('./pdf/engine.ts');
    return createPdfEngine({ remote, log, browser, limits: { ...defaultPdfLimits, ...pdfLimits } });
  });
  const docx = lazily<DocxEngine>(async () => {
    const { createDocxEngine } = await import('./docx/engine.ts');
    return createDocxEngine({ remote, log, limits: { ...defaultDocxLimits, ...docxLimits } });
  });
  return {
    pdf: async (job) => (await pdf.get()).print(job),
    docx: async (job) => (await docx.get()).convert(job),
    close: async () => {
      const [printer, converter] = await Promise.all([pdf.made(), docx.made()]);
      await Promise.all([printer?.close() ?? Promise.resolve(), converter?.close() ?? Promise.resolve()]);
    },
  };
};
