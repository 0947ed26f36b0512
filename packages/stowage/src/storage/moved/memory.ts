import { createNameLocks } from '../../basics/concurrency/name-locks.ts';
import type { Logger } from '../../basics/log/logger.ts';
import { AlreadyExistsError, ChangedMeanwhileError } from '../../errors/errors.ts';
import { writeKept } from '../kept-text.ts';
import type { SourcePath } from '../source-path.ts';
import {
  movedPaths,
  readHistory,
  writtenHistory,
  type NameEvent,
  type NameHistory,
  type ReadHistory,
} from './name-events.ts';
import { MovedKeeper, type MemoryUse } from './keeper.ts';

export type { MemoryUse } from './keeper.ts';

/** How often a record is read again that another instance has written meanwhile. */
const MOST_TRIES = 4;

/** A name with what has happened to it. */
export interface Noted {
  readonly use: MemoryUse;
  readonly path: SourcePath;
  /** The history with what has happened now. `at` is later than all that is in the histories of the names. */
  readonly change: (history: NameHistory, at: number) => readonly NameEvent[];
}

/** What sources remember of names. */
export interface NameMemory {
  /**
   * Writes down what has happened to some names at once. Each costs a look and a write; where the source remembers
   * more than it may, the oldest are removed afterwards.
   * @throws errors of the stores
   */
  note(names: readonly Noted[]): Promise<void>;
  /** Aborts what runs by itself, and resolves when it has ended. */
  close(): Promise<void>;
}

const lastOf = ({ events }: NameHistory): number => events.at(-1)?.at ?? 0;

/** Makes a memory that has not begun anything. */
export const createNameMemory = (log: Logger): NameMemory => {
  const keeper = new MovedKeeper(log);
  const locks = createNameLocks();
  let latest = 0;
  /** No two events of this process have one time. */
  const now = (): number => (latest = Math.max(Date.now(), latest + 1));

  const noteOne = async ({ use, path, change }: Noted, read: ReadHistory, at: number): Promise<void> => {
    const { store } = use;
    let history = read;
    for (let tries = 1; ; tries += 1) {
      const { since, version } = history;
      try {
        const bytes = writtenHistory(path, { events: change(history, at), since });
        await writeKept(store, movedPaths.record(store, path), bytes, version);
        break;
      } catch (error) {
        const isOutrun = error instanceof ChangedMeanwhileError || error instanceof AlreadyExistsError;
        if (!isOutrun || tries === MOST_TRIES) throw error;
        history = await readHistory(store, path, {});
      }
    }
    await keeper.written(use, history.version === undefined);
  };

  const noteAll = async (names: readonly Noted[]): Promise<void> => {
    const histories = await Promise.all(names.map(({ use, path }) => readHistory(use.store, path, {})));
    const at = Math.max(now(), ...histories.map((history) => lastOf(history) + 1));
    const outcomes = await Promise.allSettled(
      histories.map(async (history, index) => {
        const name = names[index];
        if (name !== undefined) await noteOne(name, history, at);
      }),
    );
    for (const outcome of outcomes) if (outcome.status === 'rejected') throw outcome.reason;
  };

  return {
    note: (names) => {
      // A holder of one name waits only for later ones: no two wait for each other.
      const keys = [...new Set(names.map(({ use, path }) => movedPaths.record(use.store, path).name))].sort();
      return keys.reduceRight<() => Promise<void>>(
        (work, key) => () => locks.hold(key, {}, work),
        () => noteAll(names),
      )();
    },
    close: () => keeper.close(),
  };
};
