import { Readable } from 'node:stream';
import type { ConnectorRequest, ConnectorResponse, Handle } from '../message.ts';
import { drain } from './drain.ts';

/** A handler of web requests: Hono, Next.js, Bun and all that speak `Request` and `Response`. */
export type FetchHandler = (
  request: Request,
  /** What hooks get as `native`, for example Hono's context. Default: the request. */
  native?: unknown,
) => Promise<Response>;

export interface FetchOptions {
  /** Path that the connector is mounted below, when the framework leaves it in the URL: `/api/files`. */
  readonly basePath?: string | undefined;
}

type WebBody = ConstructorParameters<typeof Response>[0];

const below = (basePath: string, path: string): string => {
  if (basePath === '' || !path.startsWith(basePath)) return path;
  const rest = path.slice(basePath.length);
  if (rest === '') return '/';
  // Whole segments only: `/files2` is not below `/files`.
  return rest.startsWith('/') ? rest : path;
};

const bodyOf = ({ body, bodyUsed }: Request): Readable | undefined =>
  body === null || bodyUsed ? undefined : Readable.fromWeb(body);

const toBody = (body: ConnectorResponse['body']): WebBody =>
  (body instanceof Readable ? Readable.toWeb(body) : (body ?? null)) as WebBody;

/** Makes the web handler of a connector. */
export const toFetchHandler = (handle: Handle, { basePath = '' }: FetchOptions = {}): FetchHandler => {
  const base = basePath.replace(/\/+$/u, '');
  return async (request, native = request) => {
    const { pathname, search } = new URL(request.url);
    const body = bodyOf(request);
    const message: ConnectorRequest = {
      method: request.method,
      url: below(base, pathname) + search,
      headers: Object.fromEntries(request.headers),
      native,
      signal: request.signal,
      body,
    };
    const answer = await handle(message);
    if (body !== undefined && !body.readableEnded) {
      // The answer goes out meanwhile; cancelling at once would cost many clients the answer.
      void drain(body).then(() => body.destroy());
    }
    return new Response(toBody(answer.body), {
      status: answer.status,
      ...(answer.statusText === undefined ? {} : { statusText: answer.statusText }),
      headers: answer.headers,
    });
  };
};
