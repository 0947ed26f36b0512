import { OriginRefusedError } from '../errors/errors.ts';
import type { CorsVerdict } from './cors.ts';
import type { HookRequest } from './message.ts';

const hostOf = (origin: string): string | undefined => {
  try {
    return new URL(origin).host;
  } catch {
    return undefined;
  }
};

/**
 * Whether the browser says that the page which asks is of another origin. Clients that are not browsers say nothing, nor do
 * browsers about a picture or link on plain http, except for the page that it is on.
 */
const isOfAnotherOrigin = ({ headers }: HookRequest): boolean => {
  const site = headers['sec-fetch-site'];
  // `none`: typed, or from a bookmark; no page asks.
  if (site !== undefined) return site !== 'same-origin' && site !== 'none';
  const origin = headers['origin'] ?? headers['referer'];
  if (origin === undefined) return false;
  const host = headers['host'] ?? headers[':authority'];
  return host === undefined || hostOf(origin) !== host.toLowerCase();
};

/**
 * The guard of `refuseCrossSite`: pages of other origins may use the service only when cross-origin rules accept them.
 * @throws StowageError ORIGIN_REFUSED
 * @see https://www.w3.org/TR/fetch-metadata/
 */
export const refuseCrossSite = (request: HookRequest, cors: CorsVerdict): void => {
  if (cors.origin !== 'accepted' && isOfAnotherOrigin(request)) throw new OriginRefusedError();
};
