import { readFile } from 'node:fs/promises';
import type { Client, ConnectConfig, SFTPWrapper } from 'ssh2';
import { importOptional } from '../../../errors/optional-package.ts';
import { systemCode } from '../../../basics/files/system-errors.ts';
import { StorageDeniedError, StorageTimeoutError, StorageUnavailableError } from '../../../errors/errors.ts';
import { LostConnectionError, type PooledConnection, SilenceError } from '../core/connections.ts';
import { MissingExtensionError } from './errors.ts';
import {
  algorithmsFor,
  fingerprintOf,
  isAccepted,
  type KnownHost,
  knownHostIn,
  parseHostKeys,
} from './login.ts';
import type { SftpOptions } from './options.ts';

type Callback<Value> = (error?: Error | null, value?: Value) => void;

/** Reads a configured file. A failure is an error of the configuration. */
const readConfigured = async (key: string, path: string): Promise<string> => {
  try {
    return await readFile(path, 'utf8');
  } catch (error) {
    const detail = `${key} cannot be read (${systemCode(error) ?? 'unknown'})`;
    throw new StorageUnavailableError({ detail, cause: error });
  }
};

const hostKeysOf = async ({ host, port, hostKey, knownHostsFile }: SftpOptions): Promise<KnownHost> => {
  if (knownHostsFile !== undefined)
    return knownHostIn(await readConfigured('knownHostsFile', knownHostsFile), host, port);
  return { accepted: [hostKey ?? []].flat().flatMap(parseHostKeys), revoked: [] };
};

const configOf = async (options: SftpOptions, keys: KnownHost, hostVerifier: (key: Buffer) => boolean) => {
  const { host, port, username, password, passphrase, privateKeyFile, timeout } = options;
  const privateKey =
    privateKeyFile === undefined
      ? options.privateKey
      : await readConfigured('privateKeyFile', privateKeyFile);
  const serverHostKey = algorithmsFor(keys.accepted);
  return {
    host,
    port,
    username,
    hostVerifier,
    readyTimeout: timeout * 1000,
    // Detects a dead connection even while no request is running.
    keepaliveInterval: Math.max(1000, timeout * 500),
    keepaliveCountMax: 3,
    ...(password === undefined ? {} : { password, tryKeyboard: true }),
    ...(privateKey === undefined ? {} : { privateKey }),
    ...(passphrase === undefined ? {} : { passphrase }),
    ...(serverHostKey === undefined || serverHostKey.length === 0
      ? {}
      : { algorithms: { serverHostKey: serverHostKey as never } }),
  } satisfies ConnectConfig;
};

/** The error for a failed login or handshake. */
const errorOfOpening = (error: Error & { readonly level?: string }, shown: string | undefined): Error => {
  const facts = { detail: `the connection was not made: ${error.message}`, cause: error };
  if (shown !== undefined)
    return new StorageUnavailableError({ detail: `the server has shown an unknown host key, ${shown}` });
  if (error.level === 'client-authentication') return new StorageDeniedError(facts);
  if (error.level === 'client-timeout' || error instanceof SilenceError)
    return new StorageTimeoutError(facts);
  return new StorageUnavailableError(facts);
};

/** Whether the server itself rejected a connection or its login, perhaps because it has too many. */
export const isRefusedConnection = (error: unknown): boolean => {
  const isFailure = error instanceof StorageUnavailableError || error instanceof StorageDeniedError;
  if (!isFailure || !(error.cause instanceof Error)) return false;
  const code = 'code' in error.cause ? error.cause.code : undefined;
  return typeof code !== 'string' || code === 'ECONNRESET';
};

/** An SSH connection with its SFTP channel, shared by concurrent requests of several users. */
export class SftpConnection implements PooledConnection {
  readonly #client: Client;
  readonly #sftp: SFTPWrapper;
  readonly #silenceMs: number;
  readonly #waiting = new Set<(error: Error) => void>();
  #isOpen = true;
  /** Time since which the current oldest request has been the oldest. */
  #oldestSince = 0;
  #watch: NodeJS.Timeout | undefined;

  private constructor(client: Client, sftp: SFTPWrapper, silenceMs: number) {
    this.#client = client;
    this.#sftp = sftp;
    this.#silenceMs = silenceMs;
    const lose = (): void => this.#end(new LostConnectionError('the connection was lost'));
    client.on('close', lose).on('error', lose);
    sftp.on('close', lose).on('error', lose);
  }

  /** Connects, checks the host key and logs in. @throws UnsupportedError; StorageDeniedError */
  static async open(options: SftpOptions, signal: AbortSignal): Promise<SftpConnection> {
    const { default: ssh2 } = await importOptional('SFTP storage', 'ssh2', () => import('ssh2'));
    const keys = await hostKeysOf(options);
    let refused: string | undefined;
    const config = await configOf(options, keys, (key) => {
      if (isAccepted(key, keys)) return true;
      refused = fingerprintOf(key);
      return false;
    });
    signal.throwIfAborted();
    const client = new ssh2.Client();
    const timeoutMs = options.timeout * 1000;
    let timer: NodeJS.Timeout | undefined;
    let leave = (): void => undefined;
    try {
      return await new Promise<SftpConnection>((resolve, reject) => {
        const fail = (error: Error): void => reject(errorOfOpening(error, refused));
        timer = setTimeout(() => fail(new SilenceError('no response in time')), timeoutMs);
        client
          .on('error', fail)
          .on('close', () => fail(new LostConnectionError('the server has closed the connection')))
          .on('keyboard-interactive', (_name, _text, _language, prompts, answer) =>
            answer(prompts.length === 1 ? [options.password ?? ''] : []),
          )
          .on('ready', () =>
            client.sftp((error, sftp) => {
              if (error) fail(error);
              else resolve(new SftpConnection(client, sftp, timeoutMs));
            }),
          );
        leave = () => reject(signal.reason as Error);
        signal.addEventListener('abort', leave, { once: true });
        client.connect(config);
        // Otherwise each of several small writes would wait for the response to the previous one.
        client.setNoDelay(true);
      });
    } catch (error) {
      client.destroy();
      // The library throws errors about a private key directly.
      throw error instanceof Error && !('code' in error) ? errorOfOpening(error, undefined) : error;
    } finally {
      clearTimeout(timer);
      signal.removeEventListener('abort', leave);
    }
  }

  get isOpen(): boolean {
    return this.#isOpen;
  }

  /**
   * Sends a request and waits for its response. Sends nothing twice.
   * @throws the library's error for a rejection by the server; SilenceError, LostConnectionError
   */
  async request<Value>(send: (sftp: SFTPWrapper, done: Callback<Value>) => void): Promise<Value> {
    if (!this.#isOpen) throw new LostConnectionError('the connection was lost before');
    return new Promise<Value>((resolve, reject) => {
      this.#waiting.add(reject);
      this.#watchSilence();
      const done: Callback<Value> = (error, value) => {
        if (this.#waiting.values().next().value === reject) this.#oldestSince = performance.now();
        this.#waiting.delete(reject);
        if (error) reject(error);
        else resolve(value as Value);
      };
      try {
        send(this.#sftp, done);
      } catch (error) {
        // The server lacks the extension.
        this.#waiting.delete(reject);
        reject(new MissingExtensionError('the server lacks an extension', { cause: error }));
      }
    });
  }

  close(): void {
    this.#end(new LostConnectionError('the connection was closed'));
  }

  /**
   * One timer for all requests. Servers respond roughly in order: while the oldest request gets a response, the
   * connection is alive. When only later ones get one, its response is lost.
   */
  #watchSilence(): void {
    if (this.#waiting.size === 1) this.#oldestSince = performance.now();
    if (this.#watch !== undefined) return;
    const check = (): void => {
      this.#watch = undefined;
      if (this.#waiting.size === 0) return;
      const left = this.#silenceMs - (performance.now() - this.#oldestSince);
      if (left > 0) this.#watch = setTimeout(check, left);
      else this.#end(new SilenceError('no response in time'));
    };
    this.#watch = setTimeout(check, this.#silenceMs);
  }

  #end(reason: Error): void {
    if (!this.#isOpen) return;
    this.#isOpen = false;
    clearTimeout(this.#watch);
    for (const reject of this.#waiting) reject(reason);
    this.#waiting.clear();
    this.#client.destroy();
  }
}
