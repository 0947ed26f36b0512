import type { Redis } from 'ioredis';
import { importOptional } from '../../errors/optional-package.ts';
import type { Logger } from '../../basics/log/logger.ts';

/** Where several instances meet; see the setting `redis`. */
export interface RedisSettings {
  readonly url: string;
  readonly prefix: string;
}

/** One connection for all that instances share. Nothing is loaded or opened before it is asked for. */
export interface RedisConnection {
  /** Begins every key. */
  readonly prefix: string;
  /**
   * The client, also while it cannot reach anybody: then every command fails immediately.
   * @throws UnsupportedError when the package is not installed
   */
  get(): Promise<Redis>;
  close(): Promise<void>;
}

const connect = async (url: string, log: Logger): Promise<Redis> => {
  const { Redis } = await importOptional('The setting redis', 'ioredis', () => import('ioredis'));
  // A request must not wait for a connection that is lost, and what was sent over one may have been done:
  // its sender decides what that means.
  const redis = new Redis(url, {
    enableOfflineQueue: false,
    autoResendUnfulfilledCommands: false,
    maxRetriesPerRequest: 1,
    connectTimeout: 2000,
    commandTimeout: 1000,
    // It was the one that takes writes; the address may lead to another one by now. About a script Redis 6
    // says so in the middle of its message.
    reconnectOnError: ({ message }) => /\bREADONLY\b/u.test(message),
  });
  let isLost = false;
  redis.on('error', (error: unknown) => {
    if (!isLost) log.warn('Redis cannot be reached.', { error });
    isLost = true;
  });
  redis.on('ready', () => {
    if (isLost) log.info('Redis can be reached again.');
    isLost = false;
  });
  await new Promise<void>((resolve) => {
    redis.once('ready', resolve);
    redis.once('error', () => resolve());
  });
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
