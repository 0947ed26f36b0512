import type { SourcePath } from '../source-path.ts';

/** The operations that a fault can hit. `commit` and `discard` are those of staged content. */
export type FaultyOperation =
  | 'stat'
  | 'list'
  | 'read'
  | 'write'
  | 'makeFolder'
  | 'removeFile'
  | 'removeFolder'
  | 'removeEmptyFolder'
  | 'copyFile'
  | 'moveFile'
  | 'copyFolder'
  | 'moveFolder'
  | 'statMany'
  | 'stage'
  | 'commit';

/** One thing that goes wrong. */
export interface Fault {
  readonly operation: FaultyOperation;
  /**
   * - `fail-before`: the operation is refused without reaching the store
   * - `fail-after`: the store has done it, and its answer is lost
   * - `stall`: the store never answers; only the operation's signal ends it
   * - `cut`: the stream breaks with an error after `bytes` (`read`: what is read; `write`, `stage`: the
   *   content on its way)
   * - `short`: the same, but the stream ends as if it were complete
   */
  readonly effect: 'fail-before' | 'fail-after' | 'stall' | 'cut' | 'short';
  /** Which of the calls that match goes wrong, counted from 1. Default: every one. */
  readonly call?: number;
  /** Only calls about this path; for copies and moves the target counts. Default: every path. */
  readonly path?: (path: SourcePath) => boolean;
  /** For `cut` and `short`. Default: 0. */
  readonly bytes?: number;
  /** What the operation or stream fails with. Default: StorageUnavailableError. */
  readonly error?: Error;
}

/** What goes wrong with one call. */
export interface PlannedFault {
  readonly effect: Fault['effect'];
  readonly bytes: number;
  readonly error: Error | undefined;
}

/** Counts calls and decides which go wrong. */
export class FaultPlan {
  readonly #faults: readonly { readonly fault: Fault; calls: number }[];

  constructor(faults: readonly Fault[]) {
    this.#faults = faults.map((fault) => ({ fault, calls: 0 }));
  }

  /** The fault that hits this call, if any. To be asked once a call: it counts. */
  next(operation: FaultyOperation, path: SourcePath | undefined): PlannedFault | undefined {
    let hit: PlannedFault | undefined;
    for (const entry of this.#faults) {
      const { fault } = entry;
      if (fault.operation !== operation) continue;
      if (fault.path !== undefined && (path === undefined || !fault.path(path))) continue;
      entry.calls += 1;
      if (fault.call === undefined || fault.call === entry.calls) {
        hit ??= { effect: fault.effect, bytes: fault.bytes ?? 0, error: fault.error };
      }
    }
    return hit;
  }
}
