import type { Settings } from '../../config/settings.ts';
import type { Stat } from '../../storage/entry.ts';
import type { ViewedFile } from '../../view/folder-view.ts';
import { encodedPath } from '../../view/links.ts';
import { HandedOverAnswer } from '../file-answer.ts';

/** Media that browsers show and never run. SVG is a page to them, so it is none of these. */
const SHOWN = /^(?:image\/(?!svg)|audio\/|video\/|application\/pdf$|text\/plain(?:;|$))/u;

/**
 * Whether browsers may show a file of this type by itself; all others they save. As a picture of a page every
 * image is shown.
 */
export const isShownInline = (contentType: string): boolean => SHOWN.test(contentType);

const UNSHARED = /(?:^|[\s,])(?:private|no-store)(?![\w=-])/iu;

/** In sources that ask who may have a file, no cache keeps it for another, also where the setting is silent. */
const cacheControlOf = ({
  serve,
  serveCacheControl,
}: Pick<Settings, 'serve' | 'serveCacheControl'>): string => {
  if (serve === 'public') return serveCacheControl ?? 'public, no-cache';
  const own = serveCacheControl ?? 'no-cache';
  return UNSHARED.test(own) ? own : `private, ${own}`;
};

/**
 * What goes with every served file: its type is what the service says, and should a browser show it as a
 * page, that page has no origin, runs nothing and loads nothing.
 */
export const safetyHeaders = (
  settings: Pick<Settings, 'serve' | 'serveCacheControl'>,
): Record<string, string> => ({
  'x-content-type-options': 'nosniff',
  'content-security-policy':
    "sandbox; default-src 'none'; img-src 'self' data:; media-src 'self'; style-src 'unsafe-inline'",
  // Members' pictures are for the pages of the same site; what is public or has a signature is for all.
  'cross-origin-resource-policy': settings.serve === 'protected' ? 'same-site' : 'cross-origin',
  'cache-control': cacheControlOf(settings),
});

/**
 * How long the URL of a store is good, in seconds: long enough to begin a download. Browsers may keep the
 * redirect for less.
 */
const URL_LIFETIME = 300;
const REDIRECT_AGE = 240;

export interface Handover {
  readonly settings: Pick<Settings, 'delivery' | 'deliveryPrefix'>;
  readonly file: ViewedFile;
  readonly stat: Stat;
  readonly contentType: string;
  readonly disposition: string;
  /** Of the answer, as if it were streamed. */
  readonly headers: Readonly<Record<string, string>>;
}

const toStore = async ({
  file,
  contentType,
  disposition,
}: Handover): Promise<HandedOverAnswer | undefined> => {
  const location = await file.temporaryUrl({ lifetime: URL_LIFETIME, contentType, disposition });
  if (location === undefined) return undefined;
  return new HandedOverAnswer(302, { location, 'cache-control': `private, max-age=${String(REDIRECT_AGE)}` });
};

/** Nginx decodes what it is given. */
const toNginx = ({
  settings: { deliveryPrefix = '' },
  file,
}: Handover): Readonly<Record<string, string>> => ({
  'x-accel-redirect': `${deliveryPrefix.replace(/\/$/u, '')}/${encodedPath(file.path)}`,
});

/** Apache takes the path as it is, in bytes, and gives every file the same tag where it is not told one. */
const toApache = ({
  settings,
  file,
  stat: { etag, modifiedAt },
}: Handover): Readonly<Record<string, string>> => {
  return {
    'x-sendfile': Buffer.from(file.pathBelow(settings.deliveryPrefix)).toString('latin1'),
    ...(etag === undefined ? {} : { etag }),
    ...(modifiedAt === undefined ? {} : { 'last-modified': new Date(modifiedAt).toUTCString() }),
  };
};

/**
 * The answer that hands over the sending of a file: to the store, or to the web server in front.
 * Undefined: the service sends them itself, because it is asked to, or because the store gives no URLs.
 */
export const handOver = async (handover: Handover): Promise<HandedOverAnswer | undefined> => {
  const { settings, contentType, disposition, headers } = handover;
  const { delivery } = settings;
  if (delivery === 'stream') return undefined;
  if (delivery === 'redirect') return toStore(handover);
  return new HandedOverAnswer(200, {
    ...headers,
    'content-type': contentType,
    'content-disposition': disposition,
    ...(delivery === 'x-sendfile' ? toApache(handover) : toNginx(handover)),
  });
};
