import { type Readable, PassThrough, pipeline, type Transform } from 'node:stream';
import { FileTooLargeError, RemoteFailedError, StowageError } from '../../errors/errors.ts';
import { limitTo } from '../content/parse-budget.ts';
import type { Logger } from '../log/logger.ts';
import { inTimeLimit, orAborted, TimeLimit } from '../concurrency/abort.ts';
import { createSlots, type Slots } from '../concurrency/queues.ts';
import type { AddressSources, PinnedResponse, PinnedRequestOptions } from './checked-request.ts';
import { parseTarget, type Target } from './target.ts';
import { createBrotliDecompress, createGunzip, createInflate } from 'node:zlib';

/** Maximum layers of compression: more are an attack. */
const MAX_ENCODINGS = 2;

const makers: Readonly<Record<string, () => Transform>> = {
  gzip: createGunzip,
  'x-gzip': createGunzip,
  deflate: createInflate,
  br: createBrotliDecompress,
};

/** Other labels change nothing, as in browsers: `none`, `utf-8`, or `aws-chunked` of S3 clients. */
const COMPRESSION = /^(?:(?:x-)?(?:gzip|compress)|deflate|br|zstd|dcb|dcz)$/u;
const GZIP_TYPE = /^application\/(?:x-)?(?:gzip|gunzip|compressed-tar|gtar-compressed|tgz)\b/iu;
const GZIP_NAME = /\.(?:t?gz|svgz)$/iu;

/**
 * The encodings of a response, in the order of application; empty for plain content. Web servers also label
 * archives (`.tar.gz`) with the compression that is a part of the file; as in browsers, those stay compressed.
 */
const encodingsOf = (header: string | undefined, type: string | undefined, { url }: Target) => {
  const encodings = (header ?? '')
    .toLowerCase()
    .split(',')
    .map((name) => name.trim())
    .filter((name) => COMPRESSION.test(name));
  const isGzip = encodings.length === 1 && /^(?:x-)?gzip$/u.test(encodings[0] ?? '');
  return isGzip && (GZIP_TYPE.test(type ?? '') || GZIP_NAME.test(url.pathname)) ? [] : encodings;
};

const decodersFor = (encodings: readonly string[]): Transform[] => {
  if (encodings.length > MAX_ENCODINGS) throw new RemoteFailedError({ detail: 'Too many encodings.' });
  return encodings.toReversed().map((name) => {
    const create = makers[name];
    if (create === undefined) throw new RemoteFailedError({ detail: `Unknown encoding ${name}.` });
    return create();
  });
};

const tooLarge = (): Error => new FileTooLargeError();

export interface BodyBounds {
  readonly maxBytes: number;
  /** Limit of the bytes before decompression. */
  readonly maxWireBytes: number;
  readonly encodings: readonly string[];
  /** Aborts the stream with the signal's reason. */
  readonly signal: AbortSignal;
  readonly explain: (error: unknown) => Error;
  /** Called once, when the stream has closed for any reason. */
  readonly onClose: () => void;
}

/**
 * The decompressed content of a body; fails with FileTooLargeError beyond its limit. A compression bomb is
 * stopped while it is decompressed: at most one chunk beyond the limit is in memory.
 * @throws RemoteFailedError for an unknown compression
 */
const boundBody = (body: Readable, bounds: BodyBounds): Readable => {
  const decoders = decodersFor(bounds.encodings);
  const steps = decoders.length === 0 ? [] : [limitTo(bounds.maxWireBytes, tooLarge), ...decoders];
  const limited = limitTo(bounds.maxBytes, tooLarge);
  // A separate stream, so that errors of the library are not exposed, not even in `errored`.
  const content = new PassThrough();
  const fail = (error: unknown): void => {
    content.destroy(bounds.explain(error));
  };
  const giveUp = (): void => fail(bounds.signal.reason);
  // The reader adds its own error listener; before that, failures must not crash the process.
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

export interface RemoteFetchOptions {
  /** Maximum bytes of content, after decompression. */
  readonly maxBytes: number;
  /** Milliseconds for the whole fetch, including redirects and reading the stream. */
  readonly timeoutMs: number;
  /** Disables the check of addresses, and nothing else. */
  readonly allowPrivate?: boolean;
  readonly accept?: string;
  readonly signal?: AbortSignal | undefined;
  /** Called when the fetch begins to wait for the lookups of others, and when that wait has ended. */
  readonly onWait?: (isWaiting: boolean) => void;
}

/** Fetched content. The caller owns the stream: it reads it to its end or destroys it. */
export interface RemoteResource {
  /**
   * Fails with FileTooLargeError beyond `maxBytes`, RemoteFailedError when the transfer breaks or times out,
   * and the signal's reason when that aborts.
   */
  readonly stream: Readable;
  /** Value of the response header; undefined without one. */
  readonly contentType: string | undefined;
  /** Length in bytes, when the server announces it for uncompressed content. */
  readonly size: number | undefined;
}

/** Fetches URLs given by users. All such requests go through this interface. */
export interface RemoteFetcher {
  /**
   * Fetches a resource over http or https. Every address of every host, including redirects, must be public,
   * and connections go to checked addresses. Errors reveal nothing about internal hosts.
   * @throws AddressRefusedError for an address that is not public
   * @throws RemoteFailedError for other failures outside: scheme, name, redirects, status, time
   * @throws FileTooLargeError when the server announces more than `maxBytes`
   */
  fetch(url: string, options: RemoteFetchOptions): Promise<RemoteResource>;
}

const MAX_REDIRECTS = 5;
const REDIRECTS: ReadonlySet<number> = new Set([301, 302, 303, 307, 308]);

export interface RemoteFetcherParts extends AddressSources {
  readonly log: Logger;
  readonly userAgent?: string;
}

const single = (value: string | string[] | undefined): string | undefined =>
  Array.isArray(value) ? value.join(', ') : value;

/** Converts every error. Texts of other servers are kept in `cause`, for the log. */
const explain = (error: unknown, limit: TimeLimit): Error => {
  if (error instanceof StowageError) return error;
  if (limit.signal.aborted && limit.signal.reason instanceof Error) return limit.signal.reason;
  return new RemoteFailedError({ cause: error });
};

const late = (): Error => new RemoteFailedError({ detail: 'The time is over.' });

/** Compressed content may be slightly larger than the original, but must not be an endless stream. */
const wireLimit = (maxBytes: number): number => Math.ceil(maxBytes * 1.01) + 64 * 1024;

const redirectOf = (response: PinnedResponse, target: Target): Target | undefined => {
  if (!REDIRECTS.has(response.status)) return undefined;
  const location = single(response.headers['location']);
  if (location === undefined) throw new RemoteFailedError({ detail: 'A redirect without a target.' });
  // Unencoded letters arrive byte by byte: usually those of UTF-8.
  const encoded = location.replaceAll(
    /[\u0080-\u00ff]/gu,
    (byte) => `%${byte.charCodeAt(0).toString(16).toUpperCase()}`,
  );
  return parseTarget(encoded, target.url);
};

const resourceOf = (
  response: PinnedResponse,
  target: Target,
  options: RemoteFetchOptions,
  limit: TimeLimit,
): RemoteResource => {
  if (response.status !== 200) throw new RemoteFailedError({ detail: `The server sent ${response.status}.` });
  const contentType = single(response.headers['content-type']);
  const encodings = encodingsOf(single(response.headers['content-encoding']), contentType, target);
  const length = single(response.headers['content-length']);
  const size = length === undefined || encodings.length > 0 ? undefined : Number(length);
  if (size !== undefined && size > options.maxBytes) throw new FileTooLargeError();
  const stream = boundBody(response.body, {
    maxBytes: options.maxBytes,
    maxWireBytes: wireLimit(options.maxBytes),
    encodings,
    signal: limit.signal,
    explain: (error) => explain(error, limit),
    onClose: () => {
      limit.dispose();
      response.close();
    },
  });
  return { stream, contentType, size };
};

const MAX_WAITING_LOOKUPS = 1000;

const ask = async (
  target: Target,
  sources: AddressSources & { readonly lookups?: Slots },
  { allowPrivate = false, accept = '*/*', onWait }: Partial<RemoteFetchOptions>,
  request: Pick<PinnedRequestOptions, 'signal' | 'post' | 'userAgent'>,
): Promise<PinnedResponse> => {
  // Loads TLS and the address ranges with the first fetch, so that the service starts without them.
  const { checkedAddresses, requestPinned } = await import('./checked-request.ts');
  // In turns by domain: many names of a slow one do not keep the others waiting.
  const domain = target.hostname.split('.').slice(-2).join('.');
  onWait?.(true);
  const leave = target.literal ? undefined : await sources.lookups?.take(request.signal, domain);
  onWait?.(false);
  const lookup = checkedAddresses(target, sources, allowPrivate).finally(leave);
  const addresses = await orAborted(lookup, request.signal);
  return requestPinned(target, { addresses, accept, ...request });
};

/** Creates the fetcher. It keeps no connections: each fetch opens and closes its own. */
export const createRemoteFetcher = (parts: RemoteFetcherParts): RemoteFetcher => {
  // A name may occupy a thread for ten seconds; of two such threads, stores and Redis need the other one.
  const sources = { ...parts, lookups: createSlots(1, MAX_WAITING_LOOKUPS) };
  const follow = async (url: string, options: RemoteFetchOptions, limit: TimeLimit) => {
    let target = parseTarget(url);
    const request = { signal: limit.signal, userAgent: parts.userAgent };
    for (let redirects = 0; redirects <= MAX_REDIRECTS; redirects += 1) {
      const response = await ask(target, sources, options, request);
      try {
        const next = redirectOf(response, target);
        if (next === undefined) return resourceOf(response, target, options, limit);
        response.close();
        target = next;
      } catch (error) {
        response.close();
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

/** Content of a post, and its limits. */
export interface PostOptions {
  readonly body: string;
  readonly headers: Readonly<Record<string, string>>;
  /** Milliseconds until the headers of the response. */
  readonly timeoutMs: number;
  /** Disables the check of addresses. */
  readonly allowPrivate: boolean;
  readonly signal?: AbortSignal | undefined;
}

/**
 * Posts to a URL of the configuration over http or https, and returns the status of the response, without
 * reading its body. Does not follow redirects, and keeps no connections. Checks addresses as
 * `RemoteFetcher.fetch` does.
 * @throws AddressRefusedError, RemoteFailedError
 */
export const postRemote = (
  url: string,
  { body, headers, timeoutMs, allowPrivate, signal: outer }: PostOptions,
): Promise<number> =>
  inTimeLimit(
    timeoutMs,
    outer,
    async (signal) => {
      const response = await ask(parseTarget(url), {}, { allowPrivate }, { signal, post: { body, headers } });
      response.close();
      return response.status;
    },
    late,
  );
