import { inTimeLimit, orAborted } from '../../basics/concurrency/abort.ts';
import { createTaskQueue, type TaskQueue } from '../../basics/concurrency/queues.ts';
import type { Logger } from '../../basics/log/logger.ts';
import type { RemoteFetcher } from '../../basics/network/remote.ts';
import { DocumentFailedError, StowageError } from '../../errors/errors.ts';
import { importOptional } from '../../errors/optional-package.ts';
import { createDocumentResources, type DocumentClock, withinDocumentTime } from '../document-resources.ts';
import type { DocumentJob, PdfLimits } from '../documents.ts';
import { BrowserKeeper, type BrowserLease } from './browser-keeper.ts';
import { printDocument } from './page.ts';
import { type Environment, findBrowser, startBrowser, type StartedBrowser } from './started-browser.ts';

/** Time limits for opening and closing a browser context; after them the browser is killed. */
const OPEN_MS = 10_000;
const CLOSE_MS = 5000;

export interface PrinterParts {
  readonly remote: RemoteFetcher;
  readonly log: Logger;
  readonly limits: PdfLimits;
  readonly keeper: BrowserKeeper;
  /** Queue of loaded documents for printing. */
  readonly slots: TaskQueue;
}

/**
 * Waits for a response of the browser. A browser without one in time is killed: it hangs, or has a page that
 * it cannot stop.
 * @throws errors of the response; a TimeoutError when there is none in time, and the browser has been killed
 */
const inTime = <Result>(
  started: StartedBrowser,
  work: Promise<Result>,
  milliseconds: number,
): Promise<Result> =>
  inTimeLimit(milliseconds, undefined, (limit) =>
    orAborted(work, limit).catch(async (error: unknown) => {
      if (limit.aborted) await started.close();
      throw error;
    }),
  );

const printIn = async (
  { remote, log, limits, slots }: PrinterParts,
  started: StartedBrowser,
  job: DocumentJob,
  deadline: DocumentClock,
): Promise<Uint8Array> => {
  const context = await inTime(started, started.browser.createBrowserContext(), OPEN_MS);
  try {
    const { signal } = deadline;
    const resources = deadline.time(createDocumentResources(remote, { ...job, signal }, log));
    const { html, page = {} } = job;
    return await deadline.race(
      printDocument(context, {
        html,
        page,
        resources,
        maxPdfBytes: limits.maxPdfBytes,
        inSlot: (work) => slots.run(work, 1, signal),
      }),
    );
  } finally {
    await inTime(started, context.close(), CLOSE_MS).catch(() => undefined);
  }
};

/** A lease that arrives too late is released. */
const leaseWithin = async (keeper: BrowserKeeper, deadline: DocumentClock): Promise<BrowserLease> => {
  const leasing = keeper.lease();
  try {
    return await deadline.race(leasing);
  } catch (error) {
    leasing.then(({ release }) => release()).catch(() => undefined);
    throw error;
  }
};

/**
 * Prints one document in the warm browser, in its own context.
 * @returns undefined when the browser died meanwhile
 * @throws DocumentLimitError, DocumentFailedError, the reason of the deadline
 */
export const printOnce = async (
  parts: PrinterParts,
  job: DocumentJob,
  deadline: DocumentClock,
): Promise<Uint8Array | undefined> => {
  const { started, release } = await leaseWithin(parts.keeper, deadline);
  try {
    return await orAborted(printIn(parts, started, job, deadline), started.gone);
  } catch (error) {
    deadline.signal.throwIfAborted();
    if (started.gone.aborted) return undefined;
    throw error instanceof StowageError ? error : new DocumentFailedError({ cause: error });
  } finally {
    await release();
  }
};

export interface PdfEngineParts {
  readonly remote: RemoteFetcher;
  readonly log: Logger;
  readonly limits: PdfLimits;
  readonly browser: Partial<BrowserChoice>;
}

export interface BrowserChoice {
  /** Path of a Chromium browser; by default the usual locations are searched. */
  readonly path: string | undefined;
  /** Environment variables of the browser. Default: none. */
  readonly environment: Environment;
  /** Use of the browser's own sandbox. Default: `auto`, wherever it is possible, which it is not as root. */
  readonly browserSandbox: 'auto' | 'required' | 'off';
}

/**
 * Creates the function that starts browsers.
 * @throws UnsupportedError, DocumentFailedError
 */
const createLauncher = ({
  browser,
  log,
}: PdfEngineParts): ((signal: AbortSignal) => Promise<StartedBrowser>) => {
  const { path, environment = {}, browserSandbox: sandbox = 'auto' } = browser;
  let warned = false;
  return async (signal) => {
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
    return startBrowser(puppeteer, executable, { sandboxed, environment, signal }).catch((cause: unknown) => {
      signal.throwIfAborted();
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
    // A browser may die because of another document, or be killed by the system: one retry is worthwhile,
    // more are not.
    const pdf = (await printOnce(parts, job, deadline)) ?? (await printOnce(parts, job, deadline));
    if (pdf === undefined) throw new DocumentFailedError({ detail: 'The browser died twice.' });
    return pdf;
  });

/** Creates PDF files with a browser. None runs before the first document. */
export const createPdfEngine = (engine: PdfEngineParts) => {
  const { remote, log, limits } = engine;
  const lanes = createTaskQueue({
    capacity: limits.running,
    maxWaiting: limits.waiting,
    maxWaitMs: limits.maxWaitMs,
  });
  const keeper = new BrowserKeeper(createLauncher(engine), limits, log);
  // Documents wait here only for each other; the wait ends with their own time limit.
  const slots = createTaskQueue({
    capacity: limits.printing,
    maxWaiting: limits.running,
    maxWaitMs: limits.maxWaitMs,
  });
  const parts: PrinterParts = { remote, log, limits, keeper, slots };
  return {
    print: (job: DocumentJob): Promise<Uint8Array> => lanes.run(() => printWithin(parts, job), 1, job.signal),
    close: (): Promise<void> => keeper.close(),
  };
};

export type PdfEngine = ReturnType<typeof createPdfEngine>;
