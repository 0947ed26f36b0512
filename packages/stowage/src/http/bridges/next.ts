import type { FetchHandler } from './fetch.ts';

type RouteHandler = (request: Request) => Promise<Response>;

/**
 * The functions that a route of Next.js exports: `export const { GET, HEAD, POST, OPTIONS } =
 * nextHandlers(router)`, and with the setting `tus` also PATCH and DELETE.
 */
export const nextHandlers = (connector: {
  readonly fetch: FetchHandler;
}): Readonly<Record<'GET' | 'HEAD' | 'POST' | 'PATCH' | 'DELETE' | 'OPTIONS', RouteHandler>> => {
  const answer: RouteHandler = (request) => connector.fetch(request);
  return { GET: answer, HEAD: answer, POST: answer, PATCH: answer, DELETE: answer, OPTIONS: answer };
};
