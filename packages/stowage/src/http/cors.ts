import type { Settings } from '../config/settings.ts';
import { OriginRefusedError } from '../errors/errors.ts';
import type { Logger } from '../basics/log/logger.ts';
import { asHookFailure, type ConnectorHooks } from '../hooks.ts';
import type { ConnectorResponse, HookRequest } from './message.ts';

export interface CorsVerdict {
  /** Added to every response to the request. */
  readonly headers: Readonly<Record<string, string>>;
  /** `none`: not a cross-origin request. `failed`: the hook threw. */
  readonly origin: 'none' | 'accepted' | 'refused' | 'failed';
  readonly failure?: unknown;
}

/** Checks a request's origin. Never rejects. */
export type OriginCheck = (request: HookRequest) => CorsVerdict | Promise<CorsVerdict>;

const off: CorsVerdict = { headers: {}, origin: 'none' };
const vary = { vary: 'Origin' } as const;
/** Headers of downloads that scripts may read besides the CORS-safelisted ones: name, length, version. */
const exposedHeaders =
  'Content-Disposition, Content-Length, Content-Range, ETag, Retry-After, X-Request-Id, X-App-Version';

/** Further headers that tus clients read. */
const tusHeaders =
  'Location, Tus-Extension, Tus-Resumable, Tus-Version, Upload-Expires, Upload-Length, Upload-Metadata, Upload-Offset';

/** The host of an origin or URL, as browsers send it; undefined for anything else. */
export const hostOf = (origin = ''): string | undefined =>
  URL.canParse(origin) ? new URL(origin).host : undefined;

/** Whether a `Host` header names the host of an origin or URL. Some proxies add the default port. */
const isHostOf = (host: string | undefined, origin: string): boolean =>
  host !== undefined &&
  URL.canParse(origin) &&
  hostOf(`${new URL(origin).protocol}//${host}`) === hostOf(origin);

type Sender = 'own' | 'foreign' | 'unknown';

const senderOf = ({ headers }: HookRequest): Sender => {
  const site = headers['sec-fetch-site'];
  // `none`: the user typed the address or opened a bookmark; no page sent the request.
  if (site !== undefined) return site === 'same-origin' || site === 'none' ? 'own' : 'foreign';
  const origin = headers['origin'] ?? headers['referer'];
  if (origin === undefined) return 'unknown';
  return isHostOf(headers['host'], origin) ? 'own' : 'foreign';
};

/** Maximum number of foreign origins that are logged, each once. */
const MOST_NAMED = 100;
/** Origins as browsers send them. Anything else is not from a browser, and must not reach the log. */
const ORIGIN = /^(?:null|[a-z][a-z\d+.-]{0,30}:\/\/[\w.:[\]-]{1,260})$/iu;

const createForeignOriginLog = (log: Pick<Logger, 'warn'>, reason: string): ((origin: string) => void) => {
  const named = new Set<string>();
  return (origin) => {
    if (named.size > MOST_NAMED || named.has(origin) || !ORIGIN.test(origin)) return;
    named.add(origin);
    const who = named.size > MOST_NAMED ? 'More origins' : origin;
    log.warn(`${who} asked; ${reason}`);
  };
};

const OFF =
  'cross-origin requests are not allowed. For pages of your own set allowCrossOrigin to true and list their ' +
  'origins in allowedOrigins.';
const NOT_LISTED = 'allowedOrigins does not have it. Add it if the page is yours.';
const NOT_ACCEPTED = 'the hook allowedOrigins did not accept it.';

/**
 * Creates the origin check of an instance. With `allowCrossOrigin` off it adds no headers, and calls no hook.
 * Each rejected origin is logged once, up to a hundred of them.
 */
export const createOriginCheck = (
  settings: Pick<Settings, 'allowCrossOrigin' | 'allowedOrigins' | 'tus'>,
  hook: ConnectorHooks['allowedOrigins'],
  log: Pick<Logger, 'warn'>,
): OriginCheck => {
  if (!settings.allowCrossOrigin) {
    const name = createForeignOriginLog(log, OFF);
    return (request) => {
      const { origin } = request.headers;
      if (origin !== undefined && senderOf(request) === 'foreign') name(origin);
      return off;
    };
  }
  const name = createForeignOriginLog(log, hook === undefined ? NOT_LISTED : NOT_ACCEPTED);
  const { allowedOrigins, tus } = settings;
  const exposed = tus === undefined ? exposedHeaders : `${exposedHeaders}, ${tusHeaders}`;
  const isAccepted: NonNullable<typeof hook> =
    hook ?? ((origin) => allowedOrigins === null || allowedOrigins.includes(origin));
  return async (request) => {
    const { origin } = request.headers;
    if (origin === undefined) return { headers: vary, origin: 'none' };
    try {
      // Only `true` accepts: other truthy results of a hook do not.
      if ((await isAccepted(origin, request)) !== true) {
        if (senderOf(request) === 'foreign') name(origin);
        return { headers: vary, origin: 'refused' };
      }
    } catch (error) {
      return { headers: vary, origin: 'failed', failure: asHookFailure(error, 'allowedOrigins') };
    }
    return {
      headers: {
        ...vary,
        'access-control-allow-origin': origin,
        'access-control-allow-credentials': 'true',
        'access-control-expose-headers': exposed,
      },
      origin: 'accepted',
    };
  };
};

const ownHeaders = ['Origin', 'X-Requested-With', 'Content-Type', 'Accept', 'Authorization'] as const;
const known: ReadonlySet<string> = new Set(ownHeaders.map((name) => name.toLowerCase()));
const TOKEN = /^[!#$%&'*+.^_`|~\da-z-]{1,100}$/iu;

const allowedHeaders = (asked: string | undefined): string => {
  const names = (asked ?? '')
    .split(',', 100)
    .map((name) => name.trim())
    .filter((name) => TOKEN.test(name) && !known.has(name.toLowerCase()));
  return [...ownHeaders, ...names].join(', ');
};

/**
 * Responds to OPTIONS: to a preflight of an accepted origin with its permissions (`methods`), to other
 * requests with `Allow`.
 * @throws StowageError ORIGIN_REFUSED for the preflight of a rejected origin.
 */
export const preflightResponse = (
  request: HookRequest,
  verdict: CorsVerdict,
  allow: string,
  methods = 'GET, POST, OPTIONS',
): ConnectorResponse => {
  if (verdict.origin === 'refused') throw new OriginRefusedError();
  const preflight =
    verdict.origin === 'accepted'
      ? {
          'access-control-allow-methods': methods,
          'access-control-allow-headers': allowedHeaders(request.headers['access-control-request-headers']),
          'access-control-max-age': '86400',
        }
      : {};
  return { status: 200, headers: { allow, 'content-length': '0', ...preflight }, body: undefined };
};

/**
 * The check of `refuseCrossSite`: pages of other origins may use the service only if the cross-origin
 * settings accept them.
 * @throws StowageError ORIGIN_REFUSED
 * @see https://www.w3.org/TR/fetch-metadata/
 */
export const refuseCrossSite = (request: HookRequest, cors: CorsVerdict): void => {
  if (cors.origin !== 'accepted' && senderOf(request) === 'foreign') throw new OriginRefusedError();
};

/**
 * The part of the check that depends on the action: a GET that makes a change needs evidence that no other
 * site sent it. Browsers send no such headers for an image on plain http whose page hides the referrer; for a
 * POST they always do.
 * @throws StowageError ORIGIN_REFUSED
 */
export const refuseUnknownSender = (request: HookRequest, cors: CorsVerdict): void => {
  const isProven = cors.origin === 'accepted' || senderOf(request) === 'own';
  if (request.method === 'GET' && !isProven) throw new OriginRefusedError();
};

/** Adds the CORS headers to those of a response. `Vary` is merged. */
export const withCorsHeaders = (
  headers: Readonly<Record<string, string>>,
  cors: CorsVerdict,
): Record<string, string> => {
  const names = [headers['vary'], cors.headers['vary']].filter((name) => name !== undefined);
  // Object.assign: in V8 it merges objects many times faster than an expression with several spreads.
  const merged: Record<string, string> = Object.assign({}, headers, cors.headers);
  if (names.length > 1) merged['vary'] = names.join(', ');
  return merged;
};
