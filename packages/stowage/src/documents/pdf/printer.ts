import type { BrowserContext } from 'puppeteer-core';
import { DocumentFailedError, StowageError } from '../../errors/errors.ts';
import type { TaskQueue } from '../../basics/concurrency/queues.ts';
import type { Logger } from '../../basics/log/logger.ts';
import { orAborted } from '../../basics/concurrency/abort.ts';
import type { RemoteFetcher } from '../../basics/network/remote.ts';
import { createDocumentResources, type DocumentClock } from '../document-resources.ts';
import type { DocumentJob, PdfLimits } from '../documents.ts';
import type { BrowserKeeper, BrowserLease } from './browser-keeper.ts';
import { printDocument } from './page.ts';
import type { StartedBrowser } from './started-browser.ts';

/** How long a context may take to end before its browser is given up. */
const CONTEXT_CLOSE_MS = 5000;

/** What printing needs. */
export interface PrinterParts {
  readonly remote: RemoteFetcher;
  readonly log: Logger;
  readonly limits: PdfLimits;
  readonly keeper: BrowserKeeper;
  /** Where loaded documents wait to be printed. */
  readonly slots: TaskQueue;
}

/** A context that does not end has a page that the browser cannot stop: then the browser itself is ended. */
const closeContext = async (context: BrowserContext, started: StartedBrowser): Promise<void> => {
  let timer: NodeJS.Timeout | undefined;
  const late = new Promise<'late'>((resolve) => {
    timer = setTimeout(() => resolve('late'), CONTEXT_CLOSE_MS);
  });
  const outcome = await Promise.race([context.close().catch(() => undefined), late]);
  clearTimeout(timer);
  if (outcome === 'late') await started.close();
};

const printIn = async (
  { remote, log, limits, slots }: PrinterParts,
  started: StartedBrowser,
  job: DocumentJob,
  deadline: DocumentClock,
): Promise<Uint8Array> => {
  const context = await started.browser.createBrowserContext();
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
    await closeContext(context, started);
  }
};

/** A lease that comes too late is given back. */
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
 * Prints one document in the warm browser, in a context of its own.
 * @returns undefined when the browser died under it
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
