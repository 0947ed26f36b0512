import { peerAddress } from './bridges/fetch.ts';
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

// On a socket for IPv6 an IPv4 client has an address like ::ffff:127.0.0.1.
const parseAddress = (text: unknown): Address | undefined =>
  typeof text === 'string' && ipaddr.isValid(text) ? ipaddr.process(text) : undefined;

export type ClientRequest = Pick<ConnectorRequest, 'headers' | 'native' | 'peer'>;

const peerOf = ({ native, peer }: Pick<ClientRequest, 'native' | 'peer'>): Address | undefined =>
  parseAddress(peer ?? peerAddress(native));

/** Tells whether a request has come from one of these addresses or networks itself. */
export const createPeerCheck = (
  from: readonly string[],
): ((request: Pick<ClientRequest, 'native' | 'peer'>) => boolean) => {
  const networks = from.map(parseNetwork);
  return (request) => {
    const peer = peerOf(request);
    return peer !== undefined && networks.some((network) => isIn(peer, network));
  };
};

/** Some proxies name the port too: `192.0.2.1:5000`, `[2001:db8::1]:5000`. */
const withoutPort = (text: string | undefined): string | undefined =>
  text?.replace(/^\[(.*)\](?::\d+)?$|^([\d.]+):\d+$/u, '$1$2');

/** A client may have the whole of such a network: more of its addresses do not make it more clients. */
const withoutHost = (address: Address): string => {
  if (address.kind() === 'ipv4') return address.toString();
  const parts = (address as ipaddr.IPv6).parts.map((part, index) => (index < 4 ? part : 0));
  return `${new ipaddr.IPv6(parts).toString()}/64`;
};

/**
 * Finds the address of a request's client: who has connected, or whom the trusted proxies name by
 * `X-Forwarded-For`, read from its end so that nothing counts that a client has written there. Of IPv6 it is
 * the network of 64 bits. Undefined where the host knows no address.
 */
const createClientAddress = (
  trustedProxies: readonly string[],
): ((request: ClientRequest) => string | undefined) => {
  const networks = trustedProxies.map(parseNetwork);
  const isTrusted = (address: Address): boolean => networks.some((network) => isIn(address, network));
  return (request) => {
    const { headers } = request;
    let client = peerOf(request);
    const named = networks.length === 0 ? [] : (headers['x-forwarded-for'] ?? '').split(',');
    while (client !== undefined && isTrusted(client)) {
      const before = parseAddress(withoutPort(named.pop()?.trim()));
      if (before === undefined) break;
      client = before;
    }
    return client && withoutHost(client);
  };
};

/**
 * One name for all requests of a client: the user of a tenant, as far as known, from whatever address, else
 * the address. All whose address is not known are one client.
 */
export type ClientNames = (
  request: ClientRequest,
  subject: string | undefined,
  tenant: string | undefined,
) => string;

const UNKNOWN = 'unknown';

/** Names clients. Warns once where the host gives no address of any request. */
export const createClientNames = (trustedProxies: readonly string[], log: Logger): ClientNames => {
  const addressOf = createClientAddress(trustedProxies);
  let isWarned = false;
  let isKnown = false;
  return (request, subject, tenant) => {
    if (subject !== undefined) return `subject:${JSON.stringify([tenant, subject])}`;
    const address = addressOf(request);
    isKnown ||= address !== undefined;
    // Where others have an address, this client has only closed its connection before it was read.
    if (!isKnown && !isWarned) {
      isWarned = true;
      log.warn('The host tells no client address: all requests without a subject count as one client.');
    }
    return address ?? UNKNOWN;
  };
};
