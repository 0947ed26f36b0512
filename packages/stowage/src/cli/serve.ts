import { constants } from 'node:os';
import type { App } from '../app.ts';
import { DEFAULT_ADDRESS, readVariable, type Address } from '../config/environment.ts';
import type { Logger } from '../basics/log/logger.ts';
import { UsageError } from './arguments.ts';
import type { Health } from './health.ts';

/**
 * A port as written.
 * @throws UsageError when it is not a port.
 */
export const parsePort = (name: string, text: string): number => {
  const port = Number(text);
  if (!/^\d{1,5}$/u.test(text) || port > 65_535) {
    throw new UsageError(`${name} must be a port number from 0 to 65535, not ${JSON.stringify(text)}.`);
  }
  return port;
};

/**
 * Where to listen: the options, else HOST and PORT, else the default.
 * @throws UsageError when the port is not a port.
 */
export const readAddress = (options: {
  readonly host: string | undefined;
  readonly port: string | undefined;
}): Address => {
  const name = options.port === undefined ? 'PORT' : '--port';
  const port = options.port ?? readVariable('PORT');
  return {
    host: options.host ?? readVariable('HOST') ?? DEFAULT_ADDRESS.host,
    port: port === undefined ? DEFAULT_ADDRESS.port : parsePort(name, port),
  };
};

const LISTEN_FAILURES: Readonly<Record<string, string>> = {
  EADDRINUSE: 'the port is in use by another process',
  EACCES: 'the port needs more rights than this process has',
  EADDRNOTAVAIL: 'this machine does not have that address',
  ENOTFOUND: 'the host name is not known',
  EAI_AGAIN: 'the host name could not be looked up',
};

/** The service cannot be reached under its address; the message says why. */
export class StartError extends Error {
  override readonly name = 'StartError';
}

const asStartError = ({ host, port }: Address, error: unknown): unknown => {
  const reason = LISTEN_FAILURES[(error as NodeJS.ErrnoException | undefined)?.code ?? ''];
  if (reason === undefined) return error;
  return new StartError(`Cannot listen on ${host} port ${String(port)}: ${reason}.`, { cause: error });
};

const SIGNALS = ['SIGTERM', 'SIGINT'] as const;

/**
 * Settles at the first SIGTERM or SIGINT, which asks for an orderly end; the second ends the process
 * immediately.
 */
const stopSignal = (): Promise<NodeJS.Signals> =>
  new Promise((resolve) => {
    let isStopping = false;
    const listen = (signal: NodeJS.Signals): void => {
      // By custom a process that a signal ended has 128 and the signal's number for its status.
      if (isStopping) process.exit(128 + constants.signals[signal]);
      isStopping = true;
      resolve(signal);
    };
    for (const signal of SIGNALS) process.on(signal, listen);
  });

/** The address as a URL. */
export const urlOf = ({ host, port }: Address): string =>
  `http://${host.includes(':') ? `[${host}]` : host}:${String(port)}/`;

/** What goes with the service. */
export interface Companions {
  /** Watched at this address. */
  readonly health?: { readonly server: Health; readonly address: Address } | undefined;
  /** Is called with the service's URL when it listens. */
  readonly announce: (url: string) => void;
}

/**
 * Runs the service until a signal asks it to end, then until its running requests are finished.
 * @throws StartError when it cannot listen.
 */
export const serve = async (
  app: App,
  address: Address,
  log: Logger,
  { health, announce }: Companions,
): Promise<void> => {
  const stop = stopSignal();
  let wanted = address;
  try {
    const url = urlOf(await app.listen(address.port, address.host));
    if (health !== undefined) {
      wanted = health.address;
      const healthUrl = urlOf(await health.server.listen(health.address));
      log.info(`Health and metrics on ${healthUrl}`, { url: healthUrl });
    }
    log.info(`Listening on ${url}`, { url });
    announce(url);
    log.info('Stopping: no new requests, running ones are finished.', { signal: await stop });
    health?.server.drain();
    await app.close();
    await health?.server.close();
    log.info('Stopped.');
  } catch (error) {
    await app.close();
    throw asStartError(wanted, error);
  }
};
