import { pipeline, Transform, type Readable } from 'node:stream';
import type { SourcePath } from '../source-path.ts';
import { orAborted } from '../../basics/concurrency/abort.ts';
import { StorageUnavailableError } from '../../errors/errors.ts';
import type { OperationOptions, StorageAdapter } from '../adapter.ts';
import { stageContent } from '../staging.ts';

/** Operations whose faults need only `run`, with the argument positions of their path and options. */
const PLAIN = {
  stat: [0, 1],
  makeFolder: [0, 1],
  removeFile: [0, 1],
  removeFolder: [0, 1],
  removeEmptyFolder: [0, 1],
  copyFile: [1, 2],
  moveFile: [1, 2],
  copyFolder: [1, 2],
  moveFolder: [1, 2],
  statMany: [0, 2],
} as const;

type PlainOperation = keyof typeof PLAIN;

/** The operations that a fault can affect. `commit` is that of staged content. */
export type FaultyOperation = PlainOperation | 'list' | 'read' | 'write' | 'stage' | 'commit';

/** One injected fault. */
export interface Fault {
  readonly operation: FaultyOperation;
  /**
   * - `fail-before`: the operation is rejected before it reaches the store
   * - `fail-after`: the store has done it, and its response is lost
   * - `stall`: the store never responds; only the operation's signal ends it
   * - `cut`: the stream fails with an error after `bytes` (`read`: the content read; `write`, `stage`: the
   *   content being stored)
   * - `short`: the same, but the stream ends as if it were complete
   */
  readonly effect: 'fail-before' | 'fail-after' | 'stall' | 'cut' | 'short';
  /** The matching call that fails, counted from 1. Default: every one. */
  readonly call?: number;
  /** Only calls for this path; for copies and moves the target's. Default: every path. */
  readonly path?: (path: SourcePath) => boolean;
  /** For `cut` and `short`. Default: 0. */
  readonly bytes?: number;
  /** Error of the operation or stream. Default: StorageUnavailableError. */
  readonly error?: Error;
}

/** Decides which calls fail. Call it once per operation, because it counts. */
type FaultPlan = (operation: FaultyOperation, path: SourcePath | undefined) => Fault | undefined;

const planOf = (faults: readonly Fault[]): FaultPlan => {
  const counted = faults.map((fault) => ({ fault, calls: 0 }));
  return (operation, path) => {
    const matching = counted.filter(
      ({ fault }) =>
        fault.operation === operation &&
        (fault.path === undefined || (path !== undefined && fault.path(path))),
    );
    for (const entry of matching) entry.calls += 1;
    return matching.find(({ fault, calls }) => fault.call === undefined || fault.call === calls)?.fault;
  };
};

/** The optional operations of the port that can be hidden. */
export type OptionalOperation = 'copyFolder' | 'moveFolder' | 'statMany' | 'stage';

export interface FaultOptions {
  /** Optional operations that the wrapped store hides, so that the port's generic ones are used. */
  readonly hide?: readonly OptionalOperation[];
}

const failure = (fault: Fault): Error =>
  fault.error ?? new StorageUnavailableError({ detail: `injected fault: ${fault.effect}` });

/** The stream up to `bytes`, then an error (`cut`) or an early end (`short`). Closes the source too. */
const broken = (source: Readable, fault: Fault): Readable => {
  let left = fault.bytes ?? 0;
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
      // A stream that is shorter than the cut fails at its end.
      done(fault.effect === 'cut' ? failure(fault) : null);
    },
  });
  pipeline(source, gate, () => undefined);
  return gate;
};

const isOfStream = (fault: Fault | undefined): fault is Fault =>
  fault?.effect === 'cut' || fault?.effect === 'short';

/** Runs an operation with its fault, if it has one. */
const run = async <T>(
  fault: Fault | undefined,
  options: OperationOptions | undefined,
  operation: () => Promise<T>,
): Promise<T> => {
  if (fault?.effect === 'fail-before') throw failure(fault);
  if (fault?.effect === 'stall') return orAborted(new Promise<never>(() => undefined), options?.signal);
  const result = await operation();
  if (fault?.effect === 'fail-after') throw failure(fault);
  return result;
};

/** As `run`, with the content as it arrives at the store. Always destroys it. */
const takeIn = async <T>(
  fault: Fault | undefined,
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

type Operation = (...given: readonly unknown[]) => Promise<unknown>;

const plainOperations = (inner: StorageAdapter, plan: FaultPlan, hidden: readonly OptionalOperation[]) => {
  const names = (Object.keys(PLAIN) as PlainOperation[]).filter(
    (name) => inner[name] !== undefined && !hidden.some((other) => other === name),
  );
  const operations = names.map((name): readonly [string, Operation] => {
    const [path, options] = PLAIN[name];
    const operation = inner[name]?.bind(inner) as Operation;
    return [
      name,
      (...given) =>
        run(plan(name, given[path] as SourcePath), given[options] as OperationOptions | undefined, () =>
          operation(...given),
        ),
    ];
  });
  return Object.fromEntries(operations) as unknown as Pick<StorageAdapter, PlainOperation>;
};

const stageWith =
  (inner: StorageAdapter, plan: FaultPlan): NonNullable<StorageAdapter['stage']> =>
  async (content, options) => {
    const staged = await takeIn(plan('stage', undefined), content, options, (incoming) =>
      stageContent(inner, incoming, options),
    );
    return {
      size: staged.size,
      open: () => staged.open(),
      commit: (target, given) => run(plan('commit', target), given, () => staged.commit(target, given)),
      discard: () => staged.discard(),
    };
  };

/**
 * Wraps a store and injects faults: operations that are rejected, lose their response, or never respond, and
 * streams that fail or end early. For tests of code that uses a store: whatever fails, nothing may be lost or
 * left half-done.
 */
export const withFaults = (
  inner: StorageAdapter,
  faults: readonly Fault[],
  { hide = [] }: FaultOptions = {},
): StorageAdapter => {
  const plan = planOf(faults);
  const plain = plainOperations(inner, plan, hide);
  return {
    ...plain,
    ...(inner.stage === undefined || hide.includes('stage') ? {} : { stage: stageWith(inner, plan) }),
    get capabilities() {
      const atomicFolderMove = plain.moveFolder !== undefined && inner.capabilities.atomicFolderMove;
      // Operations that faults cannot affect are hidden.
      return { ...inner.capabilities, atomicFolderMove, walk: false, temporaryUrls: false };
    },
    async *list(folder, options) {
      const fault = plan('list', folder);
      // Fails after the pages: the caller has received them by then.
      if (fault?.effect !== 'fail-after') await run(fault, options, async () => undefined);
      yield* inner.list(folder, options);
      if (fault?.effect === 'fail-after') throw failure(fault);
    },
    async read(path, options) {
      const fault = plan('read', path);
      const result = await run(isOfStream(fault) ? undefined : fault, options, () =>
        inner.read(path, options),
      );
      return isOfStream(fault) ? { stat: result.stat, stream: broken(result.stream, fault) } : result;
    },
    write: (path, content, options) =>
      takeIn(plan('write', path), content, options, (incoming) => inner.write(path, incoming, options)),
    close: async () => inner.close?.(),
  };
};
