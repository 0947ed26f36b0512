import type { Settings } from '../../config/settings.ts';
import type { Stat } from '../../storage/entry.ts';
import type { ViewedFile } from '../../view/folder-view.ts';
import { encodedPath, secondsLeft } from '../../view/links.ts';
import { DelegatedResponse } from '../responses.ts';

/** Media types that browsers display without running code. SVG may contain scripts, so it is excluded. */
const SHOWN = /^(?:image\/(?!svg)|audio\/|video\/|application\/pdf$|text\/plain(?:;|$))/u;

/** Whether browsers may display the file by itself instead of saving it. In pages all images are shown. */
export const isShownInline = (contentType: string): boolean => SHOWN.test(contentType);

const UNSHARED = /(?:^|[\s,])(?:private|no-store)(?![\w=-])/iu;

/** In sources with access control no shared cache may store a file, even without the setting. */
const cacheControlOf = ({ serve, serveCacheControl }: Pick<Settings, 'serve' | 'serveCacheControl'>) => {
  if (serve === 'public') return serveCacheControl ?? 'public, no-cache';
  const own = serveCacheControl ?? 'no-cache';
  return UNSHARED.test(own) ? own : `private, ${own}`;
};

/**
 * Headers of every served file: its type is the declared one, and if a browser displays it as a page, that
 * page has no origin, runs no scripts and loads nothing. Without an origin Safari shows no PDF but an empty
 * window.
 */
export const safetyHeaders = (
  settings: Pick<Settings, 'serve' | 'serveCacheControl'>,
  contentType?: string,
): Record<string, string> => ({
  'x-content-type-options': 'nosniff',
  'content-security-policy': `${contentType === 'application/pdf' ? '' : 'sandbox; '}default-src 'none'; img-src 'self' data:; media-src 'self'; style-src 'unsafe-inline'`,
  // Protected pictures are for pages of the same site; public or signed ones are for all.
  'cross-origin-resource-policy': settings.serve === 'protected' ? 'same-site' : 'cross-origin',
  'cache-control': cacheControlOf(settings),
});

/**
 * Lifetime of a store's URL in seconds: long enough to start a download, and no longer than that of a signed
 * link, but for a few seconds. Browsers may cache the redirect for a shorter time.
 */
const URL_LIFETIME = 300;
const LEAST_URL_LIFETIME = 10;
const REDIRECT_AGE = 240;

export interface Handover {
  readonly settings: Pick<Settings, 'delivery' | 'deliveryPrefix'>;
  readonly file: ViewedFile;
  readonly stat: Stat;
  /** Of the link, which is valid. */
  readonly query: string;
  readonly contentType: string;
  readonly disposition: string;
  /** Headers of the response as if it were streamed. */
  readonly headers: Readonly<Record<string, string>>;
}

const toStore = async ({ file, query, contentType, disposition }: Handover) => {
  const left = Math.max(0, secondsLeft(query));
  const lifetime = Math.min(URL_LIFETIME, Math.max(LEAST_URL_LIFETIME, left));
  const location = await file.temporaryUrl({ lifetime, contentType, disposition });
  if (location === undefined) return undefined;
  const age = Math.min(REDIRECT_AGE, left);
  return new DelegatedResponse(302, { location, 'cache-control': `private, max-age=${String(age)}` });
};

/** Nginx decodes the path. */
const toNginx = ({ settings: { deliveryPrefix = '' }, file }: Handover) => ({
  'x-accel-redirect': `${deliveryPrefix.replace(/\/$/u, '')}/${encodedPath(file.path)}`,
});

/** Apache takes the bytes of the path as they are, and gives every file the same ETag unless one is set. */
const toApache = ({ settings, file, stat: { etag, modifiedAt } }: Handover) => ({
  'x-sendfile': Buffer.from(file.pathBelow(settings.deliveryPrefix)).toString('latin1'),
  ...(etag === undefined ? {} : { etag }),
  ...(modifiedAt === undefined ? {} : { 'last-modified': new Date(modifiedAt).toUTCString() }),
});

/**
 * The response that lets the store, or the web server in front, send a file. Undefined: the service sends it
 * itself, because of the setting, or because the store has no URLs.
 */
export const handOver = async (handover: Handover): Promise<DelegatedResponse | undefined> => {
  const { settings, contentType, disposition, headers } = handover;
  const { delivery } = settings;
  if (delivery === 'stream') return undefined;
  if (delivery === 'redirect') return toStore(handover);
  return new DelegatedResponse(200, {
    ...headers,
    'content-type': contentType,
    'content-disposition': disposition,
    ...(delivery === 'x-sendfile' ? toApache(handover) : toNginx(handover)),
  });
};
