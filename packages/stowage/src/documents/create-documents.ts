import { Once } from '../basics/concurrency/abort.ts';
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

export interface DocumentsParts {
  readonly remote: RemoteFetcher;
  readonly log: Logger;
  readonly browser?: Partial<BrowserChoice>;
  readonly pdfLimits?: Partial<PdfLimits>;
  readonly docxLimits?: Partial<DocxLimits>;
}

/** Creates the port to both engines. Nothing is started before the first document; `close` ends all. */
export const createDocuments = ({
  remote,
  log,
  browser = {},
  pdfLimits,
  docxLimits,
}: DocumentsParts): DocumentMaker => {
  const [pdf, docx] = [new Once<PdfEngine>(), new Once<DocxEngine>()];
  const openPdf = async (): Promise<PdfEngine> => {
    const { createPdfEngine } = await import('./pdf/engine.ts');
    return createPdfEngine({ remote, log, browser, limits: { ...defaultPdfLimits, ...pdfLimits } });
  };
  const openDocx = async (): Promise<DocxEngine> => {
    const { createDocxEngine } = await import('./docx/engine.ts');
    return createDocxEngine({ remote, log, limits: { ...defaultDocxLimits, ...docxLimits } });
  };
  return {
    pdf: async (job) => (await pdf.get(openPdf)).print(job),
    docx: async (job) => (await docx.get(openDocx)).convert(job),
    close: async () => {
      const [printer, converter] = await Promise.all([pdf.begun, docx.begun]);
      await Promise.all([printer?.close(), converter?.close()]);
    },
  };
};
