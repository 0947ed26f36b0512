import { randomUUID } from 'node:crypto';
import type { Logger } from '../../basics/log/logger.ts';
import type { DurableQueue, QueueEntry, QueueState } from './file-queue.ts';
import type { RedisConnection } from './redis-connection.ts';

const ADD = `
if redis.call('LLEN', KEYS[1]) >= tonumber(ARGV[1]) then return 0 end
redis.call('RPUSH', KEYS[1], ARGV[2])
return 1`;
/** Of two who have sent the first entry, one removes it. */
const REMOVE = `
if redis.call('LINDEX', KEYS[1], 0) == ARGV[1] then redis.call('LPOP', KEYS[1]) end`;
const RETRY_MS = 1000;

/** An entry on its way. */
interface Leaving {
  readonly text: string;
  isRefused: boolean;
}

const parsed = (text: string): QueueEntry | undefined => {
  try {
    return JSON.parse(text) as QueueEntry;
  } catch {
    return undefined;
  }
};

class RedisQueue implements DurableQueue {
  readonly #connection: RedisConnection;
  readonly #key: string;
  readonly #most: number;
  readonly #log: Logger;
  readonly #leaving: Leaving[] = [];
  #going: Promise<void> | undefined;
  #retry: NodeJS.Timeout | undefined;
  #isCutOff = false;
  #head: { readonly id: string; readonly text: string } | undefined;

  constructor(connection: RedisConnection, name: string, most: number, log: Logger) {
    this.#connection = connection;
    this.#key = `${connection.prefix}:queue:${name}`;
    this.#most = most;
    this.#log = log;
  }

  async add(value: unknown): Promise<void> {
    const text = JSON.stringify({ id: randomUUID(), addedAt: Date.now(), value });
    const entry: Leaving = { text, isRefused: this.#leaving.length >= this.#most };
    if (!entry.isRefused) {
      this.#leaving.push(entry);
      await this.#flush();
    }
    if (entry.isRefused) throw new Error(`The queue is full: ${String(this.#most)} entries wait.`);
  }

  async first(): Promise<QueueEntry | undefined> {
    const redis = await this.#connection.get();
    for (let text = await redis.lindex(this.#key, 0); text !== null;) {
      const entry = parsed(text);
      if (entry !== undefined) {
        this.#head = { id: entry.id, text };
        return entry;
      }
      // It is damaged.
      await redis.eval(REMOVE, 1, this.#key, text);
      text = await redis.lindex(this.#key, 0);
    }
    return undefined;
  }

  async remove(id: string): Promise<void> {
    if (this.#head?.id !== id) return;
    await (await this.#connection.get()).eval(REMOVE, 1, this.#key, this.#head.text);
  }

  async waiting(): Promise<QueueState> {
    const redis = await this.#connection.get();
    const [entries, text] = await Promise.all([redis.llen(this.#key), redis.lindex(this.#key, 0)]);
    const oldest = parsed(text ?? this.#leaving[0]?.text ?? '');
    return { entries: entries + this.#leaving.length, oldestAt: oldest?.addedAt };
  }

  async close(): Promise<void> {
    await this.#flush();
    clearTimeout(this.#retry);
    const lost = this.#leaving.length;
    if (lost > 0) this.#log.error('Events are lost: Redis does not take them.', { lost });
  }

  #flush(): Promise<void> {
    return (this.#going ??= this.#send());
  }

  async #send(): Promise<void> {
    clearTimeout(this.#retry);
    try {
      const redis = await this.#connection.get();
      for (let [entry] = this.#leaving; entry !== undefined; [entry] = this.#leaving) {
        entry.isRefused = (await redis.eval(ADD, 1, this.#key, this.#most, entry.text)) === 0;
        this.#leaving.shift();
      }
      this.#isCutOff = false;
    } catch (error) {
      if (!this.#isCutOff) this.#log.warn('Events wait in memory: Redis does not take them.', { error });
      this.#isCutOff = true;
      this.#retry = setTimeout(() => void this.#flush(), RETRY_MS).unref();
    } finally {
      // Nothing may be awaited between the last look at what leaves and this.
      this.#going = undefined;
    }
  }
}

/**
 * A queue that instances share. While Redis cannot be reached, what is added waits in the memory of this
 * process, up to the same number, and goes on in its order: it may get lost with the process then, and the
 * log says so.
 */
export const createRedisQueue = (
  connection: RedisConnection,
  name: string,
  most: number,
  log: Logger,
): DurableQueue => new RedisQueue(connection, name, most, log);
