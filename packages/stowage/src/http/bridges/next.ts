import type { FetchHandler } from './fetch.ts';

type RouteHandler = (request: Request) => Promise<Response>;

/**
 * Exports of a Next.js route: `export const { GET, HEAD, POST, OPTIONS } = nextHandlers(router)`; with the
 * setting `tus` also PATCH and DELETE.
 */
export const nextHandlers = (connector: {
  readonly fetch: FetchHandler;
}): Readonly<Record<'GET' | 'HEAD' | 'POST' | 'PATCH' | 'DELETE' | 'OPTIONS', RouteHandler>> => {
  const handler: RouteHandler = (request) => connector.fetch(request);
  return { GET: handler, HEAD: handler, POST: handler, PATCH: handler, DELETE: handler, OPTIONS: handler };
};
