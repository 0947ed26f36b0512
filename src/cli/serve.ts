import type { Logger } from '../log/logger.ts';
import { listenFailure, type Address } from './address.ts';
import { takeStopSignals } from './signals.ts';

/** The service as far as a command drives it. */
export interface Service {
  listen(port: number, host: string): Promise<{ readonly port: number; readonly host: string }>;
  /** Refuses new requests, lets the running ones finish, and frees everything. */
  close(): Promise<void>;
}

/** The service cannot be reached under its address; the message says why. */
export class StartError extends Error {
  override readonly name = 'StartError';
}

/**
 * Runs the service until a signal asks it to end, then until its running requests are finished.
 * @throws StartError when it cannot listen.
 */
export const serve = async (service: Service, address: Address, log: Logger): Promise<void> => {
  const signals = takeStopSignals();
  try {
    const { port, host } = await service.listen(address.port, address.host);
    const url = `http://${host.includes(':') ? `[${host}]` : host}:${String(port)}/`;
    log.info(`Listening on ${url}`, { url });
    const signal = await signals.received;
    log.info('Stopping: no new requests, running ones are finished.', { signal });
    await service.close();
    log.info('Stopped.');
  } catch (error) {
    await service.close();
    const message = listenFailure(address, error);
    if (message === undefined) throw error;
    throw new StartError(message, { cause: error });
  } finally {
    signals.release();
  }
};
