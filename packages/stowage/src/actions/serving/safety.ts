import type { Settings } from '../../config/settings.ts';

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
