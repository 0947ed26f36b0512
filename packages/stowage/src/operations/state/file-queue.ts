import { randomBytes } from 'node:crypto';
import { mkdir, open, readdir, readFile, rename, rm } from 'node:fs/promises';
import { join } from 'node:path';
import { orUndefined } from '../../errors/errors.ts';
import { Once } from '../../basics/concurrency/abort.ts';
import { cannotFlush, flush, writeFlushed } from '../../basics/files/system-errors.ts';

const ENTRY = /^[0-9a-z]{9}-[0-9a-z]{6}-[0-9a-f]{16}\.json$/u;
const UNFINISHED = '.unfinished';
/** After this time no process still writes an entry. */
const ABANDONED_MS = 60 * 60 * 1000;

export interface QueueEntry {
  /** Unique, also across restarts. */
  readonly id: string;
  /** Milliseconds since 1970. */
  readonly addedAt: number;
  readonly value: unknown;
}

export interface QueueState {
  readonly entries: number;
  /** Time when the oldest entry was added, in milliseconds since 1970; undefined when the queue is empty. */
  readonly oldestAt: number | undefined;
}

/** A durable queue: first in, first out, bounded. */
export interface DurableQueue {
  /** Resolves when the value would survive a power failure. @throws when the queue is full; disk errors */
  add(value: unknown): Promise<void>;
  /** The oldest readable entries, which stay until they are removed. @throws when none can be read */
  oldest(most: number): Promise<readonly QueueEntry[]>;
  /** Removes the entries that `oldest` has returned, or the first of them. */
  remove(entries: readonly QueueEntry[]): Promise<void>;
  /** Number and age of the waiting entries. @throws when they cannot be read */
  waiting(): Promise<QueueState>;
  /** Tries once more to store the entries that wait in memory. */
  close?(): Promise<void>;
}

const flushFolder = async (folder: string): Promise<void> => {
  try {
    const handle = await open(folder, 'r');
    await flush(handle).finally((): unknown => handle.close());
  } catch (error) {
    if (!cannotFlush(error)) throw error;
  }
};

const parsed = (text: string): unknown => orUndefined(() => JSON.parse(text) as unknown);

/** Empty for a missing file. Other failures may be temporary: the entry may still exist. */
const readIfThere = (path: string): Promise<string | Error> =>
  readFile(path, 'utf8').catch((error: NodeJS.ErrnoException) => (error.code === 'ENOENT' ? '' : error));

const timeOf = (name: string): number => Number.parseInt(name, 36);

const stateOf = (names: readonly string[]): QueueState => {
  const [oldest] = names;
  return { entries: names.length, oldestAt: oldest === undefined ? undefined : timeOf(oldest) };
};

/** Creates the directory of a queue if missing. Resolves with the names of its entries, oldest first. */
const openFolder = async (folder: string): Promise<string[]> => {
  await mkdir(folder, { recursive: true, mode: 0o700 });
  const names = await readdir(folder);
  for (const name of names)
    // In a rolling restart the former process may still write its last entries.
    if (name.endsWith(UNFINISHED) && timeOf(name) < Date.now() - ABANDONED_MS)
      await rm(join(folder, name), { force: true });
  return names.filter((name) => ENTRY.test(name)).sort();
};

/** Writes an entry, or leaves nothing of it: on a full disk every failed attempt would leave a file. */
const writeEntry = async (folder: string, name: string, value: unknown): Promise<void> => {
  const unfinished = join(folder, name + UNFINISHED);
  try {
    await writeFlushed(unfinished, JSON.stringify(value), 'wx');
    await rename(unfinished, join(folder, name));
  } catch (error) {
    await rm(unfinished, { force: true }).catch(() => undefined);
    throw error;
  }
  await flushFolder(folder);
};

/**
 * A queue in its own directory: a file for each entry, written under a temporary name, synced and renamed.
 * For one process at a time. Memory grows with the number of entries, about 100 bytes each.
 */
export const createFileQueue = (folder: string, most: number): DurableQueue => {
  let count = 0;
  let lastAt = 0;
  let added: Promise<void> = Promise.resolve();
  const loading = new Once<string[]>();
  const load = (): Promise<string[]> =>
    loading.get(async () => {
      const names = await openFolder(folder);
      // New entries are sorted after these, even when the clock is set back.
      lastAt = timeOf(names.at(-1) ?? '0') + 1;
      return names;
    });

  /** An entry whose file cannot be removed is not sent again before a restart. */
  const drop = async (names: string[], name: string): Promise<void> => {
    names.splice(names.indexOf(name), 1);
    await rm(join(folder, name), { force: true });
  };

  return {
    add: async (value) => {
      const names = await load();
      // The name is created before any wait, so that names have the order of the calls.
      count += 1;
      lastAt = Math.max(lastAt, Date.now());
      const time = lastAt.toString(36).padStart(9, '0');
      const number = (count % 36 ** 6).toString(36).padStart(6, '0');
      const name = `${time}-${number}-${randomBytes(8).toString('hex')}.json`;
      if (names.length >= most) throw new Error(`The queue is full: ${String(most)} entries wait.`);
      const written = writeEntry(folder, name, value);
      // An entry that is written faster must not be read before it.
      added = added
        .then(() => written)
        .then(() => void names.push(name))
        .catch(() => undefined);
      await Promise.all([written, added]);
    },
    oldest: async (mostWanted) => {
      const names = await load();
      const found: QueueEntry[] = [];
      let failure: Error | undefined;
      for (const name of [...names]) {
        if (found.length === mostWanted) break;
        const text = await readIfThere(join(folder, name));
        const value = typeof text === 'string' ? parsed(text) : undefined;
        const id = name.slice(0, -'.json'.length);
        if (value !== undefined) found.push({ id, addedAt: timeOf(name), value });
        // Later entries do not wait for it.
        else if (typeof text !== 'string') failure ??= text;
        // The entry was removed or damaged.
        else if (names.includes(name)) await drop(names, name);
      }
      if (found.length === 0 && failure !== undefined) throw failure;
      return found;
    },
    remove: async (entries) => {
      const names = await load();
      const held = entries.map(({ id }) => `${id}.json`).filter((name) => names.includes(name));
      // A file that cannot be removed keeps no other of them.
      await Promise.all(held.map((name) => drop(names, name)));
    },
    waiting: async () => stateOf(await load()),
  };
};
