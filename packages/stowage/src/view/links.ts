import { createHmac, timingSafeEqual } from 'node:crypto';
import { InvalidParametersError, UnknownSourceError } from '../errors/errors.ts';
import type { SourceLocation, Thumbnails, Variants } from '../pictures/kept/thumbnails.ts';
import { seenFrom } from '../sources/source-group.ts';
import type { Source, SourceSet } from '../sources/source.ts';
import type { Entry, EntryKind } from '../storage/entry.ts';
import { SourcePath } from '../storage/source-path.ts';
import type { Item } from './folder-view.ts';
import { VARIANT_KEYS } from './rights.ts';

/**
 * The link of a file of a configured source, for pages that the host renders. In `signed` sources it is valid
 * for `lifetime` seconds (default: `signedUrlLifetime`). `base` is the mount address of the connector
 * (default: `publicUrl`, else `basePath`, else the root of the host).
 * @throws UnknownSourceError, UnsafePathError, InvalidParametersError for a lifetime that is not a whole
 * number of seconds
 */
export type UrlFor = (
  source: string,
  path: string,
  options?: { readonly lifetime?: number | undefined; readonly base?: string | undefined },
) => string;

/**
 * A path, percent-encoded for a URL. Characters that a path may contain stay: many static servers decode as
 * `decodeURI` does, which leaves their escapes. But object stores decode a plus in a path as a space.
 */
export const encodedPath = (path: SourcePath): string =>
  encodeURI(path.toString()).replace(/[+;?#]/gu, encodeURIComponent);

/** The path of a thumbnail or variant, relative to a folder: names after the first segment are encoded. */
export const below = (folder: SourcePath, relative: string): SourcePath =>
  relative
    .split('/')
    .map((name, index, names) => (names.length > 1 && index > 0 ? decodeURIComponent(name) : name))
    .reduce((path, name) => path.below(name), folder);

const signatureOf = (key: string, { key: source, scope = '' }: Source, path: SourcePath, expires: number) =>
  createHmac('sha256', key)
    // JSON delimits the parts, so that different links never have the same text.
    .update(JSON.stringify([scope, source, path.toString(), expires]))
    .digest('base64url');

/** Twelve digits cover every date. Later parameters (the client adds `?_tmst=…`) are ignored. */
const QUERY = /(?:^|&)expires=([1-9]\d{0,11})&signature=([\w-]{43})(?![\w%=-])/u;

/** Seconds until the link with this query expires; infinite where it is not signed. */
export const secondsLeft = (query: string): number =>
  Number(QUERY.exec(query)?.[1] ?? Infinity) - Math.floor(Date.now() / 1000);

/** Keeps expiry times within the twelve digits of a link. */
const MOST_LIFETIME = 1000 * 366 * 24 * 60 * 60;

const isOfSigned = ({ source }: Item<Entry>): boolean => source.settings.serve === 'signed';

/** @throws InvalidParametersError */
export const requireLifetime = (lifetime: number | undefined): void => {
  if (
    lifetime !== undefined &&
    !(Number.isSafeInteger(lifetime) && lifetime > 0 && lifetime <= MOST_LIFETIME)
  )
    throw new InvalidParametersError(
      'lifetime: must be a whole number of seconds, more than none and at most a thousand years',
    );
};

const plain = (source: Source, path: SourcePath): string => source.baseurl + encodedPath(path);

const withQuery = (source: Source, path: SourcePath, query: string): string =>
  plain(source, path) + (query === '' ? '' : `?${query}`);

const createSigning = (keys: readonly string[], now: () => number) => {
  /** The query of a link valid until `expires`, in seconds since 1970; empty where no signature is needed. */
  const queryUntil = (source: Source, path: SourcePath, expires: number): string => {
    const [key] = keys;
    // Configuration checks ensure that signed sources have a key.
    if (source.settings.serve !== 'signed' || key === undefined) return '';
    return `expires=${String(expires)}&signature=${signatureOf(key, source, path, expires)}`;
  };
  return {
    queryUntil,
    /** The query of a link without a signature: a new signature where its source needs one, else empty. */
    queryFor: (source: Source, path: SourcePath, lifetime = source.settings.signedUrlLifetime): string => {
      const step = Math.max(1, Math.floor(lifetime / 20));
      return queryUntil(source, path, Math.floor(now() / 1000 / step) * step + lifetime);
    },
    /** State of the signature of this path in a query. Undefined when there is none, or an invalid one. */
    signatureIn: (source: Source, path: SourcePath, query: string): 'valid' | 'expired' | undefined => {
      const [, seconds, signature] = QUERY.exec(query) ?? [];
      if (seconds === undefined || signature === undefined) return undefined;
      const expires = Number(seconds);
      // As text: Base64 ignores bits of its last character, so several texts decode to the same bytes.
      const given = Buffer.from(signature);
      // Tries every key, so that the response time does not reveal which one matches.
      const fits = keys.filter((key) => {
        const expected = Buffer.from(signatureOf(key, source, path, expires));
        return given.length === expected.length && timingSafeEqual(given, expected);
      });
      if (fits.length === 0) return undefined;
      return expires * 1000 > now() ? 'valid' : 'expired';
    },
  };
};

type Signed = (source: Source, path: SourcePath, lifetime?: number) => string;

const createUrlFor =
  (signed: Signed) =>
  (known: string, sources: SourceSet): UrlFor =>
  (name, path, { lifetime, base = known } = {}) => {
    const mount = base.replace(/\/$/u, '');
    const source = seenFrom({ mount, hosts: [] }, sources, undefined).find(name);
    if (source === undefined) throw new UnknownSourceError();
    requireLifetime(lifetime);
    return signed(source, SourcePath.parse(path), lifetime);
  };

/**
 * Builds the links of one connector to files that it serves. Links are built from items, as their requester
 * may see them. In `signed` sources a link to a file that the requester may not download is unsigned or
 * missing. The first key signs; all keys verify. `now` in milliseconds.
 */
export const createLinks = (
  keys: readonly string[],
  { iconNamed }: Pick<Thumbnails, 'iconNamed'>,
  now: () => number = Date.now,
) => {
  const { queryUntil, queryFor, signatureIn } = createSigning(keys, now);
  const signed: Signed = (source, path, lifetime) =>
    withQuery(source, path, queryFor(source, path, lifetime));

  /**
   * `baseurl` and the encoded path; in `signed` sources with a signature that is valid for
   * `signedUrlLifetime`, minus up to a twentieth, so that repeated requests return the same, cacheable link.
   * Takes about 5 µs.
   */
  const to = (item: Item<Entry>): string => (item.opensBy() ? signed : plain)(item.source, item.path);
  return {
    to,
    /**
     * The URL of a file that was just written, as in `newPath`: for sources that the service does not serve,
     * `baseurl` and names without encoding, as clients join them.
     */
    toWritten: (item: Item<Entry>): string =>
      item.source.settings.serve === 'off' ? `${item.source.baseurl}${item.path.toString()}` : to(item),
    /** The link for a listing. Undefined where clients join `baseurl`, and where downloads are denied. */
    listed: (item: Item<Entry>): string | undefined =>
      isOfSigned(item) && item.opensBy() ? signed(item.source, item.path) : undefined,
    /** The link of an item's thumbnail or icon, by its path relative to the folder; icons need no rights. */
    thumb: (item: Item<Entry>, relative: string | undefined): string | undefined => {
      if (!isOfSigned(item) || relative === undefined) return relative;
      const path = below(item.folder, relative);
      const isIcon = item.kind === 'folder' || iconNamed(item.source, path.name) !== undefined;
      return isIcon || item.opensBy() ? signed(item.source, path) : undefined;
    },
    variants: (item: Item<Entry>, relative: Variants): Variants | undefined => {
      if (!item.opensBy(VARIANT_KEYS)) return undefined;
      if (!isOfSigned(item)) return relative;
      const made = Object.entries(relative).map(([preset, path]) => [
        preset,
        signed(item.source, below(item.folder, path)),
      ]);
      return Object.fromEntries(made) as Variants;
    },
    /** Makes a result of `thumb` or `variants` absolute, so that it needs no `baseurl`. */
    whole: (item: Item<Entry>, link: string): string =>
      isOfSigned(item) ? link : plain(item.source, below(item.folder, link)),
    /**
     * The link that replaces an old one: of an item, or with `path` of a file derived from it. Expires no
     * later than the old one. Undefined where the old link grants no right to the item, and where the service
     * does not serve it.
     */
    instead: (
      { source }: Item,
      path: SourcePath,
      old: { readonly source: Source; readonly query: string },
    ): string | undefined => {
      const [from, to] = [old.source.settings.serve, source.settings.serve];
      if (to === 'off') return undefined;
      if (to !== 'signed') return plain(source, path);
      if (from === 'signed')
        return withQuery(source, path, queryUntil(source, path, Number(QUERY.exec(old.query)?.[1])));
      // A link to a public file grants no right to a file that needs a signature.
      return from === 'protected' ? signed(source, path) : undefined;
    },
    signatureIn,
    /**
     * The same query with a new signature, valid for `lifetime` seconds (default: `signedUrlLifetime`). Other
     * parameters stay; `query` is encoded as in the link.
     */
    renewed: (source: Source, path: SourcePath, query: string, lifetime?: number): string => {
      const fresh = queryFor(source, path, lifetime);
      return query.replace(QUERY, (old) => (old.startsWith('&') ? `&${fresh}` : fresh));
    },
    queryFor,
    urlFor: createUrlFor(signed),
  };
};

export type Links = ReturnType<typeof createLinks>;

export interface Addressed extends SourceLocation {
  readonly kind: EntryKind;
}

/** Encodes only the characters that browsers would not treat as a part of the path, or would drop. */
const asWritten = (path: string): string => path.replace(/[%?#\\\s]/gu, encodeURIComponent);

/** The path that a browser requests for names joined by a page. Links encode more characters. */
const asRequested = (path: string): string => new URL(`http://host/${path}`).pathname.slice(1);

/**
 * The URL paths under which pages may show an item, without signatures: of a file its own and those of its
 * thumbnail and variants; of a folder the common prefix of its contents, with a slash at its end. Where
 * browsers request another spelling of joined names than links have (`a+b`, `a%2Bb`), both are included: at
 * most 2 for each path, thus 44 with the maximum of 20 presets. Computed from names alone, in about 10 µs.
 */
export const addressesOf = (
  { drawnNames }: Pick<Thumbnails, 'drawnNames'>,
  { source, path, kind }: Addressed,
): readonly string[] => {
  const { parent, name } = path;
  const end = kind === 'folder' ? '/' : '';
  const folder = parent.isRoot ? '' : `${asWritten(parent.toString())}/`;
  const drawn = drawnNames(source, { name, kind }).flatMap((relative) => [
    encodedPath(below(parent, relative)),
    asRequested(folder + relative),
  ]);
  const own = [encodedPath(path) + end, asRequested(folder + asWritten(name)) + end];
  return [...new Set([...own, ...drawn])].map((address) => source.baseurl + address);
};
