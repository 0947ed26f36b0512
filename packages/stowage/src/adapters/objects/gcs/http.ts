import { request as requestHttp, type IncomingHttpHeaders, type IncomingMessage } from 'node:http';
import { request as requestHttps } from 'node:https';
import type { Agents } from '../../remote/core/http.ts';

/** What is sent. */
export interface Sent {
  readonly method: string;
  readonly url: URL;
  readonly headers: Readonly<Record<string, string>>;
  /** Sent one after the other. */
  readonly body: readonly Uint8Array[];
  readonly signal: AbortSignal | undefined;
}

/** An answer of any status. The caller reads or destroys the body. */
export interface Answer {
  readonly status: number;
  readonly headers: IncomingHttpHeaders;
  readonly body: IncomingMessage;
}

const MOST_TEXT = 16 * 1024 * 1024;

/** Sends a request once. Rejects with errors of the system. */
export const exchange = (agents: Agents, { method, url, headers, body, signal }: Sent): Promise<Answer> =>
  new Promise((resolve, reject) => {
    const length = body.reduce((sum, piece) => sum + piece.byteLength, 0);
    const isBodiless = method === 'GET' || method === 'HEAD' || (method === 'DELETE' && length === 0);
    const request = (url.protocol === 'https:' ? requestHttps : requestHttp)(url, {
      method,
      headers: isBodiless ? headers : { ...headers, 'content-length': String(length) },
      agent: agents.of(url.href),
      // One of its own: one signal may stand for very many requests, and warns when too many listen to it.
      ...(signal === undefined ? {} : { signal: AbortSignal.any([signal]) }),
    });
    request.once('error', reject);
    request.once('response', (answer) => {
      // Before anybody reads it, an error must not end the process.
      answer.on('error', () => undefined);
      resolve({ status: answer.statusCode ?? 0, headers: answer.headers, body: answer });
    });
    for (const piece of body) request.write(piece);
    request.end();
  });

/** The whole of a small answer. Rejects when it breaks off, or is larger than any that is asked for. */
export const textOf = async ({ body }: Answer): Promise<string> => {
  const pieces: Uint8Array[] = [];
  let length = 0;
  for await (const piece of body as AsyncIterable<Uint8Array>) {
    length += piece.byteLength;
    if (length > MOST_TEXT) throw new Error('the answer is too long');
    pieces.push(piece);
  }
  return Buffer.concat(pieces).toString();
};
