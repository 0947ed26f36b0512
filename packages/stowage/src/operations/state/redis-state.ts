import { randomUUID } from 'node:crypto';
import { setTimeout as delay } from 'node:timers/promises';
import type { Logger } from '../../basics/log/logger.ts';
import type { DurableQueue, QueueEntry, QueueState } from './file-queue.ts';
import { BusyError, orUndefined } from '../../errors/errors.ts';
import type { RedisConnection } from './redis-connection.ts';
import type { RecordChange, Records, State } from './state.ts';

/** Adds the entries that there is room for; returns their number. An unused queue expires. */
const ADD = `
local room = tonumber(ARGV[1]) - redis.call('LLEN', KEYS[1])
local added = math.max(0, math.min(room, #ARGV - 2))
for number = 3, 2 + added do redis.call('RPUSH', KEYS[1], ARGV[number]) end
redis.call('PEXPIRE', KEYS[1], ARGV[2])
return added`;
/** Of two instances that have sent the first entries, one removes them. */
const REMOVE = `
for _, text in ipairs(ARGV) do
  if redis.call('LINDEX', KEYS[1], 0) == text then redis.call('LPOP', KEYS[1]) end
end`;
const RETRY_MS = 1000;
/** After the last change; longer than an event may wait. */
const KEPT_MS = 7 * 24 * 60 * 60_000;
/** Entries that are sent together, as after an outage. */
const SENT_AT_ONCE = 100;

interface Leaving {
  readonly text: string;
  /** Reports to `add` whether the queue is full. Undefined after `add` has returned. */
  settle: ((isRefused: boolean) => void) | undefined;
}

const parsed = (text: string): QueueEntry | undefined => orUndefined(() => JSON.parse(text) as QueueEntry);

/**
 * A queue that instances share. While Redis cannot be reached, new entries wait in the memory of this
 * process, up to the same number, and are added later in order. A close logs how many are lost with it.
 */
export class RedisQueue implements DurableQueue {
  readonly #connection: RedisConnection;
  readonly #key: string;
  readonly #most: number;
  readonly #log: Logger;
  readonly #leaving: Leaving[] = [];
  #going: Promise<void> | undefined;
  #retry: NodeJS.Timeout | undefined;
  #isCutOff = false;
  /** Texts of the entries that were returned last, by id. */
  #texts: ReadonlyMap<string, string> = new Map();

  constructor(connection: RedisConnection, name: string, most: number, log: Logger) {
    this.#connection = connection;
    this.#key = `${connection.prefix}:queue:${name}`;
    this.#most = most;
    this.#log = log;
  }

  async add(value: unknown): Promise<void> {
    const text = JSON.stringify({ id: randomUUID(), addedAt: Date.now(), value });
    const isRefused =
      this.#leaving.length >= this.#most ||
      (await new Promise<boolean>((settle) => {
        this.#leaving.push({ text, settle });
        void this.#flush();
      }));
    if (isRefused) throw new Error(`The queue is full: ${String(this.#most)} entries wait.`);
  }

  async oldest(most: number): Promise<readonly QueueEntry[]> {
    const redis = await this.#connection.get();
    for (;;) {
      const texts = await redis.lrange(this.#key, 0, most - 1);
      const entries = texts.map(parsed);
      const damaged = entries.indexOf(undefined);
      if (damaged === 0) await redis.eval(REMOVE, 1, this.#key, texts[0] ?? '');
      if (damaged === 0) continue;
      const found = entries.slice(0, damaged === -1 ? most : damaged).filter((entry) => entry !== undefined);
      this.#texts = new Map(found.map(({ id }, index) => [id, texts[index] ?? '']));
      return found;
    }
  }

  async remove(entries: readonly QueueEntry[]): Promise<void> {
    const texts = entries.map(({ id }) => this.#texts.get(id)).filter((text) => text !== undefined);
    if (texts.length > 0) await (await this.#connection.get()).eval(REMOVE, 1, this.#key, ...texts);
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
      while (this.#leaving.length > 0) {
        const texts = this.#leaving.slice(0, SENT_AT_ONCE).map(({ text }) => text);
        const taken = Number(await redis.eval(ADD, 1, this.#key, this.#most, KEPT_MS, ...texts));
        const sent = this.#leaving.splice(0, texts.length);
        for (const [index, { settle }] of sent.entries()) settle?.(index >= taken);
        const lost = sent.slice(taken).filter(({ settle }) => settle === undefined).length;
        if (lost > 0) this.#log.error('Events are lost: their queue in Redis is full.', { lost });
      }
      this.#isCutOff = false;
    } catch (error) {
      if (!this.#isCutOff) this.#log.warn('Events wait in memory: Redis does not take them.', { error });
      this.#isCutOff = true;
      // The entries wait in memory; the requests that added them continue.
      for (const entry of this.#leaving) {
        entry.settle?.(false);
        entry.settle = undefined;
      }
      this.#retry = setTimeout(() => void this.#flush(), RETRY_MS).unref();
    } finally {
      // No await is allowed between the last check of waiting entries and this line.
      this.#going = undefined;
    }
  }
}

/** A record and the time by the clock of Redis, because clocks of instances may differ. */
const READ = `return { redis.call('GET', KEYS[1]), redis.call('TIME') }`;
/** Writes a record if it is unchanged since it was read; an empty text stands for no record. */
const SWAP = `
if (redis.call('GET', KEYS[1]) or '') ~= ARGV[1] then return 0 end
if ARGV[2] == '' then redis.call('DEL', KEYS[1]) else redis.call('SET', KEYS[1], ARGV[2], 'PX', ARGV[3]) end
return 1`;
/** Of one process only one step for a record runs at a time, so that only one per instance competes. */
const MOST_ATTEMPTS = 100;

/** A change that waits for the step that makes it. */
interface Waiting {
  /** Returns the record after the change, and the function that reports the result. */
  readonly make: (record: unknown, now: number) => readonly [unknown, () => void];
  readonly reject: (error: unknown) => void;
}

class RedisRecords implements Records {
  readonly #connection: RedisConnection;
  /** The changes behind the running step, by key: the next step makes all of them. */
  readonly #waiting = new Map<string, Waiting[]>();

  constructor(connection: RedisConnection) {
    this.#connection = connection;
  }

  change<Value, Result>(name: string, change: RecordChange<Value, Result>): Promise<Result> {
    return new Promise((resolve, reject) => {
      const key = `${this.#connection.prefix}:${name}`;
      const make: Waiting['make'] = (record, now) => {
        // A damaged record is replaced.
        const [next, result] =
          orUndefined(() => change(record as Value | undefined, now)) ?? change(undefined, now);
        return [next, () => resolve(result)];
      };
      const others = this.#waiting.get(key);
      if (others === undefined) void this.#work(key, [{ make, reject }]);
      else others.push({ make, reject });
    });
  }

  async #work(key: string, first: readonly Waiting[]): Promise<void> {
    for (let changes = first; changes.length > 0; changes = this.#waiting.get(key) ?? []) {
      this.#waiting.set(key, []);
      await this.#step(key, changes);
    }
    this.#waiting.delete(key);
  }

  async #step(key: string, changes: readonly Waiting[]): Promise<void> {
    try {
      for (let attempts = 1; attempts <= MOST_ATTEMPTS; attempts += 1) {
        const reports = await this.#attempt(key, changes);
        if (reports !== undefined) return reports.forEach((report) => report());
        await delay(Math.random() * Math.min(attempts, 20));
      }
      throw new BusyError({ detail: 'too many change one record in Redis' });
    } catch (error) {
      // What waited behind a failed step fails too, without a timeout of its own.
      for (const { reject } of [...changes, ...(this.#waiting.get(key)?.splice(0) ?? [])]) reject(error);
    }
  }

  /** Undefined when another instance was faster. */
  async #attempt(key: string, changes: readonly Waiting[]): Promise<(() => void)[] | undefined> {
    const [text, [seconds, micros]] = (await this.#run(READ, key)) as [string | null, [string, string]];
    const now = Number(seconds) * 1000 + Math.floor(Number(micros) / 1000);
    const read = orUndefined(() => JSON.parse(text ?? '') as unknown);
    let record = read;
    const reports = changes.map(({ make }) => {
      const [next, report] = make(record, now);
      record = next;
      return report;
    });
    if (record === read) return reports;
    const written = record === undefined ? '' : JSON.stringify(record);
    return (await this.#run(SWAP, key, text ?? '', written, KEPT_MS)) === 1 ? reports : undefined;
  }

  /** @throws BusyError when Redis does not respond: the client may retry */
  async #run(script: string, key: string, ...words: readonly (string | number)[]): Promise<unknown> {
    const redis = await this.#connection.get();
    try {
      return await redis.eval(script, 1, key, ...words);
    } catch (error) {
      throw new BusyError({ detail: 'Redis does not respond', cause: error });
    }
  }
}

/** State that all instances with the same Redis and prefix share. Closing it closes the connection. */
export const createRedisState = (connection: RedisConnection, log: Logger): State => {
  const queues: DurableQueue[] = [];
  return {
    records: new RedisRecords(connection),
    queue: (name, most) => {
      const queue = new RedisQueue(connection, name, most, log);
      queues.push(queue);
      return queue;
    },
    close: async () => {
      await Promise.all(queues.map(async (queue) => queue.close?.()));
      await connection.close();
    },
  };
};
