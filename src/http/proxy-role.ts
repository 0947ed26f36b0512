import ipaddr from 'ipaddr.js';
import { HttpError } from '../errors/errors.ts';
import type { HookRequest } from './message.ts';

type Network = ReturnType<typeof ipaddr.parseCIDR>;

const parseNetwork = (text: string): Network => {
  if (text.includes('/')) return ipaddr.parseCIDR(text);
  const address = ipaddr.parse(text);
  return [address, address.kind() === 'ipv4' ? 32 : 128];
};

const isIn = (address: ipaddr.IPv4 | ipaddr.IPv6, [network, bits]: Network): boolean =>
  address.kind() === network.kind() && address.match(network, bits);

/** Who has connected, as far as the host's request knows its socket; no header is asked. */
const peerOf = (native: unknown): string | undefined => {
  const { socket } = (native ?? {}) as { readonly socket?: { readonly remoteAddress?: unknown } | null };
  const address = socket?.remoteAddress;
  return typeof address === 'string' && ipaddr.isValid(address) ? address : undefined;
};

/**
 * Takes the role of a request from the header of a trusted proxy.
 * @throws HttpError 401 for requests of others, and for those whose header is not one role.
 */
export const createProxyRole = (
  header: string,
  from: readonly string[],
): ((request: HookRequest) => string) => {
  const name = header.toLowerCase();
  const networks = from.map(parseNetwork);
  return ({ native, headers }) => {
    const peer = peerOf(native);
    // On a socket for IPv6 an IPv4 client has an address like ::ffff:127.0.0.1.
    const address = peer === undefined ? undefined : ipaddr.process(peer);
    const isTrusted = address !== undefined && networks.some((network) => isIn(address, network));
    const role = headers[name]?.trim() ?? '';
    // A header that came twice, once perhaps from the client, is joined by a comma.
    if (!isTrusted || role === '' || role.includes(',')) throw new HttpError(401, 'Please log in.');
    return role;
  };
};
