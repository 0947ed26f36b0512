import { createHmac, timingSafeEqual } from 'node:crypto';
import type { Settings } from '../config/settings.ts';
import { InvalidParametersError, UnknownSourceError } from '../errors/errors.ts';
import type { SourceLocation, Thumbnails, Variants } from '../pictures/kept/thumbnails.ts';
import { seenFrom } from '../sources/source-group.ts';
import type { Source, SourceSet } from '../sources/source.ts';
import type { Entry, EntryKind } from '../storage/entry.ts';
import { SourcePath } from '../storage/source-path.ts';
import type { Item } from './folder-view.ts';
import { VARIANT_KEYS } from './rights.ts';

/**
 * The links of one connector to the files that it serves. They are made of items, as their requester may see
 * them: in `signed` sources, one to what the rules do not let them download has no signature, or is not made.
 */
export interface Links {
  /**
   * `baseurl` and the encoded path, in `signed` sources with a signature that is good for
   * `signedUrlLifetime`, and up to a twentieth less, so that browsers meet the same link again. Some 5 µs.
   */
  to(item: Item<Entry>): string;
  /**
   * The address of a file that was just written, as `newPath` has it: where the service does not serve it,
   * joined as clients join it, with names that are not encoded.
   */
  toWritten(item: Item<Entry>): string;
  /** Undefined where links are made of `baseurl` and names, and to what the requester may not have. */
  listed(item: Item<Entry>): string | undefined;
  /** The link of what shows an item, by its path relative to the folder; an icon is for everybody. */
  thumb(item: Item<Entry>, relative: string | undefined): string | undefined;
  variants(item: Item<Entry>, relative: Variants): Variants | undefined;
  /** What `thumb` or `variants` have returned, as a link that needs no `baseurl`. */
  whole(item: Item<Entry>, link: string): string;
  /**
   * The link that an old one leads to: of an item, or by `path` of what is drawn of it. It ends no later than the
   * old one. Undefined where the old one gives no right to it, and where the service does not serve it.
   */
  instead(
    item: Item,
    path: SourcePath,
    old: { readonly source: Source; readonly query: string },
  ): string | undefined;
  /**
   * Whether the query of a link has a signature of this path, and whether that has expired. Undefined: it has
   * none, or one that never was valid.
   */
  signatureIn(source: Source, path: SourcePath, query: string): 'valid' | 'expired' | undefined;
  /**
   * The same link with a new signature, good for `lifetime` seconds (default: `signedUrlLifetime`), and with all
   * else that it has; `query` as it is in the link.
   */
  renewed(source: Source, path: SourcePath, query: string, lifetime?: number): string;
  /** The query of a link without a signature: with one where its source needs it, else empty. */
  queryFor(source: Source, path: SourcePath, lifetime?: number): string;
  readonly urlFor: (settings: Pick<Settings, 'publicUrl'>, sources: SourceSet) => UrlFor;
}

/**
 * The link of a file of a configured source, for pages that the host makes itself. In `signed` sources it is
 * good for `lifetime` seconds (default: `signedUrlLifetime`). `base` is where the connector is mounted
 * (default: `publicUrl`, else the root of the host).
 * @throws UnknownSourceError, UnsafePathError, InvalidParametersError for a lifetime that is not a whole number of
 *   seconds
 */
export type UrlFor = (
  source: string,
  path: string,
  options?: { readonly lifetime?: number | undefined; readonly base?: string | undefined },
) => string;

/** A path as it stands in a URL. */
export const encodedPath = (path: SourcePath): string => path.segments.map(encodeURIComponent).join('/');

/**
 * The path that thumbnails and variants have, relative to a folder: names below it are encoded; an entry
 * itself is not.
 */
export const below = (folder: SourcePath, relative: string): SourcePath =>
  relative
    .split('/')
    .map((name, index, names) => (names.length > 1 && index > 0 ? decodeURIComponent(name) : name))
    .reduce((path, name) => path.below(name), folder);

const digest = (
  key: string,
  { key: source, scope = '' }: Source,
  path: SourcePath,
  expires: number,
): Buffer =>
  createHmac('sha256', key)
    // JSON keeps the parts apart: no two links have one text.
    .update(JSON.stringify([scope, source, path.toString(), expires]))
    .digest();

/**
 * Twelve digits reach further than any clock; what stands behind the signature (`?_tmst=…`, as the client
 * adds it) does not count.
 */
const QUERY = /(?:^|&)expires=(\d{1,12})&signature=([\w-]{43})(?![\w-])/u;

/** Later moments have more digits than a link may have. */
const MOST_LIFETIME = 1000 * 366 * 24 * 60 * 60;

const isOfSigned = ({ source }: Item<Entry>): boolean => source.settings.serve === 'signed';

interface Signing {
  /** The query of a link until a moment, in seconds since 1970; empty where its source needs none. */
  readonly queryUntil: (source: Source, path: SourcePath, expires: number) => string;
  readonly queryFor: Links['queryFor'];
  readonly signatureIn: Links['signatureIn'];
}

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

const createSigning = (keys: readonly string[], now: () => number): Signing => {
  const queryUntil: Signing['queryUntil'] = (source, path, expires) => {
    const [key] = keys;
    // The configuration is refused when a signed source has no key.
    if (source.settings.serve !== 'signed' || key === undefined) return '';
    const signature = digest(key, source, path, expires).toString('base64url');
    return `expires=${String(expires)}&signature=${signature}`;
  };
  return {
    queryUntil,
    queryFor: (source, path, lifetime = source.settings.signedUrlLifetime) => {
      const step = Math.max(1, Math.floor(lifetime / 20));
      return queryUntil(source, path, Math.floor(now() / 1000 / step) * step + lifetime);
    },
    signatureIn: (source, path, query) => {
      const [, seconds, signature] = QUERY.exec(query) ?? [];
      if (seconds === undefined || signature === undefined) return undefined;
      const expires = Number(seconds);
      const given = Buffer.from(signature, 'base64url');
      // Every key is tried, whatever the others say: the time does not tell which one fits.
      const fits = keys.filter((key) => {
        const expected = digest(key, source, path, expires);
        return given.length === expected.length && timingSafeEqual(given, expected);
      });
      if (fits.length === 0) return undefined;
      return expires * 1000 > now() ? 'valid' : 'expired';
    },
  };
};

type Signed = (source: Source, path: SourcePath, lifetime?: number) => string;

const createUrlFor =
  (signed: Signed): Links['urlFor'] =>
  ({ publicUrl }, sources) =>
  (name, path, { lifetime, base = publicUrl ?? '' } = {}) => {
    const mount = base.replace(/\/$/u, '');
    const source = seenFrom({ mount, hosts: [] }, sources, undefined).find(name);
    if (source === undefined) throw new UnknownSourceError();
    requireLifetime(lifetime);
    return signed(source, SourcePath.parse(path), lifetime);
  };

/** Makes the links of one connector. The first key signs, all of them are accepted. `now` in milliseconds. */
export const createLinks = (
  keys: readonly string[],
  { iconNamed }: Pick<Thumbnails, 'iconNamed'>,
  now: () => number = Date.now,
): Links => {
  const { queryUntil, queryFor, signatureIn } = createSigning(keys, now);
  const signed: Signed = (source, path, lifetime) =>
    withQuery(source, path, queryFor(source, path, lifetime));

  const links: Links = {
    to: (item) => (item.opensBy() ? signed : plain)(item.source, item.path),
    toWritten: (item) =>
      item.source.settings.serve === 'off' ? `${item.source.baseurl}${item.path.toString()}` : links.to(item),
    listed: (item) => (isOfSigned(item) && item.opensBy() ? signed(item.source, item.path) : undefined),
    thumb: (item, relative) => {
      if (!isOfSigned(item) || relative === undefined) return relative;
      const path = below(item.folder, relative);
      const isIcon = item.kind === 'folder' || iconNamed(item.source, path.name) !== undefined;
      return isIcon || item.opensBy() ? signed(item.source, path) : undefined;
    },
    variants: (item, relative) => {
      if (!item.opensBy(VARIANT_KEYS)) return undefined;
      if (!isOfSigned(item)) return relative;
      const made = Object.entries(relative).map(([preset, path]) => [
        preset,
        signed(item.source, below(item.folder, path)),
      ]);
      return Object.fromEntries(made) as Variants;
    },
    whole: (item, link) => (isOfSigned(item) ? link : plain(item.source, below(item.folder, link))),
    instead: ({ source }, path, old) => {
      const [from, to] = [old.source.settings.serve, source.settings.serve];
      if (to === 'off') return undefined;
      if (to !== 'signed') return plain(source, path);
      if (from === 'signed')
        return withQuery(source, path, queryUntil(source, path, Number(QUERY.exec(old.query)?.[1])));
      // A link to a public file gives no right to one that needs a signature.
      return from === 'protected' ? signed(source, path) : undefined;
    },
    signatureIn,
    renewed: (source, path, query, lifetime) => {
      const fresh = queryFor(source, path, lifetime);
      return query.replace(QUERY, (old) => (old.startsWith('&') ? `&${fresh}` : fresh));
    },
    queryFor,
    urlFor: createUrlFor(signed),
  };
  return links;
};

export interface Addressed extends SourceLocation {
  readonly kind: EntryKind;
}

/** Without what a browser takes for something else than a part of a path, or leaves out. */
const asWritten = (path: string): string => path.replace(/[%?#\\\s]/gu, encodeURIComponent);

/** What a browser requests for a path that a page has joined from names: it encodes less than links do. */
const asRequested = (path: string): string => new URL(`http://host/${path}`).pathname.slice(1);

/**
 * The addresses under which pages may show an item: of a file its own, and those of its thumbnail and variants, as
 * listings have them; of a folder the one that all in it begin with, with a slash at its end. They have no
 * signature. Where a page that joins names requests another spelling than links have (`a+b`, `a%2Bb`), both are
 * there: at most 2 for each, thus 44 with the 20 presets that a source may have. Computed from names alone,
 * in some 10 µs.
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
