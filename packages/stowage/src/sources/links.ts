import { createHmac, timingSafeEqual } from 'node:crypto';
import type { Source } from './source.ts';
import type { SourcePath } from '../storage/source-path.ts';

/** For whom a link is, and how long it is good. */
export interface LinkOptions {
  /** Whether the reader may have what the link opens. */
  readonly mayOpen: boolean;
  /** Seconds. */
  readonly lifetime?: number | undefined;
}

/** The links of one connector to the files that it serves. */
export interface Links {
  /**
   * A link to a file, or to the thumbnail `<folder>/<thumbFolderName>/<name>`: `baseurl` and the encoded
   * path, in `signed` sources with a signature that is good for `lifetime` seconds (default:
   * `signedUrlLifetime`), and up to a twentieth less, so that browsers meet the same link again. Whose reader
   * may not open it has no signature. Some 5 µs.
   */
  to(source: Source, path: SourcePath, given: LinkOptions): string;
  /** Whether the query of a link has a signature of this path that has not expired. */
  isSigned(source: Source, path: SourcePath, query: string): boolean;
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

/** What a link is good for: one path of one source until a moment, in seconds since 1970. */
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

/** Makes the links of one connector. The first key signs, all of them are accepted. `now` in milliseconds. */
export const createLinks = (keys: readonly string[], now: () => number = Date.now): Links => ({
  to: (source, path, { mayOpen, lifetime = source.settings.signedUrlLifetime }) => {
    const url = source.baseurl + encodedPath(path);
    const [key] = keys;
    // The configuration is refused when a signed source has no key.
    if (!mayOpen || source.settings.serve !== 'signed' || key === undefined) return url;
    const step = Math.max(1, Math.floor(lifetime / 20));
    const expires = Math.floor(now() / 1000 / step) * step + lifetime;
    const signature = digest(key, source, path, expires).toString('base64url');
    return `${url}?expires=${String(expires)}&signature=${signature}`;
  },
  isSigned: (source, path, query) => {
    const [, seconds, signature] = QUERY.exec(query) ?? [];
    if (seconds === undefined || signature === undefined) return false;
    const expires = Number(seconds);
    const given = Buffer.from(signature, 'base64url');
    // Every key is tried, whatever the others say: the time does not tell which one fits.
    const fits = keys.filter((key) => {
      const expected = digest(key, source, path, expires);
      return given.length === expected.length && timingSafeEqual(given, expected);
    });
    return fits.length > 0 && expires * 1000 > now();
  },
});
