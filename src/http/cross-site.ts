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

/** What the headers say of the page that sent the request. */
type Sender = 'own' | 'foreign' | 'unknown';

const senderOf = ({ headers }: HookRequest): Sender => {
  const site = headers['sec-fetch-site'];
  // `none`: the user typed the address or opened a bookmark; no page sent the request.
  if (site !== undefined) return site === 'same-origin' || site === 'none' ? 'own' : 'foreign';
  const origin = headers['origin'] ?? headers['referer'];
  if (origin === undefined) return 'unknown';
  const host = headers['host'] ?? headers[':authority'];
  return host !== undefined && hostOf(origin) === host.toLowerCase() ? 'own' : 'foreign';
};

/**
 * The guard of `refuseCrossSite`: pages of other origins may use the service only when cross-origin rules accept them.
 * @throws StowageError ORIGIN_REFUSED
 * @see https://www.w3.org/TR/fetch-metadata/
 */
export const refuseCrossSite = (request: HookRequest, cors: CorsVerdict): void => {
  if (cors.origin !== 'accepted' && senderOf(request) === 'foreign') throw new OriginRefusedError();
};

/**
 * The part of the guard that has to know the action: a GET that changes something must come with evidence that no other page
 * sent it. Browsers report nothing about a picture on plain http whose page hides the referrer; they always report a POST.
 * @throws StowageError ORIGIN_REFUSED
 */
export const refuseUnknownSender = (request: HookRequest, cors: CorsVerdict): void => {
  const isProven = cors.origin === 'accepted' || senderOf(request) === 'own';
  if (request.method === 'GET' && !isProven) throw new OriginRefusedError();
};
