import { request as requestHttp, type IncomingHttpHeaders, type RequestOptions } from 'node:http';
import { request as requestHttps } from 'node:https';
import type { LookupFunction } from 'node:net';
import type { Readable } from 'node:stream';
import type { HostAddress } from './remote.ts';
import type { Target } from './target.ts';

const MAX_HEADER_BYTES = 16 * 1024;

/** What one request needs besides its target. */
export interface PinnedRequestOptions {
  readonly addresses: readonly HostAddress[];
  readonly accept: string;
  readonly signal: AbortSignal;
  /** Sends a POST with this instead of a GET. */
  readonly post?: { readonly body: string; readonly headers: Readonly<Record<string, string>> };
}

/**
 * An answer whose body has not been read. `close` ends its connection, at any time and any number of times.
 */
export interface PinnedAnswer {
  readonly status: number;
  readonly headers: IncomingHttpHeaders;
  readonly body: Readable;
  close(): void;
}

/**
 * Answers a connection's question for addresses with those that were checked, so that no second look-up can
 * differ.
 */
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
 * Sends one GET, or a POST, to one of the checked addresses, with Host and TLS server name of the URL.
 * Nothing of the process goes along: no proxy of the environment, no cookies, no credentials. Redirects are
 * returned, not followed. The signal bounds the whole exchange.
 */
export const requestPinned = ({ url }: Target, options: PinnedRequestOptions): Promise<PinnedAnswer> =>
  new Promise((resolve, reject) => {
    const { addresses, accept, signal, post } = options;
    const settings: RequestOptions = {
      // A connection of its own that is not kept.
      agent: false,
      method: post === undefined ? 'GET' : 'POST',
      lookup: lookupAmong(addresses),
      maxHeaderSize: MAX_HEADER_BYTES,
      headers: { accept, 'accept-encoding': 'identity', 'user-agent': 'Stowage', ...post?.headers },
      signal,
    };
    const request = url.protocol === 'https:' ? requestHttps(url, settings) : requestHttp(url, settings);
    // It may fail at any time, also after its answer has begun.
    request.on('error', reject);
    request.once('close', () => reject(new Error('The connection ended without an answer.')));
    request.once('response', (body) => {
      // As may a body, also after its reader has gone.
      body.on('error', () => undefined);
      const close = (): void => void request.destroy();
      resolve({ status: body.statusCode ?? 0, headers: body.headers, body, close });
    });
    request.end(post?.body);
  });
