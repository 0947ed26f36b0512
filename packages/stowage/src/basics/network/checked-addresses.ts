import { lookup } from 'node:dns/promises';
import { BlockList, isIP } from 'node:net';
import { networkInterfaces } from 'node:os';
import { AddressRefusedError, RemoteFailedError } from '../../errors/errors.ts';
import { isPublicAddress } from './address.ts';
import type { HostAddress, ResolveHost } from './remote.ts';
import type { Target } from './target.ts';

/** RFC 6761: names that are this machine, whatever a resolver says. */
const LOCAL_NAME = /(?:^|\.)localhost\.?$/iu;

/** Asks the operating system for every address of a name, as connections of the process would. */
const resolveBySystem: ResolveHost = async (hostname) => {
  const found = await lookup(hostname, { all: true, order: 'verbatim' });
  return found.map(({ address, family }) => ({ address, family: family === 6 ? 6 : 4 }));
};

/** The addresses of this machine's own network interfaces. */
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

/** What addresses are found and checked with, where it is not the operating system. */
export interface AddressSources {
  readonly resolve?: ResolveHost;
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
