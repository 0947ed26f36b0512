import { variable, type Environment } from './environment.ts';
import { UsageError } from './arguments.ts';

/** Where to listen. */
export interface Address {
  readonly host: string;
  readonly port: number;
}

/** Only this machine: whoever wants to serve others says so, and thinks of access rules. */
const DEFAULT_HOST = '127.0.0.1';
const DEFAULT_PORT = 8081;

const parsePort = (name: string, text: string): number => {
  const port = Number(text);
  if (!/^\d{1,5}$/u.test(text) || port > 65_535) {
    throw new UsageError(`${name} must be a port number from 0 to 65535, not ${JSON.stringify(text)}.`);
  }
  return port;
};

/**
 * Where to listen: the options, else HOST and PORT, else 127.0.0.1 and 8081.
 * @throws UsageError when the port is not a port.
 */
export const readAddress = (
  options: { readonly host: string | undefined; readonly port: string | undefined },
  environment: Environment,
): Address => {
  const fromEnvironment = variable(environment, 'PORT');
  return {
    host: options.host ?? variable(environment, 'HOST') ?? DEFAULT_HOST,
    port:
      options.port !== undefined
        ? parsePort('--port', options.port)
        : fromEnvironment !== undefined
          ? parsePort('PORT', fromEnvironment)
          : DEFAULT_PORT,
  };
};

const LISTEN_FAILURES: Readonly<Record<string, string>> = {
  EADDRINUSE: 'the port is in use by another process',
  EACCES: 'the port needs more rights than this process has',
  EADDRNOTAVAIL: 'this machine does not have that address',
  ENOTFOUND: 'the host name is not known',
  EAI_AGAIN: 'the host name could not be looked up',
};

/** Why listening failed, in words; undefined for an error that has nothing to do with the address. */
export const listenFailure = (address: Address, error: unknown): string | undefined => {
  const reason = LISTEN_FAILURES[(error as NodeJS.ErrnoException | undefined)?.code ?? ''];
  return reason === undefined
    ? undefined
    : `Cannot listen on ${address.host} port ${String(address.port)}: ${reason}.`;
};
