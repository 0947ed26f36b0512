import { lookup } from 'node:dns/promises';
import { isIP } from 'node:net';
import { AddressRefusedError, RemoteFailedError } from '../errors/errors.ts';
import { isPublicAddress } from '../network/address.ts';
import type { HostAddress, ResolveHost } from './remote.ts';
import type { Target } from './target.ts';

/** RFC 6761: names that are this machine, whatever a resolver says. */
const LOCAL_NAME = /(?:^|\.)localhost\.?$/iu;

/** Asks the operating system for every address of a name, as connections of the process would. */
export const resolveBySystem: ResolveHost = async (hostname) => {
  const found = await lookup(hostname, { all: true, order: 'verbatim' });
  return found.map(({ address, family }) => ({ address, family: family === 6 ? 6 : 4 }));
};

const familyOf = (literal: string): 4 | 6 => (isIP(literal) === 6 ? 6 : 4);

const resolved = async (hostname: string, resolve: ResolveHost): Promise<readonly HostAddress[]> => {
  const addresses = await resolve(hostname).catch((cause: unknown) => {
    throw new RemoteFailedError({ detail: 'The host name could not be resolved.', cause });
  });
  if (addresses.length === 0) throw new RemoteFailedError({ detail: 'The host name has no address.' });
  return addresses;
};

/**
 * The addresses of a target's host. Unless `allowPrivate`, one address that is not public refuses the whole name: which of
 * several a connection takes is not for an attacker to choose.
 * @throws AddressRefusedError, RemoteFailedError (the name has no address)
 */
export const checkedAddresses = async (
  target: Target,
  resolve: ResolveHost,
  allowPrivate: boolean,
): Promise<readonly HostAddress[]> => {
  const { hostname } = target;
  if (!allowPrivate && LOCAL_NAME.test(hostname)) throw new AddressRefusedError({ detail: hostname });
  const addresses = target.literal
    ? [{ address: hostname, family: familyOf(hostname) }]
    : await resolved(hostname, resolve);
  const refused = allowPrivate ? undefined : addresses.find(({ address }) => !isPublicAddress(address));
  if (refused !== undefined) throw new AddressRefusedError({ detail: `${hostname} is ${refused.address}` });
  return addresses;
};
