import { pipeline, Transform, type Readable } from 'node:stream';
import type { SourcePath } from '../source-path.ts';
import { StorageUnavailableError } from '../../errors/errors.ts';
import type {
  Entry,
  ListOptions,
  OperationOptions,
  PutOptions,
  ReadOptions,
  ReadResult,
  RemoveFileOptions,
  StagedFile,
  Stat,
  StorageAdapter,
  StorageCapabilities,
  WriteOptions,
} from '../adapter.ts';
import { stageContent } from '../staging.ts';

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

/** The optional operations of the port. */
export type OptionalOperation = 'copyFolder' | 'moveFolder' | 'statMany' | 'stage';

/** How a store is made to fail. */
export interface FaultOptions {
  /**
   * Optional operations that the decorated store seems not to have, so that the port's generic ones are used.
   */
  readonly hide?: readonly OptionalOperation[];
}

const failure = (fault: PlannedFault): Error =>
  fault.error ?? new StorageUnavailableError({ detail: `injected fault: ${fault.effect}` });

const untilAborted = (signal: AbortSignal | undefined): Promise<never> =>
  new Promise((_, reject) => {
    const fail = (): void => reject(signal?.reason as Error);
    if (signal?.aborted === true) fail();
    else signal?.addEventListener('abort', fail, { once: true });
  });

/**
 * The stream until `bytes`, then an error (`cut`) or an early end (`short`). Breaks the source off as well.
 */
const broken = (source: Readable, fault: PlannedFault): Readable => {
  let left = fault.bytes;
  let ended = false;
  const gate = new Transform({
    transform(chunk: Buffer, _encoding, done) {
      if (ended) return done();
      const piece = chunk.subarray(0, left);
      left -= piece.length;
      if (piece.length > 0) this.push(piece);
      if (piece.length === chunk.length) return done();
      ended = true;
      if (fault.effect === 'cut') return done(failure(fault));
      this.push(null);
      done();
    },
    flush(done) {
      // A stream that is shorter than the cut breaks at its end.
      done(fault.effect === 'cut' ? failure(fault) : null);
    },
  });
  pipeline(source, gate, () => undefined);
  return gate;
};

const isOfStream = (fault: PlannedFault | undefined): fault is PlannedFault =>
  fault?.effect === 'cut' || fault?.effect === 'short';

/** Runs an operation with its fault, if it has one. */
const run = async <T>(
  fault: PlannedFault | undefined,
  options: OperationOptions | undefined,
  operation: () => Promise<T>,
): Promise<T> => {
  if (fault?.effect === 'fail-before') throw failure(fault);
  if (fault?.effect === 'stall') return untilAborted(options?.signal);
  const result = await operation();
  if (fault?.effect === 'fail-after') throw failure(fault);
  return result;
};

/**
 * As `run`, with the content as it arrives at the store; one that is refused before is destroyed, as the
 * contract says.
 */
const takeIn = async <T>(
  fault: PlannedFault | undefined,
  content: Readable,
  options: OperationOptions | undefined,
  operation: (content: Readable) => Promise<T>,
): Promise<T> => {
  content.on('error', () => undefined);
  try {
    return await run(fault, options, () => operation(isOfStream(fault) ? broken(content, fault) : content));
  } finally {
    content.destroy();
  }
};

type Optional<Name extends OptionalOperation> = NonNullable<StorageAdapter[Name]>;

class FaultyAdapter implements StorageAdapter {
  get capabilities(): StorageCapabilities {
    const { capabilities } = this.#inner;
    const atomicFolderMove = this.moveFolder !== undefined && capabilities.atomicFolderMove;
    // What no fault can hit is not there.
    return { ...capabilities, atomicFolderMove, walk: false, temporaryUrls: false };
  }

  declare readonly copyFolder?: Optional<'copyFolder'>;
  declare readonly moveFolder?: Optional<'moveFolder'>;
  declare readonly statMany?: Optional<'statMany'>;
  declare readonly stage?: Optional<'stage'>;
  readonly #inner: StorageAdapter;
  readonly #plan: FaultPlan;

  constructor(inner: StorageAdapter, plan: FaultPlan, hidden: ReadonlySet<OptionalOperation>) {
    this.#inner = inner;
    this.#plan = plan;
    const has = (name: OptionalOperation): boolean => inner[name] !== undefined && !hidden.has(name);
    if (has('copyFolder')) this.copyFolder = this.#folderTransfer('copyFolder');
    if (has('moveFolder')) this.moveFolder = this.#folderTransfer('moveFolder');
    if (has('statMany')) {
      this.statMany = (folder, names, options) =>
        run(
          plan.next('statMany', folder),
          options,
          async () => (await inner.statMany?.(folder, names, options)) ?? [],
        );
    }
    if (has('stage')) this.stage = (content, options) => this.#stage(content, options);
  }

  stat(path: SourcePath, options?: OperationOptions): Promise<Stat> {
    return run(this.#plan.next('stat', path), options, () => this.#inner.stat(path, options));
  }

  async *list(folder: SourcePath, options?: ListOptions): AsyncGenerator<readonly Entry[], void, undefined> {
    const fault = this.#plan.next('list', folder);
    // Later than the pages: they have been told when the failure shows.
    if (fault?.effect !== 'fail-after') await run(fault, options, async () => undefined);
    yield* this.#inner.list(folder, options);
    if (fault?.effect === 'fail-after') throw failure(fault);
  }

  async read(path: SourcePath, options?: ReadOptions): Promise<ReadResult> {
    const fault = this.#plan.next('read', path);
    const result = await run(isOfStream(fault) ? undefined : fault, options, () =>
      this.#inner.read(path, options),
    );
    return isOfStream(fault) ? { stat: result.stat, stream: broken(result.stream, fault) } : result;
  }

  write(path: SourcePath, content: Readable, options?: WriteOptions): Promise<Stat> {
    return takeIn(this.#plan.next('write', path), content, options, (incoming) =>
      this.#inner.write(path, incoming, options),
    );
  }

  makeFolder(path: SourcePath, options?: OperationOptions): Promise<void> {
    return run(this.#plan.next('makeFolder', path), options, () => this.#inner.makeFolder(path, options));
  }

  removeFile(path: SourcePath, options?: RemoveFileOptions): Promise<void> {
    return run(this.#plan.next('removeFile', path), options, () => this.#inner.removeFile(path, options));
  }

  removeFolder(path: SourcePath, options?: OperationOptions): Promise<void> {
    return run(this.#plan.next('removeFolder', path), options, () => this.#inner.removeFolder(path, options));
  }

  removeEmptyFolder(path: SourcePath, options?: OperationOptions): Promise<void> {
    return run(this.#plan.next('removeEmptyFolder', path), options, () =>
      this.#inner.removeEmptyFolder(path, options),
    );
  }

  copyFile(from: SourcePath, to: SourcePath, options?: PutOptions): Promise<void> {
    return run(this.#plan.next('copyFile', to), options, () => this.#inner.copyFile(from, to, options));
  }

  moveFile(from: SourcePath, to: SourcePath, options?: PutOptions): Promise<void> {
    return run(this.#plan.next('moveFile', to), options, () => this.#inner.moveFile(from, to, options));
  }

  async close(): Promise<void> {
    await this.#inner.close?.();
  }

  #folderTransfer(name: 'copyFolder' | 'moveFolder'): Optional<'copyFolder'> {
    return (from, to, options) =>
      run(this.#plan.next(name, to), options, async () => this.#inner[name]?.(from, to, options));
  }

  async #stage(content: Readable, options: OperationOptions | undefined): Promise<StagedFile> {
    const staged = await takeIn(this.#plan.next('stage', undefined), content, options, (incoming) =>
      stageContent(this.#inner, incoming, options),
    );
    return {
      size: staged.size,
      open: () => staged.open(),
      commit: (target, given) =>
        run(this.#plan.next('commit', target), given, () => staged.commit(target, given)),
      discard: () => staged.discard(),
    };
  }
}

/**
 * A store that behaves as the given one, except where the plan makes it fail: operations that are refused, do
 * their work and lose the answer, or never answer, and streams that break or end early. For tests of what is
 * built on a store: whatever goes wrong, nothing may be lost and nothing may be left half-done.
 */
export const withFaults = (
  inner: StorageAdapter,
  faults: readonly Fault[],
  options: FaultOptions = {},
): StorageAdapter => new FaultyAdapter(inner, new FaultPlan(faults), new Set(options.hide));
