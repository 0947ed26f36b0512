import { setTimeout } from 'node:timers/promises';
import type { Logger } from '../../basics/log/logger.ts';
import type { StorageAdapter } from '../adapter.ts';
import type { LocationLocks } from '../location.ts';
import type { SourcePath } from '../source-path.ts';
import { removeEmptied } from './erase.ts';
import { sweepTrash, type TrashPolicy } from './sweep.ts';

/** Of what is gone by then, the client need not learn that it went later. */
const MOMENT_MS = 100;
const HOUR_MS = 60 * 60 * 1000;

/** What is known of the trash of one store. Forgetting it costs another sweep. */
interface Knowledge {
  sweptAt: number;
  /** Bytes in the trash; undefined while they are not needed. */
  bytes: number | undefined;
  /** Bytes that have come since the running sweep has begun. */
  arrived: number;
  isSweeping: boolean;
}

/** Who uses the trash of a store. */
export interface TrashUse {
  /** Keeps the store open during a sweep, and returns the way to give it back. */
  readonly hold: () => () => void;
  /** Hears of a sweep that has removed something. */
  readonly onErased: () => void;
}

/** Keeps the trash of every store within its policy, in the background and at most once at a time each. */
export interface TrashKeeper {
  /** To be called with every use of the trash. Sweeps once an hour, and when `arrived` makes it too large. */
  tend(storage: StorageAdapter, policy: TrashPolicy, use: TrashUse, arrived?: number): void;
  /**
   * Removes in the background what was taken out of the trash of a store; what fails is left to a sweep. Resolves when
   * it is gone, at the latest in a moment.
   */
  remove(storage: StorageAdapter, folder: SourcePath, hold: TrashUse['hold']): Promise<void>;
  /** Aborts what runs, and resolves when it has ended. */
  close(): Promise<void>;
}

const isDue = ({ sweptAt, bytes }: Knowledge, { maxBytes }: TrashPolicy): boolean =>
  Date.now() - sweptAt > HOUR_MS || (maxBytes !== undefined && bytes !== undefined && bytes > maxBytes);

const orMoment = async (work: Promise<void>): Promise<void> => {
  const moment = new AbortController();
  const { signal } = moment;
  await Promise.race([work, setTimeout(MOMENT_MS, undefined, { signal }).catch(() => undefined)]);
  moment.abort();
};

/** Makes a keeper that has not begun anything. */
export const createTrashKeeper = (locks: LocationLocks, log: Logger): TrashKeeper => {
  const known = new WeakMap<StorageAdapter, Knowledge>();
  const running = new Set<Promise<void>>();
  const closing = new AbortController();

  const sweep = async (
    storage: StorageAdapter,
    policy: TrashPolicy,
    knowledge: Knowledge,
    onErased: () => void,
  ): Promise<void> => {
    knowledge.isSweeping = true;
    try {
      while (isDue(knowledge, policy)) {
        knowledge.sweptAt = Date.now();
        knowledge.arrived = 0;
        // Unknown when it fails: then the next sweep is due in an hour.
        knowledge.bytes = undefined;
        const { erased, kept } = await sweepTrash(storage, policy, locks, { signal: closing.signal });
        if (erased > 0) onErased();
        // Items that have come meanwhile may be counted twice: that costs a sweep, which counts again.
        if (kept !== undefined) knowledge.bytes = kept + knowledge.arrived;
      }
    } catch (error) {
      if (!closing.signal.aborted) log.warn('The trash of a source could not be swept.', { error });
    } finally {
      knowledge.isSweeping = false;
    }
  };

  const run = (hold: TrashUse['hold'], begin: () => Promise<void>): Promise<void> => {
    const release = hold();
    const work = begin().finally(() => {
      running.delete(work);
      release();
    });
    running.add(work);
    return work;
  };

  return {
    tend: (storage, policy, { hold, onErased }, arrived = 0) => {
      const knowledge = known.get(storage) ?? { sweptAt: 0, bytes: undefined, arrived: 0, isSweeping: false };
      known.set(storage, knowledge);
      knowledge.arrived += arrived;
      if (knowledge.bytes !== undefined) knowledge.bytes += arrived;
      if (closing.signal.aborted || knowledge.isSweeping || !isDue(knowledge, policy)) return;
      void run(hold, () => sweep(storage, policy, knowledge, onErased));
    },
    remove: async (storage, folder, hold) => {
      const removal = run(hold, () =>
        removeEmptied(storage, folder, closing).catch((error: unknown) => {
          if (!closing.signal.aborted) log.warn('An emptied trash could not be removed yet.', { error });
        }),
      );
      await orMoment(removal);
    },
    close: async () => {
      closing.abort();
      await Promise.all(running);
    },
  };
};
