import { stat } from 'node:fs/promises';
import { constants } from 'node:os';
import { basename, resolve } from 'node:path';
import { setTimeout as wait } from 'node:timers/promises';
import type { Worker } from 'node:worker_threads';
import type { App, ServiceDefinition } from '../app.ts';
import type { Logger } from '../basics/log/logger.ts';
import {
  type Address,
  DEFAULT_ADDRESS,
  readProgramEnvironment,
  readVariable,
} from '../config/environment.ts';
import { HttpError } from '../errors/errors.ts';
import type { HookRequest } from '../http/message.ts';
import { type Options, UsageError } from './arguments.ts';
import type { Health } from './health.ts';

/**
 * Parses a port.
 * @throws UsageError when it is invalid.
 */
export const parsePort = (name: string, text: string): number => {
  const port = Number(text);
  if (!/^\d{1,5}$/u.test(text) || port > 65_535)
    throw new UsageError(`${name} must be a port number from 0 to 65535, not ${JSON.stringify(text)}.`);
  return port;
};

/** The address from the options, else HOST and PORT, else the default. @throws UsageError */
export const readAddress = (options: Pick<Options, 'host' | 'port'>): Address => {
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
  EAFNOSUPPORT: 'this machine has no addresses of this kind',
  EADDRNOTAVAIL: 'this machine does not have that address',
  ENOTFOUND: 'the host name is not known',
  EAI_AGAIN: 'the host name could not be looked up',
};

/** The service cannot start; the message has the reason. */
export class StartError extends Error {
  override readonly name = 'StartError';
}

const asStartError = ({ host, port }: Address, error: unknown): unknown => {
  const { code = '', syscall = '' } = error as NodeJS.ErrnoException;
  if (!['listen', 'bind', 'getaddrinfo'].includes(syscall)) return error;
  const reason = LISTEN_FAILURES[code] ?? `the system reports ${code}`;
  return new StartError(`Cannot listen on ${host} port ${String(port)}: ${reason}.`, { cause: error });
};

export const urlOf = ({ host, port }: Address): string =>
  `http://${host.includes(':') ? `[${host}]` : host}:${String(port)}/`;

export interface Companions {
  readonly health?: { readonly server: Health; readonly address: Address } | undefined;
  /** Called with the service's URL when it listens. */
  readonly announce: (url: string) => void;
}

/** Runs the service until a signal, then until its requests have finished. @throws StartError */
export const serve = async (
  app: App,
  address: Address,
  log: Logger,
  { health, announce }: Companions,
): Promise<void> => {
  const stop = new Promise<NodeJS.Signals>(onStop);
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

/** Whether an origin belongs to this machine, on any port. */
const isLocalOrigin = (origin: string): boolean =>
  URL.canParse(origin) &&
  /^(?:(?:[\w-]+\.)*localhost|127\.\d+\.\d+\.\d+|\[::1\])$/u.test(new URL(origin).hostname);

/**
 * Rejects requests for other hosts than this machine: any site may point a name of its own to this machine
 * (DNS rebinding), and requests of its pages would look like those of the service's own pages.
 */
const refuseOtherHosts = ({ headers }: HookRequest): undefined => {
  if (!isLocalOrigin(`http://${headers['host'] ?? ''}`))
    throw new HttpError(403, 'This service answers to localhost only. Use --host to serve others.');
  return undefined;
};

const WILDCARDS = ['0.0.0.0', '::'];

/**
 * The service of `stowage serve FOLDER`: one source with the name of the folder, whose files are public.
 * Pages of this machine may use it, because the page under development has another port.
 * @throws StartError when the folder does not exist.
 */
export const defineFolder = async (folder: string, address: Address): Promise<ServiceDefinition> => {
  const root = resolve(folder);
  const stats = await stat(root).catch(() => undefined);
  if (stats?.isDirectory() !== true) throw new StartError(`There is no folder ${root}.`);
  const name = basename(root) || 'files';
  // Pages on another port need absolute links. With a free port, or all addresses, the host is unknown: then
  // links are paths.
  const isLocal = isLocalOrigin(urlOf(address));
  const isKnown = address.port !== 0 && !WILDCARDS.includes(address.host) && URL.canParse(urlOf(address));
  return {
    config: {
      sources: { [name]: { title: name, root, serve: 'public' } },
      allowCrossOrigin: true,
      allowedOrigins: [],
      refuseCrossSite: true,
      ...(isKnown ? { publicUrl: urlOf(address) } : {}),
    },
    hooks: { allowedOrigins: isLocalOrigin, ...(isLocal ? { resolveSources: refuseOtherHosts } : {}) },
  };
};

/** Next steps, shown after the start. */
export const hintFor = (folder: string, url: string): string => `Serving ${resolve(folder)} at ${url}
An editor of a page on this machine shows and uploads its files with:

  Jodit.make('#editor', {
    filebrowser: { ajax: { url: '${url}', method: 'POST' } },
    uploader: { url: '${url}', data: { action: 'fileUpload' } },
  });

Stop it with Ctrl+C.`;

/**
 * Turns the process into one that exits immediately: the kernel ends its threads, also in the first process of a
 * container, which its own signals do not end. Returns where Node.js cannot: before 22.15, and on Windows.
 */
const replaceByExit = (status: number): void => {
  const execve: unknown = Reflect.get(process, 'execve');
  if (typeof execve !== 'function') return;
  try {
    const words = [process.execPath, '-e', `process.exit(${String(status)})`];
    // The new process must not start in a folder of a disk that hangs.
    process.chdir('/');
    Reflect.apply(execve, process, [process.execPath, words, readProgramEnvironment()]);
  } catch {
    // Windows, and the permission model of Node.js.
  }
};

/** Ends the process by the signal itself: `process.exit` would wait for a thread that hangs at a disk. */
export const endBy = (signal: NodeJS.Signals): never => {
  const status = 128 + constants.signals[signal];
  process.removeAllListeners(signal);
  process.kill(process.pid, signal);
  replaceByExit(status);
  return process.exit(status);
};

/** A signal within this time after another is the same one: npm passes on what the terminal has sent to both. */
const SAME_MS = 1000;

/** Calls `stop` at the first signal; a later one ends the process. Returns how to stop listening. */
export const onStop = (stop: (signal: NodeJS.Signals) => void): (() => void) => {
  let stoppedAt: number | undefined;
  const listen = (signal: NodeJS.Signals): void => {
    if (stoppedAt !== undefined && performance.now() - stoppedAt > SAME_MS) endBy(signal);
    if (stoppedAt !== undefined) return;
    stoppedAt = performance.now();
    stop(signal);
  };
  process.on('SIGINT', listen).on('SIGTERM', listen);
  return () => void process.off('SIGINT', listen).off('SIGTERM', listen);
};

/** Calls of the file system and of the resolver of names. */
const isInCall = (): boolean =>
  process.getActiveResourcesInfo().some((name) => /Req(?:Callback|Promise|Wrap)$/u.test(name));

/**
 * Returns a function that ends the process with a status. Where a thread still hangs after a second, and Node.js
 * cannot replace the process, it ends by SIGTERM.
 */
export const createEnd = (): ((status: number) => Promise<never>) => {
  const workers = new Set<Worker>();
  process.on('worker', (worker) => {
    workers.add(worker);
    worker.once('exit', () => workers.delete(worker));
  });
  const isHeld = (): boolean => workers.size > 0 || isInCall();
  return async (status) => {
    for (const worker of workers) void worker.terminate();
    const latest = performance.now() + 1000;
    while (isHeld() && performance.now() < latest) await wait(20);
    if (!isHeld()) return process.exit(status);
    replaceByExit(status);
    return endBy('SIGTERM');
  };
};
