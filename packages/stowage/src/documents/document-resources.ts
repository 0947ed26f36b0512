import type { Logger } from '../basics/log/logger.ts';
import { orAborted, TimeLimit } from '../basics/concurrency/abort.ts';
import { createSlots } from '../basics/concurrency/queues.ts';
import type { RemoteFetcher } from '../basics/network/remote.ts';
import { DocumentFailedError, DocumentLimitError, RemoteFailedError } from '../errors/errors.ts';
import type { DocumentJob, Resource } from './documents.ts';

const MAX_RESOURCES = 500;
/** Maximum bytes of all resources of one document, or twice the limit of a single one if that is more. */
const MAX_TOTAL_BYTES = 100 * 1024 * 1024;
const PARALLEL = 6;
const STALL_MS = 10_000;

/** Fetches a resource; aborts when no data arrives for `stallMs`, apart from its wait for lookups of others. */
const fetchWhileMoving = async (
  remote: RemoteFetcher,
  url: string,
  options: Parameters<RemoteFetcher['fetch']>[1] & { readonly signal: AbortSignal },
  stallMs: number,
): Promise<Resource> => {
  const stalled = new AbortController();
  let timer: NodeJS.Timeout | undefined;
  const onWait = (isWaiting: boolean): void => {
    clearTimeout(timer);
    if (!isWaiting) timer = setTimeout(() => stalled.abort(new RemoteFailedError()), stallMs);
  };
  try {
    const signal = AbortSignal.any([options.signal, stalled.signal]);
    const { stream, contentType } = await remote.fetch(url, { ...options, signal, onWait });
    const chunks: Buffer[] = [];
    for await (const chunk of stream as AsyncIterable<Buffer>) {
      timer?.refresh();
      chunks.push(chunk);
    }
    return { bytes: Buffer.concat(chunks), contentType };
  } finally {
    clearTimeout(timer);
  }
};

export interface DocumentResources {
  /**
   * Loads from the sources of the request, else over http and https. Undefined when the resource is denied,
   * fails, or exceeds a limit of the document, which is made without it. Rejects only with the reason of the
   * document's signal.
   */
  load(url: string, accept: string): Promise<Resource | undefined>;
}

/** Creates the loader of one document, whose time limit starts with the first resource. */
export const createDocumentResources = (
  remote: RemoteFetcher,
  { resources: rules, readOwn, signal }: Pick<DocumentJob, 'resources' | 'readOwn' | 'signal'>,
  log: Logger,
): DocumentResources => {
  let endsAt: number | undefined;
  const slots = createSlots(PARALLEL, MAX_RESOURCES);
  let count = 0;
  let bytesLeft = Math.max(MAX_TOTAL_BYTES, 2 * rules.maxBytes);

  const fetchOne = async (url: string, accept: string): Promise<Resource | undefined> => {
    endsAt ??= Date.now() + rules.timeoutMs;
    const timeoutMs = endsAt - Date.now();
    if (timeoutMs <= 0 || bytesLeft <= 0) return undefined;
    const maxBytes = Math.min(rules.maxBytes, bytesLeft);
    const own = await readOwn?.(url, { maxBytes, signal });
    // A scheme is added as the browser adds that of its page.
    const address = url.replace(/^(?=\/\/)/u, 'http:');
    if (own !== undefined || !rules.enabled || !URL.canParse(address)) return own;
    const options = { maxBytes, timeoutMs, accept, signal };
    return fetchWhileMoving(remote, address, options, rules.stallMs ?? STALL_MS);
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

const late = (): Error => new DocumentLimitError('The document takes too long to make.');

/**
 * Starts the time limits of one document: its own time, which is paused while resources load, and the time of
 * loading. The sum of both limits the document.
 */
const startDocumentClock = (ownMs: number, loadingMs: number, outer: AbortSignal) => {
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
    /** The result of the work, or the signal's reason as soon as that aborts; then the work continues. */
    race: <Value>(work: Promise<Value>): Promise<Value> => orAborted(work, signal),
    /** Aborts the signal, unless it is aborted already. */
    abort: (reason: Error): void => limit.abort(reason),
    /** Stops the clock. Must be called in every case. */
    end: (): void => {
      isEnded = true;
      clearTimeout(timer);
      limit.dispose();
    },
    /** Wraps the resources: while any of them loads, the document's own time is paused. */
    time: (resources: DocumentResources): DocumentResources => ({
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

export type DocumentClock = ReturnType<typeof startDocumentClock>;

/** Makes a document within its own time and that of loading. @throws DocumentLimitError */
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
    // Ends resources that are still loading.
    clock.abort(new DocumentFailedError());
  }
};
