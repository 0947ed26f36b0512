import { isIP } from 'node:net';
import { peerAddress, UNIX_PEER } from './bridges/fetch.ts';
import ipaddr from 'ipaddr.js';
import type { Logger } from '../basics/log/logger.ts';
import type { ConnectorRequest } from './message.ts';

type Address = ipaddr.IPv4 | ipaddr.IPv6;
type Network = ReturnType<typeof ipaddr.parseCIDR>;

const parseNetwork = (text: string): Network => {
  if (text.includes('/')) return ipaddr.parseCIDR(text);
  const address = ipaddr.parse(text);
  return [address, address.kind() === 'ipv4' ? 32 : 128];
};

const isIn = (address: Address, [network, bits]: Network): boolean =>
  address.kind() === network.kind() && address.match(network, bits);

// On an IPv6 socket, an IPv4 client has an address like ::ffff:127.0.0.1. Unlike `isIP`, ipaddr.js also reads
// hexadecimal, octal and short forms, which no proxy sends.
const parseAddress = (text: unknown): Address | undefined =>
  typeof text === 'string' && isIP(text) !== 0 ? ipaddr.process(text) : undefined;

export type ClientRequest = Pick<ConnectorRequest, 'headers' | 'native' | 'peer'>;

type Peer = Address | typeof UNIX_PEER;

const peerOf = ({
  native,
  peer = peerAddress(native),
}: Pick<ClientRequest, 'native' | 'peer'>): Peer | undefined =>
  peer === UNIX_PEER ? peer : parseAddress(peer);

const createTrust = (from: readonly string[]): ((peer: Peer) => boolean) => {
  const networks = from.filter((one) => one !== UNIX_PEER).map(parseNetwork);
  const trustsUnix = from.includes(UNIX_PEER);
  return (peer) => (peer === UNIX_PEER ? trustsUnix : networks.some((network) => isIn(peer, network)));
};

/** Checks whether the peer of a request has one of these addresses or networks. */
export const createPeerCheck = (
  from: readonly string[],
): ((request: Pick<ClientRequest, 'native' | 'peer'>) => boolean) => {
  const isTrusted = createTrust(from);
  return (request) => {
    const peer = peerOf(request);
    return peer !== undefined && isTrusted(peer);
  };
};

/** Some proxies append the port: `192.0.2.1:5000`, `[2001:db8::1]:5000`. */
const withoutPort = (text: string | undefined): string | undefined =>
  text?.replace(/^\[(.*)\](?::\d+)?$|^([\d.]+):\d+$/u, '$1$2');

/** A single client may own a whole /64 network: its addresses count as one client. */
const withoutHost = (address: Address): string => {
  if (address.kind() === 'ipv4') return address.toString();
  const parts = (address as ipaddr.IPv6).parts.map((part, index) => (index < 4 ? part : 0));
  return `${new ipaddr.IPv6(parts).toString()}/64`;
};

/**
 * Finds the client address of a request: the peer, or the address that trusted proxies report in
 * `X-Forwarded-For`, read from the end so that entries by the client are ignored. An IPv6 address is reduced
 * to its /64 network. Undefined where the host knows no address.
 */
const createClientAddress = (
  trustedProxies: readonly string[],
): ((request: ClientRequest) => string | undefined) => {
  const isTrusted = createTrust(trustedProxies);
  return (request) => {
    const { headers } = request;
    let client = peerOf(request);
    const named = trustedProxies.length === 0 ? [] : (headers['x-forwarded-for'] ?? '').split(',');
    while (client !== undefined && isTrusted(client)) {
      const before = parseAddress(withoutPort(named.pop()?.trim()));
      if (before === undefined) break;
      client = before;
    }
    return client === UNIX_PEER ? undefined : client && withoutHost(client);
  };
};

/**
 * One name for all requests of a client: the user of a tenant if known, from any address, else the address.
 * All requests without an address are one client.
 */
export type ClientNames = (
  request: ClientRequest,
  subject: string | undefined,
  tenant: string | undefined,
) => string;

const UNKNOWN = 'unknown';

/** Names clients. Logs one warning when the host provides no address at all. */
export const createClientNames = (trustedProxies: readonly string[], log: Logger): ClientNames => {
  const addressOf = createClientAddress(trustedProxies);
  let isWarned = false;
  let isKnown = false;
  return (request, subject, tenant) => {
    if (subject !== undefined) return `subject:${JSON.stringify([tenant, subject])}`;
    const address = addressOf(request);
    isKnown ||= address !== undefined;
    // If other requests have an address, this client merely closed its connection before it was read.
    if (!isKnown && !isWarned) {
      isWarned = true;
      log.warn('The host reports no client address: all requests without a subject count as one client.');
    }
    return address ?? UNKNOWN;
  };
};
