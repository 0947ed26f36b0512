import { lookup } from 'node:dns';
import { lookup as resolve } from 'node:dns/promises';
import { isIP, type LookupFunction } from 'node:net';
import { isSegment } from '../../../storage/source-path.ts';
import { orUndefined, StorageUnavailableError } from '../../../errors/errors.ts';
import { reachOf } from '../../../basics/network/checked-request.ts';

/** The URL of an entry below the root collection. */
export const urlOf = (root: URL, segments: readonly string[], kind: 'file' | 'folder'): URL => {
  const encoded = segments.map(encodeURIComponent).join('/');
  const slash = kind === 'folder' && encoded !== '' ? '/' : '';
  return new URL(root.origin + root.pathname + encoded + slash);
};

/**
 * The decoded segments of an href, which may be a path or a URL, percent-encoded in the server's own way: some
 * do not encode `?` and `#` in names. Undefined when it cannot be decoded.
 */
export const segmentsOfHref = (href: string): readonly string[] | undefined => {
  const path = href.replace(/^[a-z][a-z\d+.-]*:\/\/[^/]*/iu, '');
  return orUndefined(() => path.split('/').filter(Boolean).map(decodeURIComponent));
};

/** Compares ignoring letter case: servers that fold it may respond with the name as it is stored. */
const isSame = (one: string, other: string | undefined): boolean =>
  one === other || one.toLowerCase() === other?.toLowerCase();

/** Relation of an href to a folder. Names are composed; `written` is the server's spelling. */
export const relationOf = (
  folder: readonly string[],
  href: string,
):
  | { readonly kind: 'self' }
  | { readonly kind: 'child'; readonly name: string; readonly written: string }
  | { readonly kind: 'other' } => {
  const written = segmentsOfHref(href);
  const segments = written?.map((segment) => segment.normalize('NFC'));
  if (segments === undefined || !folder.every((segment, index) => isSame(segment, segments[index])))
    return { kind: 'other' };
  if (segments.length === folder.length) return { kind: 'self' };
  const name = segments[folder.length];
  if (segments.length !== folder.length + 1 || name === undefined || !isSegment(name))
    return { kind: 'other' };
  return { kind: 'child', name, written: written?.at(-1) ?? name };
};

/** The new root after a redirect of a path below `root`. Undefined when the redirect leads elsewhere. */
export const movedRoot = (root: string, from: URL, to: URL): string | undefined => {
  if (!from.href.startsWith(root)) return undefined;
  const rest = from.href.slice(root.length).replace(/\/$/u, '');
  const target = to.href.replace(/\/$/u, '');
  if (rest === '') return `${target}/`;
  return target.endsWith(`/${rest}`) ? target.slice(0, -rest.length) : undefined;
};

/** Whether a redirect only adds the slash of a collection. Any host: servers often do not know theirs. */
const addsSlash = (from: URL, to: URL): boolean => {
  if (from.pathname.endsWith('/') || !to.pathname.endsWith('/')) return false;
  const [before, after] = [segmentsOfHref(from.pathname), segmentsOfHref(to.pathname)];
  return before !== undefined && before.join('/') === after?.join('/');
};

/** @throws StorageUnavailableError */
export const targetOf = (location: string, from: URL): URL => {
  if (!URL.canParse(location, from.href))
    throw new StorageUnavailableError({ detail: 'a redirect to nowhere' });
  const url = new URL(location, from);
  if (!/^https?:$/u.test(url.protocol))
    throw new StorageUnavailableError({ detail: 'a redirect to what is not a web address' });
  if (!addsSlash(from, url)) return url;
  const same = new URL(from);
  same.pathname += '/';
  return same;
};

/** Rewrites `Destination` for the new root: a server accepts only its own URLs there. */
export const headersAt = (
  moved: string,
  root: string,
  headers: Readonly<Record<string, string>> = {},
): Readonly<Record<string, string>> => {
  const { destination } = headers;
  return destination?.startsWith(root) === true
    ? { ...headers, destination: moved + destination.slice(root.length) }
    : headers;
};

const hostOf = ({ hostname }: URL): string => hostname.replaceAll(/^\[|\]$/gu, '');

const refusal = (): StorageUnavailableError =>
  new StorageUnavailableError({ detail: 'a redirect to an address that is less public than that of url' });

/**
 * Resolves the host of a redirect that leaves the origin of `url`: only to addresses that are at least as
 * public as those of `url`. Link-local addresses are always rejected, because clouds serve credentials there.
 * @throws StorageUnavailableError for a host that is such an address itself
 */
export const guardedLookup = async (own: URL, target: URL): Promise<LookupFunction> => {
  const host = hostOf(own);
  const found = isIP(host) === 0 ? await resolve(host, { all: true }).catch(() => []) : [{ address: host }];
  // Addresses that are neither public nor local to this machine count as a private network.
  const least = Math.min(3, ...found.map(({ address }) => reachOf(address) || 2));
  if (isIP(hostOf(target)) !== 0 && reachOf(hostOf(target)) < least) throw refusal();
  return (hostname, options, done) => {
    lookup(hostname, { ...options, all: true }, (error, addresses) => {
      if (error !== null) return done(error, []);
      if (addresses.some(({ address }) => reachOf(address) < least)) return done(refusal(), []);
      const [first] = addresses;
      if (options.all === true || first === undefined) done(null, addresses);
      else done(null, first.address, first.family);
    });
  };
};
