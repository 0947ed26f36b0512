import type { DocxPage } from 'stowage-html-docx';
import { DocumentLimitError, ShuttingDownError } from '../../errors/errors.ts';
import { requireInstalled } from '../../errors/optional-package.ts';
import { createTaskQueue } from '../../basics/concurrency/queues.ts';
import { WarmPool } from '../../basics/concurrency/warm-pool.ts';
import { createSharpLoader } from '../../pictures/open-picture.ts';
import type { Logger } from '../../basics/log/logger.ts';
import type { RemoteFetcher } from '../../basics/network/remote.ts';
import { createDocumentResources, type DocumentClock, withinDocumentTime } from '../document-resources.ts';
import type { DocumentJob, DocxLimits } from '../documents.ts';
import { isSizeChosen, pageSizeOf, type PageSetup } from '../page-setup.ts';
import { ConverterThread } from './converter-thread.ts';
import { Drawings } from './drawings.ts';
import { createResourceLoader } from './resource-loader.ts';

const PARALLEL_PICTURES = 2;

/** What the engine is made of. */
export interface DocxEngineParts {
  readonly remote: RemoteFetcher;
  readonly log: Logger;
  readonly limits: DocxLimits;
}

/** Makes DOCX files in threads. */
export interface DocxEngine {
  readonly convert: (job: DocumentJob) => Promise<Uint8Array>;
  readonly close: () => Promise<void>;
}

/** Without a chosen size the document's own rules decide. */
const docxPage = (setup: PageSetup = {}): DocxPage => {
  const { margin, header, footer } = setup;
  return { size: isSizeChosen(setup) ? pageSizeOf(setup) : undefined, margin, header, footer };
};

/**
 * Makes the engine. No thread runs before the first document.
 * @throws UnsupportedError when an optional package is missing
 */
export const createDocxEngine = ({ remote, log, limits }: DocxEngineParts): DocxEngine => {
  requireInstalled('Making DOCX files', ['docx', 'parse5'], (name) => import.meta.resolve(name));
  const { running: capacity, waiting: maxWaiting, maxWaitMs } = limits;
  const lanes = createTaskQueue({ capacity, maxWaiting, maxWaitMs });
  const pictureLanes = createTaskQueue({ capacity: PARALLEL_PICTURES, maxWaiting: 1000, maxWaitMs });
  const sharp = createSharpLoader();
  const pool = new WarmPool(() => new ConverterThread(limits.maxHeapMb), limits.idleMs);
  const drawings = new Drawings(limits);
  const closing = new AbortController();

  const convertIn = async (job: DocumentJob, deadline: DocumentClock): Promise<Uint8Array> => {
    const { signal } = deadline;
    const resources = deadline.time(createDocumentResources(remote, { ...job, signal }, log));
    const { maxPixels } = limits;
    const load = createResourceLoader({
      resources,
      sharp,
      drawings,
      lanes: pictureLanes,
      maxPixels,
      signal,
      log,
    });
    return pool.use((thread) =>
      deadline.race(thread.convert(job.html, docxPage(job.page), load)).catch(async (error: unknown) => {
        // It may be busy for ever, or half-way through something.
        await thread.end();
        throw error;
      }),
    );
  };

  const convertWithin = async (job: DocumentJob): Promise<Uint8Array> => {
    if (closing.signal.aborted) throw new ShuttingDownError();
    return withinDocumentTime(job, limits.convertMs, async (deadline) => {
      const stop = (): void => deadline.abort(new ShuttingDownError());
      closing.signal.addEventListener('abort', stop, { once: true });
      try {
        return await convertIn(job, deadline);
      } finally {
        closing.signal.removeEventListener('abort', stop);
      }
    });
  };

  return {
    convert: (job) => {
      if (job.html.length > limits.maxHtmlLength) throw new DocumentLimitError();
      return lanes.run(() => convertWithin(job), 1, job.signal);
    },
    close: async () => {
      closing.abort();
      await Promise.all([drawings.close(), pool.close()]);
    },
  };
};
