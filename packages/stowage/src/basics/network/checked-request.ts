import { lookup } from 'node:dns/promises';
import { BlockList, isIP, type LookupFunction } from 'node:net';
import { networkInterfaces } from 'node:os';
import { type IncomingHttpHeaders, request as requestHttp, type RequestOptions } from 'node:http';
import { request as requestHttps } from 'node:https';
import type { Readable } from 'node:stream';
import { AddressRefusedError, RemoteFailedError } from '../../errors/errors.ts';
import type { Target } from './target.ts';
import ipaddr from 'ipaddr.js';

/** The public IPv6 internet so far; ipaddr.js calls the unassigned rest `unicast` as well. */
const GLOBAL_UNICAST = ipaddr.IPv6.parseCIDR('2000::/3');

/** Public by its number, yet the inner gateway of every machine in one large cloud. */
const CLOUD_GATEWAYS = new Set(['168.63.129.16']);

/** Ranges that are not meant when an IPv6 address spells them out. */
const INNER_RANGES = new Set(['loopback', 'private', 'linkLocal', 'carrierGradeNat']);

/** Where RFC 6052 puts the bytes of an IPv4 address after a prefix of 32 to 96 bits; byte 8 stays zero. */
const EMBEDDINGS: readonly (readonly number[])[] = [
  [4, 5, 6, 7],
  [5, 6, 7, 9],
  [6, 7, 9, 10],
  [7, 9, 10, 11],
  [9, 10, 11, 12],
  [12, 13, 14, 15],
];

const isPublicIpv4 = (address: ipaddr.IPv4): boolean =>
  address.range() === 'unicast' && !CLOUD_GATEWAYS.has(address.toString());

/** ISATAP (RFC 5214): an IPv4 tunnel whose interface part is 0000:5efe or 0200:5efe and the inner address. */
const isIsatap = (bytes: readonly number[]): boolean =>
  (bytes[8] === 0 || bytes[8] === 2) && bytes[9] === 0 && bytes[10] === 0x5e && bytes[11] === 0xfe;

/**
 * Whether an address has the form that a translator with a prefix of its own network (RFC 6052) would send to
 * an inner IPv4 address. All bytes after the embedded ones must be zero, and so must the bytes 8 to 11 of the
 * longest form, so that randomly chosen interface numbers do not look alike.
 */
const embedsInnerIpv4 = (bytes: readonly number[]): boolean =>
  EMBEDDINGS.some((places) => {
    const last = Math.max(...places);
    const quiet = [...bytes.keys()].filter((at) => at > last || (last === 15 ? at > 7 && at < 12 : at === 8));
    if (quiet.some((at) => bytes[at] !== 0)) return false;
    const inner = new ipaddr.IPv4(places.map((at) => bytes[at] ?? 0));
    return INNER_RANGES.has(inner.range());
  });

/**
 * Whether an IP address, in any spelling, is a public one that a service may be sent to by its users. False
 * for everything that is not a plain global unicast address: loopback, private, link-local, reserved,
 * documentation, multicast, and IPv6 forms that carry an IPv4 address (mapped, NAT64, 6to4, Teredo, ISATAP).
 * Also false for text that is not an address.
 */
export const isPublicAddress = (text: string): boolean => {
  if (!ipaddr.isValid(text)) return false;
  const address = ipaddr.parse(text);
  if (address instanceof ipaddr.IPv4) return isPublicIpv4(address);
  if (!(address instanceof ipaddr.IPv6) || address.zoneId !== undefined) return false;
  const bytes = address.toByteArray();
  return (
    address.range() === 'unicast' &&
    address.match(GLOBAL_UNICAST) &&
    !isIsatap(bytes) &&
    !embedsInnerIpv4(bytes)
  );
};

/** How far an address reaches: 3 public, 2 private networks, 1 this machine, 0 link-local or reserved. */
export const reachOf = (text: string): 0 | 1 | 2 | 3 => {
  if (isPublicAddress(text)) return 3;
  if (!ipaddr.isValid(text)) return 0;
  // An IPv4 address in IPv6 form reaches as far as the IPv4 address itself.
  const range = ipaddr.process(text).range();
  if (range === 'loopback') return 1;
  return range === 'private' || range === 'uniqueLocal' || range === 'carrierGradeNat' ? 2 : 0;
};

/** One address of a host name. */
export interface HostAddress {
  readonly address: string;
  readonly family: 4 | 6;
}

/** Finds every address of a host name. Rejects, or answers none, when it has none. */
export type ResolveHost = (hostname: string) => Promise<readonly HostAddress[]>;

/** RFC 6761: names that are this machine, whatever a resolver says. */
const LOCAL_NAME = /(?:^|\.)localhost\.?$/iu;

/** Asks the operating system for every address of a name, as connections of the process would. */
const resolveBySystem: ResolveHost = async (hostname) => {
  const found = await lookup(hostname, { all: true, order: 'verbatim' });
  return found.map(({ address, family }) => ({ address, family: family === 6 ? 6 : 4 }));
};

const addressesOfThisMachine = (): readonly string[] =>
  Object.values(networkInterfaces()).flatMap((addresses) => (addresses ?? []).map(({ address }) => address));

const nameOf = (address: string): 'ipv4' | 'ipv6' => (isIP(address) === 6 ? 'ipv6' : 'ipv4');

/** Finds addresses of this machine in all spellings. */
const listOf = (addresses: readonly string[]): BlockList => {
  const list = new BlockList();
  for (const address of addresses) if (isIP(address) !== 0) list.addAddress(address, nameOf(address));
  return list;
};

const familyOf = (literal: string): 4 | 6 => (isIP(literal) === 6 ? 6 : 4);

const resolved = async (hostname: string, resolve: ResolveHost): Promise<readonly HostAddress[]> => {
  const addresses = await resolve(hostname).catch((cause: unknown) => {
    throw new RemoteFailedError({ detail: 'The host name could not be resolved.', cause });
  });
  if (addresses.length === 0) throw new RemoteFailedError({ detail: 'The host name has no address.' });
  return addresses;
};

/** What addresses are found and checked with. Default: the operating system, at each request. */
export interface AddressSources {
  readonly resolve?: ResolveHost;
  /** The addresses of this machine. */
  readonly ownAddresses?: () => readonly string[];
}

/**
 * The addresses of a target's host. Unless `allowPrivate`, one address that is not public refuses the whole
 * name: which of several a connection takes is not for an attacker to choose. The public addresses of this
 * machine are refused as well: a firewall in front of it does not stand between the machine and itself.
 * @throws AddressRefusedError, RemoteFailedError (the name has no address)
 */
export const checkedAddresses = async (
  target: Target,
  { resolve = resolveBySystem, ownAddresses = addressesOfThisMachine }: AddressSources,
  allowPrivate: boolean,
): Promise<readonly HostAddress[]> => {
  const { hostname } = target;
  if (!allowPrivate && LOCAL_NAME.test(hostname)) throw new AddressRefusedError({ detail: hostname });
  const addresses = target.literal
    ? [{ address: hostname, family: familyOf(hostname) }]
    : await resolved(hostname, resolve);
  if (allowPrivate) return addresses;
  const own = listOf(ownAddresses());
  const refused = addresses.find(
    ({ address }) => !isPublicAddress(address) || own.check(address, nameOf(address)),
  );
  if (refused !== undefined) throw new AddressRefusedError({ detail: `${hostname} is ${refused.address}` });
  return addresses;
};

const MAX_HEADER_BYTES = 16 * 1024;

/** What one request needs besides its target. */
export interface PinnedRequestOptions {
  readonly addresses: readonly HostAddress[];
  readonly accept: string;
  readonly signal: AbortSignal;
  /** Sends a POST with this instead of a GET. */
  readonly post?: { readonly body: string; readonly headers: Readonly<Record<string, string>> };
}

/**
 * An answer whose body has not been read. `close` ends its connection, at any time and any number of times.
 */
export interface PinnedAnswer {
  readonly status: number;
  readonly headers: IncomingHttpHeaders;
  readonly body: Readable;
  close(): void;
}

/** Looks up only addresses that were checked, so that no second look-up can differ. */
const lookupAmong =
  (addresses: readonly HostAddress[]): LookupFunction =>
  (_hostname, options, callback) => {
    if (options.all === true) return callback(null, [...addresses]);
    const [first] = addresses;
    return first === undefined
      ? callback(new Error('No address.'), '')
      : callback(null, first.address, first.family);
  };

/**
 * Sends one GET, or a POST, to one of the checked addresses, with Host and TLS server name of the URL.
 * Nothing of the process goes along: no proxy of the environment, no cookies, no credentials. Redirects are
 * returned, not followed. The signal bounds the whole exchange.
 */
export const requestPinned = ({ url }: Target, options: PinnedRequestOptions): Promise<PinnedAnswer> =>
  new Promise((resolve, reject) => {
    const { addresses, accept, signal, post } = options;
    const settings: RequestOptions = {
      // A connection of its own that is not kept.
      agent: false,
      method: post === undefined ? 'GET' : 'POST',
      lookup: lookupAmong(addresses),
      maxHeaderSize: MAX_HEADER_BYTES,
      headers: { accept, 'accept-encoding': 'identity', 'user-agent': 'Stowage', ...post?.headers },
      signal,
    };
    const request = url.protocol === 'https:' ? requestHttps(url, settings) : requestHttp(url, settings);
    // It may fail at any time, also after its answer has begun.
    request.on('error', reject);
    request.once('close', () => reject(new Error('The connection ended without an answer.')));
    request.once('response', (body) => {
      // As may a body, also after its reader has gone.
      body.on('error', () => undefined);
      const close = (): void => void request.destroy();
      resolve({ status: body.statusCode ?? 0, headers: body.headers, body, close });
    });
    request.end(post?.body);
  });
