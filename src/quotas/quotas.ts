import type { StorageAdapter } from '../storage/adapter.ts';
import type { Measure } from '../storage/measure.ts';
import type { SourcePath } from '../storage/source-path.ts';
import type { KeptRoom, QuotaLimits } from './account.ts';

/** A source with a quota. */
export interface QuotaTarget {
  /** The source by its tenant and name: the same in all instances. */
  readonly key: string;
  readonly storage: StorageAdapter;
  readonly limits: QuotaLimits;
  /** Folders of this name hold what the service has made and can make again: they do not count. */
  readonly derivedName: string | undefined;
  /** Files that the service keeps for itself: they do not count. */
  readonly ignores: (path: SourcePath) => boolean;
  /** Keeps the store open during a count; returns the way to give it back. */
  readonly hold: () => () => void;
}

/**
 * Knows how much every source with a quota holds: counted by a walk at the first use, kept up to date by what
 * those do who share the state, and counted again every hour of use.
 */
export interface Quotas {
  /**
   * What the source holds, with what is about to be stored. Where `need` does not fit in, a count that is due
   * is waited for: things may have left the store.
   * @throws the failure of the count, the signal's reason; errors of the shared state
   */
  usage(target: QuotaTarget, signal: AbortSignal, need?: Measure): Promise<Measure>;
  /**
   * Takes room for as long as `work` lasts, and for good when it succeeds. What is taken is taken for
   * everybody: of two who want the last room one gets it. Room that is kept under the id `kept` is used for
   * it, and kept again when `work` fails.
   * @throws QuotaExceededError and errors of the shared state, before `work` begins; what `work` throws
   */
  withRoom<T>(
    target: QuotaTarget,
    need: Measure,
    { signal, kept }: { readonly signal: AbortSignal; readonly kept?: string | undefined },
    work: () => Promise<T>,
  ): Promise<T>;
  /**
   * Keeps room until it is released, or used by `withRoom` with the same id.
   * @throws QuotaExceededError and errors of the shared state
   */
  keep(target: QuotaTarget, id: string, need: Measure, signal: AbortSignal): Promise<KeptRoom>;
  /** Gives back what is kept under this id, if anything. Never fails. */
  release(id: string): Promise<void>;
  /** Says where the room is noted that was kept when the process began: read before anybody gets some. */
  recallFrom(noted: () => Promise<readonly KeptRoom[]>): void;
  /**
   * Takes something out of the source; the room that it took is free then. @throws what `take` throws
   */
  freeing<T>(key: string, freed: Measure, take: () => Promise<T>): Promise<T>;
  /** Gives something another path in the source. @throws what `move` throws */
  moving<T>(key: string, move: () => Promise<T>): Promise<T>;
  /** Something has left the source, and nobody knows how much: the next use counts again. Never fails. */
  forget(key: string): Promise<void>;
  /** Aborts running counts, and resolves when they have ended. */
  close(): Promise<void>;
}
