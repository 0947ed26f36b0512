import type { Logger } from '../basics/log/logger.ts';
import { orAborted, TimeLimit } from '../basics/concurrency/abort.ts';
import { createSlots } from '../basics/concurrency/queues.ts';
import type { RemoteFetcher } from '../basics/network/remote.ts';
import { DocumentFailedError, DocumentLimitError, RemoteFailedError } from '../errors/errors.ts';
import type { DocumentJob, Resource } from './documents.ts';

/** More resources than this are not loaded for one document. */
const MAX_RESOURCES = 500;
/** Bytes of all resources of one document, or twice the largest single one where that is more. */
const MAX_TOTAL_BYTES = 100 * 1024 * 1024;
const PARALLEL = 6;
const STALL_MS = 10_000;

/** Fetches as long as something comes: gives up when nothing does for `stallMs`. */
const fetchWhileMoving = async (
  remote: RemoteFetcher,
  url: string,
  options: Parameters<RemoteFetcher['fetch']>[1] & { readonly signal: AbortSignal },
  stallMs: number,
): Promise<Resource> => {
  const stalled = new AbortController();
  const timer = setTimeout(() => stalled.abort(new RemoteFailedError()), stallMs);
  try {
    const signal = AbortSignal.any([options.signal, stalled.signal]);
    const { stream, contentType } = await remote.fetch(url, { ...options, signal });
    const chunks: Buffer[] = [];
    for await (const chunk of stream as AsyncIterable<Buffer>) {
      timer.refresh();
      chunks.push(chunk);
    }
    return { bytes: Buffer.concat(chunks), contentType };
  } finally {
    clearTimeout(timer);
  }
};

/** The loader of one document. */
export interface DocumentResources {
  /**
   * Loads from the sources of the request, else over http and https. Undefined when the resource is refused,
   * fails, or passes a limit of the document: documents are made without it. Rejects only with the reason of
   * the document's signal.
   */
  load(url: string, accept: string): Promise<Resource | undefined>;
}

/** Makes the loader of one document. Its time begins now. */
export const createDocumentResources = (
  remote: RemoteFetcher,
  { resources: rules, readOwn, signal }: Pick<DocumentJob, 'resources' | 'readOwn' | 'signal'>,
  log: Logger,
): DocumentResources => {
  const endsAt = Date.now() + rules.timeoutMs;
  const slots = createSlots(PARALLEL, MAX_RESOURCES);
  let count = 0;
  let bytesLeft = Math.max(MAX_TOTAL_BYTES, 2 * rules.maxBytes);

  const fetchOne = async (url: string, accept: string): Promise<Resource | undefined> => {
    const timeoutMs = endsAt - Date.now();
    if (timeoutMs <= 0 || bytesLeft <= 0) return undefined;
    const maxBytes = Math.min(rules.maxBytes, bytesLeft);
    const own = await readOwn?.(url, { maxBytes, signal });
    if (own !== undefined || !rules.enabled || !URL.canParse(url)) return own;
    const options = { maxBytes, timeoutMs, accept, signal };
    return fetchWhileMoving(remote, url, options, rules.stallMs ?? STALL_MS);
  };

  return {
    load: async (url, accept) => {
      count += 1;
      if (count > MAX_RESOURCES) return undefined;
      const leave = await slots.take(signal);
      try {
        const resource = await fetchOne(url, accept);
        bytesLeft -= resource?.bytes.length ?? 0;
        return resource;
      } catch (reason) {
        signal.throwIfAborted();
        log.info('A resource of a document is left out.', { reason });
        return undefined;
      } finally {
        leave();
      }
    },
  };
};

/** The time of one document: its own, which stands still while something loads, and that of loading. */
export interface DocumentClock {
  readonly signal: AbortSignal;
  /** What the work gives, or the signal's reason as soon as that aborts; the work goes on unheard. */
  race<Value>(work: Promise<Value>): Promise<Value>;
  /** Aborts the signal now, unless it is aborted already. */
  abort(reason: Error): void;
  /** Stops the clock. To be called on every way out. */
  end(): void;
  /** The same resources; while any of them loads, the document's own time stands still. */
  time(resources: DocumentResources): DocumentResources;
}

const late = (): Error => new DocumentLimitError('The document takes too long to make.');

/** Starts the clock. Both times together are the most that the document takes. */
const startDocumentClock = (ownMs: number, loadingMs: number, outer: AbortSignal): DocumentClock => {
  const limit = new TimeLimit(ownMs + loadingMs, outer, late);
  const { signal } = limit;
  let left = ownMs;
  let loading = 0;
  let isEnded = false;
  let since = performance.now();
  let timer: NodeJS.Timeout | undefined;
  const run = (): void => {
    since = performance.now();
    timer = setTimeout(() => limit.abort(late()), left);
  };
  const stop = (): void => {
    clearTimeout(timer);
    left -= performance.now() - since;
  };
  run();
  return {
    signal,
    race: (work) => orAborted(work, signal),
    abort: (reason) => limit.abort(reason),
    end: () => {
      isEnded = true;
      clearTimeout(timer);
      limit.dispose();
    },
    time: (resources) => ({
      load: async (url, accept) => {
        loading += 1;
        if (loading === 1) stop();
        try {
          return await resources.load(url, accept);
        } finally {
          loading -= 1;
          if (loading === 0 && !isEnded) run();
        }
      },
    }),
  };
};

/** Makes a document in its own time and that of loading. @throws DocumentLimitError, the job's own reason */
export const withinDocumentTime = async <Result>(
  { resources, signal }: DocumentJob,
  ownMs: number,
  make: (clock: DocumentClock) => Promise<Result>,
): Promise<Result> => {
  const clock = startDocumentClock(ownMs, resources.timeoutMs, signal);
  try {
    return await make(clock);
  } finally {
    clock.end();
    // Resources that still load are not needed any more.
    clock.abort(new DocumentFailedError());
  }
};
