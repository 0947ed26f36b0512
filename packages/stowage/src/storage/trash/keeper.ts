import { setTimeout } from 'node:timers/promises';
import { Background } from '../../basics/concurrency/abort.ts';
import type { Logger } from '../../basics/log/logger.ts';
import { BusyError, isRefusal } from '../../errors/errors.ts';
import type { StorageAdapter } from '../adapter.ts';
import type { LocationLocks } from '../location.ts';
import type { OperationOptions } from '../readable.ts';
import type { SourcePath } from '../source-path.ts';
import { createSweeper, type SweptStore } from '../sweeper.ts';
import { eraseId, isHalfErased, removeEmptied, sweepEmptied } from './erase.ts';
import { findRecord } from './record.ts';
import { timeOf, type TrashId, trashPaths } from './trash-folder.ts';
import { listIds } from './trashed.ts';

/** A removal that ends within this time is reported as done; a longer one continues in the background. */
const MOMENT_MS = 100;
const HOUR_MS = 60 * 60 * 1000;
const DAY_MS = 24 * HOUR_MS;
/** The time since the start of the process does not count days on which the machine was suspended. */
const MOST_SUSPENDED_MS = 4 * DAY_MS;

/** Limits of age and size of a trash; see the setting `trash`. */
interface TrashPolicy {
  readonly retentionDays: number;
  readonly maxBytes?: number | undefined;
}

/** Callbacks of a user of a trash. */
interface TrashUse {
  /** Keeps the store open during a sweep. Returns the function that releases it. */
  readonly hold: () => () => void;
  /** Called after a sweep that has removed something. */
  readonly onErased: () => void;
}

const isDue = ({ sweptAt, amount = 0 }: SweptStore, { maxBytes = Infinity }: TrashPolicy): boolean =>
  Date.now() - sweptAt > HOUR_MS || amount > maxBytes;

/**
 * Completes interrupted erasures, and removes items that are older than the policy allows or larger than the
 * whole trash may be, and then the oldest until the rest fits. An item that has lost its record otherwise
 * stays until it is too old: it may be the only copy, and a store may briefly fail to show an existing
 * record. Items that the store does not remove stay until the next sweep.
 * @returns the number of removed items, the bytes that are kept, and the first rejection of the store
 */
const sweepTrash = async (
  storage: StorageAdapter,
  { retentionDays, maxBytes }: TrashPolicy,
  locks: LocationLocks,
  options: OperationOptions,
): Promise<{ readonly erased: number; readonly kept: number | undefined; readonly refusal: unknown }> => {
  let refusal =
    storage.capabilities.atomicFolderMove === true ? await sweepEmptied(storage, options) : undefined;
  // A clock that is set far ahead, or had been behind, must not make all items too old.
  const latest = performance.timeOrigin + performance.now() + MOST_SUSPENDED_MS;
  const oldest = Math.min(Date.now(), latest) - retentionDays * DAY_MS;
  let [erased, kept, isFull] = [0, 0, false];
  /** Whether an item must be erased for lack of space; otherwise it is counted as kept. */
  const lacksRoom = async (id: TrashId, most: number): Promise<boolean> => {
    // After a crash a record may exist without its item, which takes no space.
    const bytes = (await findRecord(storage, id, options))?.bytes ?? 0;
    // An item larger than the whole trash must not cause all others to be erased.
    if (bytes > most) return true;
    isFull ||= kept + bytes > most;
    if (!isFull) kept += bytes;
    return isFull;
  };
  // From the newest to the oldest.
  for (const id of await listIds(storage, options)) {
    options.signal?.throwIfAborted();
    try {
      const isDue =
        timeOf(id) < oldest ||
        (await isHalfErased(storage, id, options)) ||
        (maxBytes !== undefined && (await lacksRoom(id, maxBytes)));
      if (!isDue) continue;
      const locked = [{ storage, path: trashPaths.of(id) }];
      await locks.hold(locked, { ...options, isOfFile: true }, () => eraseId(storage, id));
      erased += 1;
    } catch (error) {
      // The next sweep retries busy items.
      if (error instanceof BusyError) continue;
      if (!isRefusal(error)) throw error;
      refusal ??= error;
    }
  }
  return { erased, kept: maxBytes === undefined ? undefined : kept, refusal };
};

const orMoment = async (work: Promise<void>): Promise<void> => {
  const moment = new AbortController();
  const { signal } = moment;
  await Promise.race([work, setTimeout(MOMENT_MS, undefined, { signal }).catch(() => undefined)]);
  moment.abort();
};

/** Keeps the trash of every store within its policy, one sweep per store at a time, once it is used. */
export const createTrashKeeper = (locks: LocationLocks, log: Logger) => {
  const background = new Background();
  const sweep = createSweeper(background, (error) =>
    log.warn('The trash of a source could not be swept.', { error }),
  );
  return {
    /** Call it with every use of the trash: sweeps once an hour, and when `arrived` makes it too large. */
    tend: (storage: StorageAdapter, policy: TrashPolicy, use: TrashUse, arrived = 0): void => {
      const { hold, onErased } = use;
      const run = async (signal: AbortSignal): Promise<number | undefined> => {
        const { erased, kept, refusal } = await sweepTrash(storage, policy, locks, { signal });
        if (erased > 0) onErased();
        if (refusal !== undefined) throw refusal as Error;
        return kept;
      };
      void sweep(storage, arrived, { hold, run, isDue: (known) => isDue(known, policy) });
    },
    /**
     * Removes in the background a folder that was moved out of the trash; on failure a sweep retries.
     * Resolves when it is gone, at the latest after a tenth of a second.
     */
    remove: (storage: StorageAdapter, folder: SourcePath, hold: TrashUse['hold']): Promise<void> =>
      orMoment(
        background.run(
          hold,
          (signal) => removeEmptied(storage, folder, { signal }),
          (error) => log.warn('An emptied trash could not be removed yet.', { error }),
        ),
      ),
    /** Aborts background work and resolves when it has ended. */
    close: (): Promise<void> => background.close(),
  };
};

export type TrashKeeper = ReturnType<typeof createTrashKeeper>;
