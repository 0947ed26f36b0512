import { setTimeout as delay } from 'node:timers/promises';
import { createNameLocks } from '../../basics/concurrency/name-locks.ts';
import { BusyError } from '../../errors/errors.ts';
import type { Logger } from '../../basics/log/logger.ts';
import type { DurableQueue } from './file-queue.ts';
import type { RedisConnection } from './redis-connection.ts';
import { createRedisQueue } from './redis-queue.ts';
import type { DocumentChange, Documents, State } from './state.ts';

/** A document and the time, by the clock of Redis: those of the instances may differ. */
const READ = `return { redis.call('GET', KEYS[1]), redis.call('TIME') }`;
/** Writes a document if it is still the one that was read; an empty one is none. */
const SWAP = `
if (redis.call('GET', KEYS[1]) or '') ~= ARGV[1] then return 0 end
if ARGV[2] == '' then redis.call('DEL', KEYS[1]) else redis.call('SET', KEYS[1], ARGV[2], 'PX', ARGV[3]) end
return 1`;
const KEPT_MS = 7 * 24 * 60 * 60_000;
/** Requests of one process follow one another, so that only as many compete as there are instances. */
const MOST_ATTEMPTS = 100;

const createRedisDocuments = (connection: RedisConnection): Documents => {
  const locks = createNameLocks();
  /** @throws BusyError when Redis does not answer: the client may try again */
  const run = async (
    script: string,
    key: string,
    ...words: readonly (string | number)[]
  ): Promise<unknown> => {
    const redis = await connection.get();
    try {
      return await redis.eval(script, 1, key, ...words);
    } catch (error) {
      throw new BusyError({ detail: 'Redis does not answer', cause: error });
    }
  };
  const attempt = async <Document, Result>(
    key: string,
    change: DocumentChange<Document, Result>,
  ): Promise<{ readonly result: Result } | undefined> => {
    const [text, [seconds, micros]] = (await run(READ, key)) as [string | null, [string, string]];
    const now = Number(seconds) * 1000 + Math.floor(Number(micros) / 1000);
    const read = text === null ? undefined : (JSON.parse(text) as Document);
    const [document, result] = change(read, now);
    if (document === read) return { result };
    const written = document === undefined ? '' : JSON.stringify(document);
    const isWritten = await run(SWAP, key, text ?? '', written, KEPT_MS);
    return isWritten === 1 ? { result } : undefined;
  };
  return {
    change: (name, change) => {
      const key = `${connection.prefix}:${name}`;
      return locks.hold(key, {}, async () => {
        for (let attempts = 1; attempts <= MOST_ATTEMPTS; attempts += 1) {
          const done = await attempt(key, change);
          if (done !== undefined) return done.result;
          await delay(Math.random() * Math.min(attempts, 20));
        }
        throw new BusyError({ detail: 'too many change one document in Redis' });
      });
    },
  };
};

/** State that all instances with the same Redis and prefix share. Closing it closes the connection. */
export const createRedisState = (connection: RedisConnection, log: Logger): State => {
  const queues: DurableQueue[] = [];
  return {
    documents: createRedisDocuments(connection),
    queue: (name, most) => {
      const queue = createRedisQueue(connection, name, most, log);
      queues.push(queue);
      return queue;
    },
    close: async () => {
      await Promise.all(queues.map(async (queue) => queue.close?.()));
      await connection.close();
    },
  };
};
