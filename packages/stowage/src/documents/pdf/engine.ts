import { DocumentFailedError } from '../../errors/errors.ts';
import { createTaskQueue } from '../../basics/concurrency/queues.ts';
import type { Logger } from '../../basics/log/logger.ts';
import type { RemoteFetcher } from '../../basics/network/remote.ts';
import { withinDocumentTime } from '../document-resources.ts';
import type { DocumentJob, PdfLimits } from '../documents.ts';
import { importOptional } from '../../errors/optional-package.ts';
import { BrowserKeeper } from './browser-keeper.ts';
import { type Environment, findBrowser, startBrowser, type StartedBrowser } from './started-browser.ts';
import { printOnce, type PrinterParts } from './printer.ts';

/** What the engine is made of. */
export interface PdfEngineParts {
  readonly remote: RemoteFetcher;
  readonly log: Logger;
  readonly limits: PdfLimits;
  readonly browser: Partial<BrowserChoice>;
}

/** The browser that prints. */
export interface BrowserChoice {
  /** Path of a Chromium browser; without it one is looked for in the usual places. */
  readonly path: string | undefined;
  /** All that it knows of the environment. Default: nothing. */
  readonly environment: Environment;
  /** Whether it runs in its own sandbox. Default: `auto`, wherever it can, which it cannot as root. */
  readonly browserSandbox: 'auto' | 'required' | 'off';
}

/** Makes PDF files with a browser. */
export interface PdfEngine {
  readonly print: (job: DocumentJob) => Promise<Uint8Array>;
  readonly close: () => Promise<void>;
}

/**
 * Makes the function that starts browsers.
 * @throws UnsupportedError, DocumentFailedError
 */
const createLauncher = ({ browser, log }: PdfEngineParts): (() => Promise<StartedBrowser>) => {
  const { path, environment = {}, browserSandbox: sandbox = 'auto' } = browser;
  let warned = false;
  return async () => {
    const { default: puppeteer } = await importOptional(
      'Making PDF files',
      'puppeteer-core',
      () => import('puppeteer-core'),
    );
    const executable = await findBrowser(path);
    const sandboxed = sandbox !== 'off' && executable.hasSandbox && process.getuid?.() !== 0;
    if (!sandboxed && sandbox === 'required') {
      throw new DocumentFailedError({
        detail: 'The browser has no sandbox as root, and none in its npm package.',
      });
    }
    if (!sandboxed && !warned) {
      warned = true;
      log.warn(
        'The browser that prints PDF files runs without its sandbox: a page that breaks out of it has the ' +
          'rights of this service. Run the service as another user than root, or see documents.browserSandbox.',
      );
    }
    return startBrowser(puppeteer, executable, { sandboxed, environment }).catch((cause: unknown) => {
      throw new DocumentFailedError({
        detail: sandboxed
          ? 'The browser does not start; it may not be allowed to make its sandbox.'
          : 'The browser does not start.',
        cause,
      });
    });
  };
};

const printWithin = (parts: PrinterParts, job: DocumentJob): Promise<Uint8Array> =>
  withinDocumentTime(job, parts.limits.renderMs, async (deadline) => {
    // A browser may die of another document, or be killed by the system: that is worth a second try, and no
    // third.
    const pdf = (await printOnce(parts, job, deadline)) ?? (await printOnce(parts, job, deadline));
    if (pdf === undefined) throw new DocumentFailedError({ detail: 'The browser died twice.' });
    return pdf;
  });

/** Makes the engine. No browser runs before the first document. */
export const createPdfEngine = (engine: PdfEngineParts): PdfEngine => {
  const { remote, log, limits } = engine;
  const lanes = createTaskQueue({
    capacity: limits.running,
    maxWaiting: limits.waiting,
    maxWaitMs: limits.maxWaitMs,
  });
  const keeper = new BrowserKeeper(createLauncher(engine), limits, log);
  // Documents wait here for each other alone; their own time ends the wait.
  const slots = createTaskQueue({
    capacity: limits.printing,
    maxWaiting: limits.running,
    maxWaitMs: limits.maxWaitMs,
  });
  const parts: PrinterParts = { remote, log, limits, keeper, slots };
  return {
    print: (job) => lanes.run(() => printWithin(parts, job), 1, job.signal),
    close: () => keeper.close(),
  };
};
