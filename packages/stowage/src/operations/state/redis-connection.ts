import { once } from 'node:events';
import { isIP } from 'node:net';
import type { Redis } from 'ioredis';
import { Once } from '../../basics/concurrency/abort.ts';
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
  /** The client; while Redis cannot be reached, commands fail immediately. @throws UnsupportedError */
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

const silent = (): Error => new Error('Redis does not respond in time.');
/** Rejections by Redis are logged again after a minute without any. */
const QUIET_MS = 60_000;

const connect = async (url: string, log: Logger): Promise<Redis> => {
  const { Redis } = await importOptional('The setting redis', 'ioredis', () => import('ioredis'));
  /** Why the connection was lost; undefined while there is one. */
  let lost: Error | undefined;
  const lose = (error: Error): void => {
    if (lost === undefined) log.warn('Redis cannot be reached.', { error });
    lost = error;
  };
  let rejectedAt = Number.NEGATIVE_INFINITY;
  /** Logs missing rights, full memory and the like: rate limits continue without Redis. */
  const noteRejection = (error: Error): void => {
    if (performance.now() - rejectedAt > QUIET_MS) log.warn('Redis rejects a command.', { error });
    rejectedAt = performance.now();
  };
  /**
   * Leaves a connection on which no response arrives. A host that is gone, or a NAT that has forgotten the
   * connection, sends nothing: TCP itself would notice after a quarter of an hour.
   */
  class Client extends Redis {
    override sendCommand(...sent: Parameters<Redis['sendCommand']>): unknown {
      const [command] = sent;
      const { stream } = this;
      const { reject } = command;
      command.reject = (error) => {
        const isReply = error.name === 'ReplyError' && !error.message.startsWith('NOSCRIPT');
        // The library itself tries commands before it is ready.
        if (isReply && this.status === 'ready') noteRejection(error);
        // The library's own error does not name the reason.
        reject(/\bwriteable\b/u.test(error.message) && lost !== undefined ? lost : error);
      };
      const giveUp = (): void => {
        const error = silent();
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
  redis.on('error', lose);
  redis.on('ready', () => {
    if (lost !== undefined) log.info('Redis can be reached again.');
    lost = undefined;
  });
  // While Redis loads its data, which may take minutes, there is neither of the two events.
  const late = (): void => lose(lost ?? silent());
  await once(redis, 'ready', { signal: AbortSignal.timeout(RESPONSE_MS) }).catch(late);
  return redis;
};

/** A connection that has not been opened. */
export const createRedisConnection = ({ url, prefix }: RedisSettings, log: Logger): RedisConnection => {
  const redis = new Once<Redis>();
  return {
    prefix,
    get: () => redis.get(() => connect(url, log)),
    close: async () => {
      (await redis.begun?.catch(() => undefined))?.disconnect();
    },
  };
};
