import { DocumentFailedError, DocumentLimitError } from '../../errors/errors.ts';
import { createTaskQueue } from '../../concurrency/task-queue.ts';
import type { Logger } from '../../log/logger.ts';
import { startDeadline } from '../../remote/deadline.ts';
import type { RemoteFetcher } from '../../remote/remote.ts';
import type { PdfJob } from '../documents.ts';
import { importOptional } from '../optional-package.ts';
import { BrowserKeeper } from './browser-keeper.ts';
import { findBrowser } from './executable.ts';
import type { PdfLimits } from './limits.ts';
import { printOnce, type PrinterParts } from './printer.ts';
import { startBrowser, type StartedBrowser } from './started-browser.ts';

/** What the engine is made of. */
export interface PdfEngineParts {
  readonly remote: RemoteFetcher;
  readonly log: Logger;
  readonly limits: PdfLimits;
  /** Path of the browser; undefined: one is looked for. */
  readonly browser: string | undefined;
}

/** Makes PDF files with a browser. */
export interface PdfEngine {
  readonly print: (job: PdfJob) => Promise<Uint8Array>;
  readonly close: () => Promise<void>;
}

const launch = async (configured: string | undefined): Promise<StartedBrowser> => {
  const { default: puppeteer } = await importOptional(
    'PDF files',
    'puppeteer-core',
    () => import('puppeteer-core'),
  );
  const executable = await findBrowser(configured);
  return startBrowser(puppeteer, executable).catch((cause: unknown) => {
    throw new DocumentFailedError({ detail: 'The browser does not start.', cause });
  });
};

const tooLong = (): Error => new DocumentLimitError('The document takes too long to make.');

const printWithin = async (parts: PrinterParts, job: PdfJob): Promise<Uint8Array> => {
  const deadline = startDeadline(job.resources.timeoutMs + parts.limits.renderMs, job.signal, tooLong);
  try {
    // A browser may die of another document, or be killed by the system: that is worth a second try, and no third.
    const pdf = (await printOnce(parts, job, deadline)) ?? (await printOnce(parts, job, deadline));
    if (pdf === undefined) throw new DocumentFailedError({ detail: 'The browser died twice.' });
    return pdf;
  } finally {
    deadline.end();
    // What still loads is for nobody any more.
    deadline.abort(new DocumentFailedError());
  }
};

/** Makes the engine. No browser runs before the first document. */
export const createPdfEngine = ({ remote, log, limits, browser }: PdfEngineParts): PdfEngine => {
  const lanes = createTaskQueue({
    capacity: limits.running,
    maxWaiting: limits.waiting,
    maxWaitMs: limits.maxWaitMs,
  });
  const keeper = new BrowserKeeper(() => launch(browser), limits, log);
  const parts: PrinterParts = { remote, log, limits, keeper };
  return {
    print: (job) => lanes.run(() => printWithin(parts, job), 1, job.signal),
    close: () => keeper.close(),
  };
};
