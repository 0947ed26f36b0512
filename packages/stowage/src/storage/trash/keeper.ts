import { setTimeout } from 'node:timers/promises';
import { Background } from '../../basics/concurrency/background.ts';
import type { Logger } from '../../basics/log/logger.ts';
import { BusyError, isRefusal } from '../../errors/errors.ts';
import type { StorageAdapter } from '../adapter.ts';
import type { LocationLocks } from '../location.ts';
import type { OperationOptions } from '../readable.ts';
import type { SourcePath } from '../source-path.ts';
import { Sweeper, type SweptStore } from '../sweeper.ts';
import { eraseId, isHalfErased, removeEmptied, sweepEmptied } from './erase.ts';
import { findRecord } from './record.ts';
import { timeOf, type TrashId, trashPaths } from './trash-folder.ts';
import { listIds } from './trashed.ts';

/** Of what is gone by then, the client need not learn that it went later. */
const MOMENT_MS = 100;
const HOUR_MS = 60 * 60 * 1000;
const DAY_MS = 24 * HOUR_MS;

/** How long and how much a source keeps; see the setting `trash`. */
export interface TrashPolicy {
  readonly retentionDays: number;
  readonly maxBytes?: number | undefined;
}

/** Who uses the trash of a store. */
export interface TrashUse {
  /** Keeps the store open during a sweep, and returns the way to release it. */
  readonly hold: () => () => void;
  /** Called after a sweep that has removed something. */
  readonly onErased: () => void;
}

/** Keeps the trash of every store within its policy, in the background and at most once at a time each. */
export interface TrashKeeper {
  /** To be called with every use of the trash. Sweeps once an hour, and when `arrived` bytes make it too large. */
  tend(storage: StorageAdapter, policy: TrashPolicy, use: TrashUse, arrived?: number): void;
  /**
   * Removes in the background what was taken out of the trash of a store; what fails is left to a sweep. Resolves when
   * it is gone, at the latest in a moment.
   */
  remove(storage: StorageAdapter, folder: SourcePath, hold: TrashUse['hold']): Promise<void>;
  /** Aborts what runs, and resolves when it has ended. */
  close(): Promise<void>;
}

const isDue = ({ sweptAt, amount = 0 }: SweptStore, { maxBytes = Infinity }: TrashPolicy): boolean =>
  Date.now() - sweptAt > HOUR_MS || amount > maxBytes;

/** What the trash keeps of what a sweep has come to, from the newest to the oldest. */
class Room {
  readonly #storage: StorageAdapter;
  readonly #maxBytes: number | undefined;
  #kept = 0;
  #isFull = false;

  constructor(storage: StorageAdapter, maxBytes: number | undefined) {
    this.#storage = storage;
    this.#maxBytes = maxBytes;
  }

  /** Bytes; undefined where no limit asks for them. */
  get kept(): number | undefined {
    return this.#maxBytes === undefined ? undefined : this.#kept;
  }

  /** Whether an item has to go to make room; else it counts as kept. */
  async lacksFor(id: TrashId, options: OperationOptions): Promise<boolean> {
    if (this.#maxBytes === undefined) return false;
    // A crash may have left the record of what did not come, or is gone: that takes no room.
    const bytes = (await findRecord(this.#storage, id, options))?.bytes ?? 0;
    // An item that has no room in an empty trash must not empty it.
    if (bytes > this.#maxBytes) return true;
    this.#isFull ||= this.#kept + bytes > this.#maxBytes;
    if (!this.#isFull) this.#kept += bytes;
    return this.#isFull;
  }
}

/**
 * Ends what erasing has begun, and removes what is older than the policy allows, what is larger than all of
 * the trash may be, and then the oldest until the rest has room.
 * An item that has lost its record for another reason stays until it is too old: it may be the only copy, and
 * a store may fail to show a record that is there. One that the store does not remove stays until the next sweep.
 * @returns how many were removed, the bytes that are kept, and the first refusal of the store
 */
const sweepTrash = async (
  storage: StorageAdapter,
  { retentionDays, maxBytes }: TrashPolicy,
  locks: LocationLocks,
  options: OperationOptions,
): Promise<{ readonly erased: number; readonly kept: number | undefined; readonly refusal: unknown }> => {
  let refusal =
    storage.capabilities.atomicFolderMove === true ? await sweepEmptied(storage, options) : undefined;
  const oldest = Date.now() - retentionDays * DAY_MS;
  const room = new Room(storage, maxBytes);
  let erased = 0;
  for (const id of await listIds(storage, options)) {
    options.signal?.throwIfAborted();
    try {
      const isDue =
        timeOf(id) < oldest ||
        (await isHalfErased(storage, id, options)) ||
        (await room.lacksFor(id, options));
      if (!isDue) continue;
      await locks.hold([{ storage, path: trashPaths.of(id) }], options, () => eraseId(storage, id));
      erased += 1;
    } catch (error) {
      // What is busy, the next sweep finds again.
      if (error instanceof BusyError) continue;
      if (!isRefusal(error)) throw error;
      refusal ??= error;
    }
  }
  return { erased, kept: room.kept, refusal };
};

const orMoment = async (work: Promise<void>): Promise<void> => {
  const moment = new AbortController();
  const { signal } = moment;
  await Promise.race([work, setTimeout(MOMENT_MS, undefined, { signal }).catch(() => undefined)]);
  moment.abort();
};

/** Makes a keeper that has not begun anything. */
export const createTrashKeeper = (locks: LocationLocks, log: Logger): TrashKeeper => {
  const background = new Background();
  const sweeper = new Sweeper(background, (error) =>
    log.warn('The trash of a source could not be swept.', { error }),
  );
  return {
    tend: (storage, policy, { hold, onErased }, arrived = 0) => {
      const run = async (signal: AbortSignal): Promise<number | undefined> => {
        const { erased, kept, refusal } = await sweepTrash(storage, policy, locks, { signal });
        if (erased > 0) onErased();
        if (refusal !== undefined) throw refusal as Error;
        return kept;
      };
      void sweeper.tend(storage, arrived, { hold, run, isDue: (known) => isDue(known, policy) });
    },
    remove: (storage, folder, hold) =>
      orMoment(
        background.run(
          hold,
          (signal) => removeEmptied(storage, folder, { signal }),
          (error) => log.warn('An emptied trash could not be removed yet.', { error }),
        ),
      ),
    close: () => background.close(),
  };
};
