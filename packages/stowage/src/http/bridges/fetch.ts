import { Readable } from 'node:stream';
import type { ConnectorRequest, ConnectorResponse, Handle } from '../message.ts';
import { createCut, drain, mountOf, type MountOptions, peerAddress } from './mount.ts';

/** A handler of web requests: Hono, Next.js, Bun and all that speak `Request` and `Response`. */
export type FetchHandler = (
  request: Request,
  /** What hooks get as `native`, for example Hono's context. Default: the request. */
  native?: unknown,
) => Promise<Response>;

type WebBody = ConstructorParameters<typeof Response>[0];

const bodyOf = ({ body, bodyUsed }: Request): Readable | undefined =>
  body === null || bodyUsed ? undefined : Readable.fromWeb(body);

const toBody = (body: ConnectorResponse['body']): WebBody =>
  (body instanceof Readable ? Readable.toWeb(body) : (body ?? null)) as WebBody;

export const toFetchHandler = (handle: Handle, { basePath = '' }: MountOptions = {}): FetchHandler => {
  const cut = createCut(basePath);
  return async (request, native = request) => {
    const { pathname, search } = new URL(request.url);
    const body = bodyOf(request);
    const rest = cut(pathname) ?? pathname;
    const message: ConnectorRequest = {
      method: request.method,
      url: rest + search,
      mount: mountOf(pathname, rest),
      headers: Object.fromEntries(request.headers),
      native,
      peer: peerAddress(native),
      signal: request.signal,
      body,
    };
    const answer = await handle(message);
    if (body !== undefined && !body.readableEnded) {
      // The answer goes out meanwhile; cancelling immediately would cost many clients the answer.
      void drain(body).then(() => body.destroy());
    }
    return new Response(toBody(answer.body), {
      status: answer.status,
      ...(answer.statusText === undefined ? {} : { statusText: answer.statusText }),
      headers: answer.headers,
    });
  };
};
