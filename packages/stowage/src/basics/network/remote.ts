import { type Readable, PassThrough, pipeline, Transform, type TransformCallback } from 'node:stream';
import { FileTooLargeError, RemoteFailedError, StowageError } from '../../errors/errors.ts';
import type { Logger } from '../log/logger.ts';
import { orAborted, TimeLimit } from '../concurrency/abort.ts';
import type { AddressSources, PinnedAnswer, PinnedRequestOptions } from './checked-request.ts';
import { parseTarget, type Target } from './target.ts';
import { createBrotliDecompress, createGunzip, createInflate } from 'node:zlib';

/** More layers of compression than this are an attack, not a saving. */
const MAX_ENCODINGS = 2;

const makers: Readonly<Record<string, () => Transform>> = {
  gzip: createGunzip,
  'x-gzip': createGunzip,
  deflate: createInflate,
  br: createBrotliDecompress,
};

/** The compressions of a `Content-Encoding` header, the first applied first; empty for plain content. */
const encodingsOf = (header: string | undefined): readonly string[] =>
  (header ?? '')
    .toLowerCase()
    .split(',')
    .map((name) => name.trim())
    .filter((name) => name !== '' && name !== 'identity');

const decodersFor = (encodings: readonly string[]): Transform[] => {
  if (encodings.length > MAX_ENCODINGS) throw new RemoteFailedError({ detail: 'Too many encodings.' });
  return encodings.toReversed().map((name) => {
    const create = Object.hasOwn(makers, name) ? makers[name] : undefined;
    if (create === undefined) throw new RemoteFailedError({ detail: `Unknown encoding ${name}.` });
    return create();
  });
};

const limitTo = (maxBytes: number): Transform => {
  let left = maxBytes;
  return new Transform({
    transform: (chunk: Buffer, _encoding, callback: TransformCallback) => {
      left -= chunk.length;
      if (left < 0) callback(new FileTooLargeError());
      else callback(null, chunk);
    },
  });
};

/** How a body is bounded. */
export interface BodyBounds {
  readonly maxBytes: number;
  /** The same before decompression. */
  readonly maxWireBytes: number;
  readonly encodings: readonly string[];
  /** Ends the stream, with the signal's reason. */
  readonly signal: AbortSignal;
  readonly explain: (error: unknown) => Error;
  /** Called once, when the stream is over in whatever way. */
  readonly onClose: () => void;
}

/**
 * The decompressed content of a body, cut off with FileTooLargeError past its limit. A compressed bomb is
 * stopped while it unfolds: no more than one chunk beyond the limit is ever in memory.
 * @throws RemoteFailedError for a compression that is not known
 */
const boundBody = (body: Readable, bounds: BodyBounds): Readable => {
  const decoders = decodersFor(bounds.encodings);
  const steps = decoders.length === 0 ? [] : [limitTo(bounds.maxWireBytes), ...decoders];
  const limited = limitTo(bounds.maxBytes);
  // A stream of its own, so that errors of the library are not visible, not even in `errored`.
  const content = new PassThrough();
  const fail = (error: unknown): void => {
    content.destroy(bounds.explain(error));
  };
  const giveUp = (): void => fail(bounds.signal.reason);
  // The reader hears of failures by a listener of its own; before it has one, they must not end the process.
  content.on('error', () => undefined);
  content.once('close', () => {
    bounds.signal.removeEventListener('abort', giveUp);
    limited.destroy();
    bounds.onClose();
  });
  pipeline([body, ...steps, limited], (error) => {
    if (error) fail(error);
  });
  limited.pipe(content);
  if (bounds.signal.aborted) giveUp();
  else bounds.signal.addEventListener('abort', giveUp, { once: true });
  return content;
};

/** Bounds of one fetch. */
export interface RemoteFetchOptions {
  /** Most bytes of content, counted after decompression. */
  readonly maxBytes: number;
  /** Milliseconds for the whole fetch, redirects and the reading of the stream included. */
  readonly timeoutMs: number;
  /** Lifts the check of addresses, and nothing else. */
  readonly allowPrivate?: boolean;
  readonly accept?: string;
  readonly signal?: AbortSignal | undefined;
}

/** Content that arrives from outside. The caller owns the stream: reads it to its end or destroys it. */
export interface RemoteResource {
  /**
   * Fails with FileTooLargeError past `maxBytes`, RemoteFailedError when the transfer breaks or its time is
   * over, and the signal's reason when that aborts.
   */
  readonly stream: Readable;
  /** As the server says, undefined when it does not. */
  readonly contentType: string | undefined;
  /** Bytes, when the server announces them for content that is not compressed. */
  readonly size: number | undefined;
}

/** The only door outward for addresses that users give. */
export interface RemoteFetcher {
  /**
   * Gets a resource over http or https. Every address of every host on the way must be public, and the
   * connection goes to an address that was checked. Errors say nothing of inner hosts.
   * @throws AddressRefusedError for an address that is not public
   * @throws RemoteFailedError for anything else that goes wrong outside: scheme, name, redirects, status,
   *   time
   * @throws FileTooLargeError when the server announces more than `maxBytes`
   */
  fetch(url: string, options: RemoteFetchOptions): Promise<RemoteResource>;
}

const MAX_REDIRECTS = 5;
const REDIRECTS: ReadonlySet<number> = new Set([301, 302, 303, 307, 308]);

/** What a fetcher is made of. */
export interface RemoteFetcherParts extends AddressSources {
  readonly log: Logger;
}

const single = (value: string | string[] | undefined): string | undefined =>
  Array.isArray(value) ? value.join(', ') : value;

/** Makes every failure one of ours. The words of the outside stay in `cause`, for the log. */
const explain = (error: unknown, limit: TimeLimit): Error => {
  if (error instanceof StowageError) return error;
  if (limit.signal.aborted && limit.signal.reason instanceof Error) return limit.signal.reason;
  return new RemoteFailedError({ cause: error });
};

const late = (): Error => new RemoteFailedError({ detail: 'The time is over.' });

/**
 * Compressed content may be a little larger than what it holds; endless compressed nothing must still end.
 */
const wireLimit = (maxBytes: number): number => Math.ceil(maxBytes * 1.01) + 64 * 1024;

const redirectOf = (answer: PinnedAnswer, target: Target): Target | undefined => {
  if (!REDIRECTS.has(answer.status)) return undefined;
  const location = single(answer.headers['location']);
  if (location === undefined) throw new RemoteFailedError({ detail: 'A redirect without a target.' });
  return parseTarget(location, target.url);
};

const resourceOf = (answer: PinnedAnswer, options: RemoteFetchOptions, limit: TimeLimit): RemoteResource => {
  if (answer.status !== 200) throw new RemoteFailedError({ detail: `The server answered ${answer.status}.` });
  const encodings = encodingsOf(single(answer.headers['content-encoding']));
  const length = single(answer.headers['content-length']);
  const size = length === undefined || encodings.length > 0 ? undefined : Number(length);
  if (size !== undefined && size > options.maxBytes) throw new FileTooLargeError();
  const stream = boundBody(answer.body, {
    maxBytes: options.maxBytes,
    maxWireBytes: wireLimit(options.maxBytes),
    encodings,
    signal: limit.signal,
    explain: (error) => explain(error, limit),
    onClose: () => {
      limit.dispose();
      answer.close();
    },
  });
  return { stream, contentType: single(answer.headers['content-type']), size };
};

const ask = async (
  target: Target,
  sources: AddressSources,
  { allowPrivate = false, accept = '*/*' }: Pick<RemoteFetchOptions, 'allowPrivate' | 'accept'>,
  request: Pick<PinnedRequestOptions, 'signal' | 'post'>,
): Promise<PinnedAnswer> => {
  // TLS and the kinds of addresses are loaded with the first fetch: a service starts without them.
  const { checkedAddresses, requestPinned } = await import('./checked-request.ts');
  const addresses = await orAborted(checkedAddresses(target, sources, allowPrivate), request.signal);
  return requestPinned(target, { addresses, accept, ...request });
};

/** Makes the door outward. It keeps no connections: each fetch opens and closes its own. */
export const createRemoteFetcher = (parts: RemoteFetcherParts): RemoteFetcher => {
  const follow = async (url: string, options: RemoteFetchOptions, limit: TimeLimit) => {
    let target = parseTarget(url);
    for (let redirects = 0; redirects <= MAX_REDIRECTS; redirects += 1) {
      const answer = await ask(target, parts, options, { signal: limit.signal });
      try {
        const next = redirectOf(answer, target);
        if (next === undefined) return resourceOf(answer, options, limit);
        answer.close();
        target = next;
      } catch (error) {
        answer.close();
        throw error;
      }
    }
    throw new RemoteFailedError({ detail: 'Too many redirects.' });
  };

  return {
    fetch: async (url, options) => {
      const limit = new TimeLimit(options.timeoutMs, options.signal, late);
      try {
        return await follow(url, options, limit);
      } catch (error) {
        limit.dispose();
        const reason = explain(error, limit);
        parts.log.debug('A remote fetch failed.', { reason });
        throw reason;
      }
    },
  };
};

/** What is posted, and its bounds. */
export interface PostOptions {
  readonly body: string;
  readonly headers: Readonly<Record<string, string>>;
  /** Milliseconds until the headers of the answer. */
  readonly timeoutMs: number;
  /** Lifts the check of addresses. */
  readonly allowPrivate: boolean;
  readonly signal?: AbortSignal | undefined;
}

/** Sends something to addresses of the configuration. */
export interface RemotePoster {
  /**
   * Posts over http or https and gives the status of the answer, whose body is not read. Redirects are not
   * followed. Addresses are checked as `RemoteFetcher.fetch` checks them.
   * @throws AddressRefusedError, RemoteFailedError
   */
  post(url: string, options: PostOptions): Promise<number>;
}

/** The other direction of the door outward. It keeps no connections. */
export const createRemotePoster = (): RemotePoster => ({
  post: async (url, { body, headers, timeoutMs, allowPrivate, signal }) => {
    const limit = new TimeLimit(timeoutMs, signal, late);
    try {
      const request = { signal: limit.signal, post: { body, headers } };
      const answer = await ask(parseTarget(url), {}, { allowPrivate }, request);
      answer.close();
      return answer.status;
    } finally {
      limit.dispose();
    }
  },
});
