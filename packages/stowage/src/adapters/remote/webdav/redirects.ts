import { lookup } from 'node:dns';
import { lookup as resolve } from 'node:dns/promises';
import { isIP, type LookupFunction } from 'node:net';
import { StorageUnavailableError } from '../../../errors/errors.ts';
import { reachOf } from '../../../basics/network/address.ts';
import { segmentsOfHref } from './address.ts';

/**
 * Where a redirect has taken the whole collection: what lies below `root` lies below the result. Undefined
 * when it leads to anything else.
 */
export const movedRoot = (root: string, from: URL, to: URL): string | undefined => {
  if (!from.href.startsWith(root)) return undefined;
  const rest = from.href.slice(root.length).replace(/\/$/u, '');
  const target = to.href.replace(/\/$/u, '');
  if (rest === '') return `${target}/`;
  return target.endsWith(`/${rest}`) ? target.slice(0, -rest.length) : undefined;
};

/**
 * Whether a redirect says no more than that something is a collection. The address that it names does not
 * count: a server behind a proxy mostly does not know its own.
 */
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

/** A server takes only destinations of its own. */
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
 * How connections resolve the host of a redirect that leaves the origin of `url`: to addresses only that are
 * at least as public as those of `url`. Link-local addresses are always refused: clouds hand out logins
 * there.
 * @throws StorageUnavailableError for a host that is such an address itself
 */
export const guardedLookup = async (own: URL, target: URL): Promise<LookupFunction> => {
  const host = hostOf(own);
  const found = isIP(host) === 0 ? await resolve(host, { all: true }).catch(() => []) : [{ address: host }];
  // Addresses that are neither public nor of this machine count as a private network.
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
