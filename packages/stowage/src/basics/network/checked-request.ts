import { lookup } from 'node:dns/promises';
import { BlockList, isIP, type LookupFunction } from 'node:net';
import { networkInterfaces } from 'node:os';
import { Agent, type IncomingHttpHeaders, request as requestHttp, type RequestOptions } from 'node:http';
import { Agent as SecureAgent, request as requestHttps } from 'node:https';
import type { Readable } from 'node:stream';
import { AddressRefusedError, RemoteFailedError } from '../../errors/errors.ts';
import { patientAttempts } from './attempts.ts';
import type { Target } from './target.ts';
import ipaddr from 'ipaddr.js';

/** The assigned public IPv6 addresses; ipaddr.js also classifies unassigned ones as `unicast`. */
const GLOBAL_UNICAST = ipaddr.IPv6.parseCIDR('2000::/3');

/** Public addresses that are internal gateways of all machines in a large cloud. */
const CLOUD_GATEWAYS = new Set(['168.63.129.16']);

/** Ranges that IPv6 addresses must not embed. */
const INNER_RANGES = new Set(['loopback', 'private', 'linkLocal', 'carrierGradeNat']);

/** Positions of the bytes of an IPv4 address after a prefix of 32 to 96 bits, by RFC 6052; byte 8 is zero. */
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
 * an internal IPv4 address. All bytes after the embedded ones must be zero, and so must the bytes 8 to 11 of
 * the longest form, so that random interface numbers do not match.
 */
const embedsInnerIpv4 = (bytes: readonly number[]): boolean =>
  EMBEDDINGS.some((positions) => {
    const last = Math.max(...positions);
    const quiet = [...bytes.keys()].filter((at) => at > last || (last === 15 ? at > 7 && at < 12 : at === 8));
    if (quiet.some((at) => bytes[at] !== 0)) return false;
    const inner = new ipaddr.IPv4(positions.map((at) => bytes[at] ?? 0));
    return INNER_RANGES.has(inner.range());
  });

/**
 * Whether an IP address, in any spelling, is public, so that users may make the service connect to it. False
 * for everything that is not a plain global unicast address: loopback, private, link-local, reserved,
 * documentation, multicast, and IPv6 forms that embed an IPv4 address (mapped, NAT64, 6to4, Teredo, ISATAP).
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

/** Scope of an address: 3 public, 2 private networks, 1 this machine, 0 link-local or reserved. */
export const reachOf = (text: string): 0 | 1 | 2 | 3 => {
  if (isPublicAddress(text)) return 3;
  if (!ipaddr.isValid(text)) return 0;
  // An IPv4 address in IPv6 form has the scope of the IPv4 address.
  const range = ipaddr.process(text).range();
  if (range === 'loopback') return 1;
  return range === 'private' || range === 'uniqueLocal' || range === 'carrierGradeNat' ? 2 : 0;
};

export interface HostAddress {
  readonly address: string;
  readonly family: 4 | 6;
}

/** Resolves a host name to all its addresses. Rejects, or returns none, when there is none. */
export type ResolveHost = (hostname: string) => Promise<readonly HostAddress[]>;

/** RFC 6761: names of this machine, whatever a resolver returns. */
const LOCAL_NAME = /(?:^|\.)localhost\.?$/iu;

/** Resolves a name with the operating system, as connections of the process would. */
const resolveBySystem: ResolveHost = async (hostname) => {
  const found = await lookup(hostname, { all: true, order: 'verbatim' });
  return found.map(({ address, family }) => ({ address, family: family === 6 ? 6 : 4 }));
};

const addressesOfThisMachine = (): readonly string[] =>
  Object.values(networkInterfaces()).flatMap((addresses) => (addresses ?? []).map(({ address }) => address));

const nameOf = (address: string): 'ipv4' | 'ipv6' => (isIP(address) === 6 ? 'ipv6' : 'ipv4');

/** Matches addresses of this machine in all spellings. */
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

/** Sources of addresses, replaceable for tests. Default: the operating system, at each request. */
export interface AddressSources {
  readonly resolve?: ResolveHost;
  readonly ownAddresses?: () => readonly string[];
}

/**
 * The addresses of a target's host. Unless `allowPrivate`, one non-public address rejects the whole name, so
 * that an attacker cannot choose among several. The public addresses of this machine are rejected too: a
 * firewall in front of it does not filter its own connections to itself.
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

export interface PinnedRequestOptions {
  readonly addresses: readonly HostAddress[];
  readonly accept: string;
  /** Default: `Stowage`. */
  readonly userAgent?: string | undefined;
  readonly signal: AbortSignal;
  /** Sends a POST with this content instead of a GET. */
  readonly post?: { readonly body: string; readonly headers: Readonly<Record<string, string>> };
}

/** A response whose body has not been read. `close` ends its connection; may be called repeatedly. */
export interface PinnedResponse {
  readonly status: number;
  readonly headers: IncomingHttpHeaders;
  readonly body: Readable;
  close(): void;
}

/** Resolves only to checked addresses, so that a second resolution cannot differ. */
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
 * Sends one GET or POST to one of the checked addresses, with Host and TLS server name of the URL. Uses no
 * proxy of the environment, cookies or credentials. Redirects are returned, not followed. The signal limits
 * the whole exchange.
 */
export const requestPinned = ({ url }: Target, options: PinnedRequestOptions): Promise<PinnedResponse> =>
  new Promise((resolve, reject) => {
    const { addresses, accept, userAgent = 'Stowage', signal, post } = options;
    const settings: RequestOptions = {
      // A separate connection that is not reused.
      agent: new (url.protocol === 'https:' ? SecureAgent : Agent)(patientAttempts),
      method: post === undefined ? 'GET' : 'POST',
      lookup: lookupAmong(addresses),
      maxHeaderSize: MAX_HEADER_BYTES,
      headers: { accept, 'accept-encoding': 'identity', 'user-agent': userAgent, ...post?.headers },
      signal,
    };
    const request = url.protocol === 'https:' ? requestHttps(url, settings) : requestHttp(url, settings);
    // The request may fail at any time, also after its response has begun.
    request.on('error', reject);
    request.once('close', () => reject(new Error('The connection ended without a response.')));
    request.once('response', (body) => {
      // The body may fail too, also after its reader has stopped.
      body.on('error', () => undefined);
      // Node ends a body without a length as if it were complete, also when its connection is reset.
      request.once('error', (error) => void (body.complete || body.destroy(error)));
      const close = (): void => void request.destroy();
      resolve({ status: body.statusCode ?? 0, headers: body.headers, body, close });
    });
    request.end(post?.body);
  });
