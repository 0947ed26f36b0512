import { once } from 'node:events';
import { isIP } from 'node:net';
import type { Redis } from 'ioredis';
import type { Logger } from '../../basics/log/logger.ts';
import { importOptional } from '../../errors/optional-package.ts';

/** Connection that instances share; see the setting `redis`. */
export interface RedisSettings {
  readonly url: string;
  readonly prefix: string;
}

/** One shared connection. Loads and opens nothing before its first use. */
export interface RedisConnection {
  /** Prefix of every key. */
  readonly prefix: string;
  /**
   * The client, also while Redis cannot be reached: every command then fails immediately.
   * @throws UnsupportedError when the package is not installed
   */
  get(): Promise<Redis>;
  close(): Promise<void>;
}

/** Node does not send the name of the host by itself, and proxies for several servers need it. */
const tlsFor = (url: string): { readonly tls?: { readonly servername: string } } => {
  const { protocol, hostname } = new URL(url);
  const isNamed = isIP(hostname.replace(/^\[(.*)\]$/u, '$1')) === 0;
  return protocol === 'rediss:' && isNamed ? { tls: { servername: hostname } } : {};
};

/** Longest wait for the connection, and for the response to a command. */
const RESPONSE_MS = 1000;

const connect = async (url: string, log: Logger): Promise<Redis> => {
  const { Redis } = await importOptional('The setting redis', 'ioredis', () => import('ioredis'));
  /**
   * Leaves a connection on which no response arrives. A host that is gone, or a NAT that has forgotten the
   * connection, sends nothing: TCP itself would notice after a quarter of an hour.
   */
  class Client extends Redis {
    override sendCommand(...sent: Parameters<Redis['sendCommand']>): unknown {
      const [command] = sent;
      const { stream } = this;
      const giveUp = (): void => {
        const error = new Error('Redis does not respond in time.');
        command.reject(error);
        if (stream === this.stream) stream.destroy(error);
      };
      let last: NodeJS.Immediate | undefined;
      // After a pause of this process, timers come first, and then the responses that have arrived meanwhile.
      const timer = setTimeout(() => (last = setImmediate(giveUp)), RESPONSE_MS);
      const end = (): void => {
        clearTimeout(timer);
        clearImmediate(last);
      };
      command.promise.then(end, end);
      return super.sendCommand(...sent);
    }
  }
  // Requests must not wait for a lost connection, and commands that were sent may have been executed: the
  // caller decides what to do.
  const redis = new Client(url, {
    ...tlsFor(url),
    enableOfflineQueue: false,
    autoResendUnfulfilledCommands: false,
    maxRetriesPerRequest: 1,
    connectTimeout: 2000,
    // The server has become a replica, so the address may lead to another primary. For scripts, Redis 6 has
    // this code in the middle of its message.
    reconnectOnError: ({ message }) => /\bREADONLY\b/u.test(message),
  });
  let isLost = false;
  const lose = (error: unknown): void => {
    if (!isLost) log.warn('Redis cannot be reached.', { error });
    isLost = true;
  };
  redis.on('error', lose);
  redis.on('ready', () => {
    if (isLost) log.info('Redis can be reached again.');
    isLost = false;
  });
  // While Redis loads its data, which may take minutes, there is neither of the two events.
  await once(redis, 'ready', { signal: AbortSignal.timeout(RESPONSE_MS) }).catch(lose);
  return redis;
};

/** A connection that has not been opened. */
export const createRedisConnection = ({ url, prefix }: RedisSettings, log: Logger): RedisConnection => {
  let redis: Promise<Redis> | undefined;
  return {
    prefix,
    get: () => (redis ??= connect(url, log)),
    close: async () => {
      (await redis?.catch(() => undefined))?.disconnect();
    },
  };
};
