import { setMaxListeners } from 'node:events';
import * as z from 'zod';
import { inTimeLimit, orAborted, TimeLimit } from '../../basics/concurrency/abort.ts';
import { NotFoundError, StorageTimeoutError, StowageError, WrongKindError } from '../../errors/errors.ts';
import type { Source } from '../../sources/source.ts';
import type { SourcePath } from '../../storage/source-path.ts';
import { missing } from '../../view/folder-view.ts';
import type { SourceView } from '../../view/source-view.ts';
import type { ActionContext } from '../action.ts';

export const sourceHeaderShape = {
  name: z.string(),
  title: z.string(),
  baseurl: z.string(),
  path: z
    .string()
    .describe('The listed folder relative to the root, without a leading slash; `/` at the root.'),
};

export const sourceHeader = (
  { name, title, baseurl }: Source,
  folder: SourcePath,
): z.output<z.ZodObject<typeof sourceHeaderShape>> => ({
  name,
  title,
  baseurl,
  path: folder.toString() || '/',
});

/** Sources that are read concurrently. */
const AT_ONCE = 4;
/** Time until the next source starts; then the limit of the check that the store responds. */
const PATIENCE_MS = 3000;

/** The key by which slots of expensive work are shared: the source of the work, or the first of several. */
export const turnOf = (source: Source | undefined): string => JSON.stringify([source?.tenant, source?.name]);

export interface SourceListing<Result> {
  readonly key: string;
  /** Name of the one source to list; undefined for all. */
  readonly source: string | undefined;
  readonly path: SourcePath;
  readonly read: (view: SourceView, signal: AbortSignal) => Promise<Result>;
}

export const listingMessages = z
  .array(z.string())
  .optional()
  .describe('A sentence for each source that cannot be reached and is omitted.');

/** Whether the store caused the error: it cannot be read now, and the requested item may exist there. */
export const isOfStore = (error: unknown): boolean => !(error instanceof StowageError) || error.status >= 500;

/** Sources that are left out of a response because their stores fail. */
export const createLeftOut = (
  { log }: ActionContext,
  what: 'listing' | 'search',
  sources: readonly Source[],
) => {
  const failures = new Map<Source, unknown>();
  return {
    /** @throws the error, unless the store caused it */
    add: (source: Source, error: unknown): void => {
      if (!isOfStore(error)) throw error;
      failures.set(source, error);
    },
    /** @throws the failure of the first source when all of them have failed */
    requireAny: (): void => {
      const [first] = sources;
      if (first !== undefined && failures.size === sources.length) throw failures.get(first);
    },
    /** A message for each of them, in the order of the sources; undefined without any. Logs the causes. */
    messages: (): readonly string[] | undefined => {
      const left = sources.filter((source) => failures.has(source));
      for (const source of left)
        log.warn(`A ${what} leaves out a source whose store failed.`, {
          source: source.name,
          error: failures.get(source),
        });
      return left.length === 0
        ? undefined
        : left.map(({ title, name }) => `The source "${title || name}" cannot be reached now.`);
    },
  };
};

export type LeftOut = ReturnType<typeof createLeftOut>;

const listOne = async <Result>(
  context: ActionContext,
  source: Source,
  { key, path, read }: SourceListing<Result>,
  signal: AbortSignal,
): Promise<Result> => {
  const view = await context.views.of(source, { signal });
  view.require(key, path, 'folder');
  try {
    return await read(view, signal);
  } catch (error) {
    // A path that is a file, or leads through one, is reported as a missing folder.
    if (error instanceof NotFoundError || error instanceof WrongKindError) throw missing('folder', error);
    throw error;
  }
};

/** Checks that the store of a source responds, with one request. @throws StorageTimeoutError */
const requireReachable = async (context: Asking, source: Source): Promise<void> => {
  const ask = async (limited: AbortSignal): Promise<void> => {
    const view = await orAborted(context.views.of(source, { signal: limited }), limited);
    await orAborted(view.requireReachable(), limited);
  };
  const silent = (): Error => new StorageTimeoutError({ detail: 'the store keeps silent' });
  await inTimeLimit(PATIENCE_MS, context.signal, ask, silent);
};

/** Whether `running` ends within three seconds. @throws its failure until then, the signal's reason */
const endsSoon = async (running: Promise<unknown>, signal: AbortSignal): Promise<boolean> => {
  const patience = new TimeLimit(PATIENCE_MS, signal);
  try {
    await orAborted(running, patience.signal);
    return true;
  } catch (error) {
    if (!patience.isOver) throw error;
    return false;
  } finally {
    patience.dispose();
  }
};

type Asking = Pick<ActionContext, 'views' | 'signal'>;

/**
 * Runs work that reads the store of one of several sources. When it takes long, and `others` has resolved
 * because another source has responded, the store is checked; if it does not respond either, the work is
 * aborted, so that the other sources need not wait.
 * @throws errors of `work`; StorageTimeoutError, any error of the store
 */
export const readOneOf = async <Result>(
  sources: readonly Source[],
  source: Source,
  context: Asking,
  work: (signal: AbortSignal) => Promise<Result>,
  others: Promise<void> = Promise.resolve(),
): Promise<Result> => {
  // Some stores ignore the signal.
  if (sources.length === 1) return orAborted(work(context.signal), context.signal);
  const leaving = new AbortController();
  const signal = AbortSignal.any([context.signal, leaving.signal]);
  // Every read and every awaited thumbnail adds a listener; their number is limited elsewhere.
  setMaxListeners(0, signal);
  const running = work(signal);
  // The failure is handled where the promise is awaited.
  running.catch(() => undefined);
  if (await endsSoon(running, context.signal)) return running;
  const asking = others
    .then(() => requireReachable(context, source))
    .then(
      () => running,
      (error: unknown) => {
        leaving.abort(error);
        throw error;
      },
    );
  return orAborted(Promise.race([running, asking]), context.signal);
};

/**
 * Lists a folder in the named source, else in every source, a few at a time, and returns the results in the
 * order of the sources. A source whose store fails, or does not respond while others do, is left out with a
 * message, unless all of them fail. Every other failure, such as a folder that is missing in one source,
 * rejects and aborts the other listings.
 * @throws NotFoundError, AccessDeniedError, UnknownSourceError, the first error of the stores where all fail
 */
export const listSources = async <Result>(
  context: ActionContext,
  listing: SourceListing<Result>,
): Promise<{ readonly sources: readonly Result[]; readonly messages?: readonly string[] }> => {
  const { views } = context;
  const sources = views.named(listing.source);
  const [only] = sources;
  // Nothing else to wait for or to abort. Some stores ignore the signal.
  if (only !== undefined && sources.length === 1)
    return {
      sources: [await orAborted(listOne(context, only, listing, context.signal), context.signal)],
    };
  const failed = new AbortController();
  const signal = AbortSignal.any([context.signal, failed.signal]);
  setMaxListeners(0, signal);
  const leftOut = createLeftOut(context, 'listing', sources);
  const results = new Map<Source, Result>();
  let markResponded = (): void => undefined;
  const responded = new Promise<void>((resolve) => (markResponded = resolve));
  const list = async (source: Source): Promise<void> => {
    try {
      const read = (limited: AbortSignal): Promise<Result> => listOne(context, source, listing, limited);
      results.set(source, await readOneOf(sources, source, { views, signal }, read, responded));
      markResponded();
    } catch (error) {
      signal.throwIfAborted();
      leftOut.add(source, error);
    }
  };
  const begun: Promise<void>[] = [];
  const remaining = sources.values();
  const work = async (): Promise<void> => {
    for (const source of remaining) {
      signal.throwIfAborted();
      const listed = list(source);
      // The failure is handled where the promise is awaited.
      listed.catch(() => undefined);
      begun.push(listed);
      // A slow listing continues while the next one starts.
      await endsSoon(listed, signal);
    }
  };
  try {
    await Promise.all(Array.from({ length: Math.min(AT_ONCE, sources.length) }, work));
    await orAborted(Promise.all(begun), signal);
  } catch (error) {
    failed.abort(error);
    throw error;
  }
  leftOut.requireAny();
  const messages = leftOut.messages();
  return {
    sources: sources.flatMap((source) => results.get(source) ?? []),
    ...(messages === undefined ? {} : { messages }),
  };
};
