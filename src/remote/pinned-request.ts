import type { LookupFunction } from 'node:net';
import type { Dispatcher } from 'undici';
import type { HostAddress } from './remote.ts';
import type { Target } from './target.ts';

const MAX_HEADER_BYTES = 16 * 1024;

/** What one request needs besides its target. */
export interface PinnedRequestOptions {
  readonly addresses: readonly HostAddress[];
  readonly accept: string;
  readonly timeoutMs: number;
  /** Most bytes taken from the wire. */
  readonly maxWireBytes: number;
  readonly signal: AbortSignal;
}

/** An answer whose body has not been read. `close` ends its connection, at any time and any number of times. */
export interface PinnedAnswer {
  readonly status: number;
  readonly headers: Dispatcher.ResponseData['headers'];
  readonly body: Dispatcher.ResponseData['body'];
  close(): void;
}

/** Answers a connection's question for addresses with those that were checked, so that no second look-up can differ. */
const lookupAmong =
  (addresses: readonly HostAddress[]): LookupFunction =>
  (_hostname, options, callback) => {
    if (options.all === true) return callback(null, [...addresses]);
    const [first] = addresses;
    return first === undefined
      ? callback(new Error('No address.'), '')
      : callback(null, first.address, first.family);
  };

/**
 * Sends one GET to one of the checked addresses, with Host and TLS server name of the URL. Nothing of the process goes along: no
 * proxy of the environment, no cookies, no credentials. Redirects are returned, not followed.
 */
export const requestPinned = async (target: Target, options: PinnedRequestOptions): Promise<PinnedAnswer> => {
  // Loaded at the first fetch: most requests never need it, and it takes a tenth of a second.
  const { Client } = await import('undici');
  const client = new Client(target.url.origin, {
    connect: { lookup: lookupAmong(options.addresses), timeout: options.timeoutMs },
    headersTimeout: options.timeoutMs,
    bodyTimeout: options.timeoutMs,
    maxHeaderSize: MAX_HEADER_BYTES,
    maxResponseSize: options.maxWireBytes,
    pipelining: 0,
  });
  const close = (): void => {
    client.destroy().catch(() => undefined);
  };
  try {
    const { statusCode, headers, body } = await client.request({
      method: 'GET',
      path: target.url.pathname + target.url.search,
      headers: { accept: options.accept, 'accept-encoding': 'identity', 'user-agent': 'Stowage' },
      signal: options.signal,
    });
    // A body may fail at any time, also after its reader has gone.
    body.on('error', () => undefined);
    return { status: statusCode, headers, body, close };
  } catch (error) {
    close();
    throw error;
  }
};
