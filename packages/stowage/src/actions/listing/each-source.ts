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

/** Sources that are read at the same time. */
const AT_ONCE = 4;
/** How long a source may take before the next one is begun, and then to show that its store is there. */
const PATIENCE_MS = 3000;

export interface SourceListing<Result> {
  readonly key: string;
  /** Name of the one source to list; undefined for all. */
  readonly source: string | undefined;
  readonly path: SourcePath;
  readonly read: (view: SourceView, signal: AbortSignal) => Promise<Result>;
}

/** The sources of a listing, and a sentence for each that could not be reached. */
export interface SourceListings<Result> {
  readonly sources: readonly Result[];
  readonly messages?: readonly string[];
}

export const listingMessages = z
  .array(z.string())
  .optional()
  .describe('One sentence for each source that cannot be reached now and is left out.');

/**
 * The store of a source is to blame: it cannot be opened or read now. What the request asks for may exist
 * there.
 */
export const isOfStore = (error: unknown): boolean => !(error instanceof StowageError) || error.status >= 500;

export const unreachable = ({ title, name }: Source): string =>
  `The source "${title || name}" cannot be reached now.`;

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
    // A path that is a file, or leads through one, is a folder that does not exist.
    if (error instanceof NotFoundError || error instanceof WrongKindError) throw missing('folder', error);
    throw error;
  }
};

/**
 * Asks the store of a source for a sign of life. Costs one request.
 * @throws StorageTimeoutError when there is none in three seconds, any error of the store
 */
const requireAnswer = async (context: ActionContext, source: Source, signal: AbortSignal): Promise<void> => {
  const ask = async (limited: AbortSignal): Promise<void> => {
    const view = await orAborted(context.views.of(source, { signal: limited }), limited);
    await orAborted(view.requireAnswer(), limited);
  };
  const silent = (): Error => new StorageTimeoutError({ detail: 'the store keeps silent' });
  await inTimeLimit(PATIENCE_MS, signal, ask, silent);
};

/**
 * Runs what reads the store of one of several sources. When that takes long, the store is asked for a sign of
 * life, and without one the work is left, its signal aborted, so that the others need not wait.
 * @throws as `work`; StorageTimeoutError, any error of the store
 */
export const readOneOf = async <Result>(
  sources: readonly Source[],
  source: Source,
  context: ActionContext,
  work: (signal: AbortSignal) => Promise<Result>,
): Promise<Result> => {
  if (sources.length === 1) return work(context.signal);
  const leaving = new AbortController();
  const signal = AbortSignal.any([context.signal, leaving.signal]);
  // Every read of the work listens to it; their number has a bound of its own.
  setMaxListeners(0, signal);
  const running = work(signal);
  // Its failure is met where it is waited for.
  running.catch(() => undefined);
  const patience = new TimeLimit(PATIENCE_MS, context.signal);
  try {
    return await orAborted(running, patience.signal);
  } catch (error) {
    if (!patience.isOver) throw error;
  } finally {
    patience.dispose();
  }
  const asking = requireAnswer(context, source, context.signal).then(
    () => running,
    (error: unknown) => {
      leaving.abort(error);
      throw error;
    },
  );
  return Promise.race([running, asking]);
};

class Listings<Result> {
  readonly results = new Map<Source, Result>();
  readonly failures = new Map<Source, unknown>();
  readonly #running = new Map<Source, Promise<void>>();
  readonly #refusals: unknown[] = [];
  readonly #leaving = new Map<Source, AbortController>();
  readonly #context: ActionContext;
  readonly #listing: SourceListing<Result>;
  readonly #sources: readonly Source[];
  readonly #signal: AbortSignal;

  constructor(
    context: ActionContext,
    listing: SourceListing<Result>,
    sources: readonly Source[],
    signal: AbortSignal,
  ) {
    this.#context = context;
    this.#listing = listing;
    this.#sources = sources;
    this.#signal = signal;
  }

  /** Ends when every source has answered, failed, or kept silent while others had answered. */
  async all(): Promise<void> {
    const remaining = this.#sources.values();
    const work = async (): Promise<void> => {
      for (const source of remaining) await this.#begin(source);
    };
    await Promise.all(Array.from({ length: Math.min(AT_ONCE, this.#sources.length) }, work));
    while (this.#running.size > 0 && this.results.size === 0) await Promise.race(this.#running.values());
    await Promise.all([...this.#running].map(([source, running]) => this.#awaitOrLeave(source, running)));
    // Of a source that was not waited for at that time.
    if (this.#refusals.length > 0) throw this.#refusals[0];
  }

  /** Gives its place to the next source where it takes long, and goes on. */
  async #begin(source: Source): Promise<void> {
    this.#signal.throwIfAborted();
    const running = this.#list(source).finally(() => this.#running.delete(source));
    this.#running.set(source, running);
    // Its failure is met where it is waited for.
    running.catch(() => undefined);
    const patience = new TimeLimit(PATIENCE_MS, this.#signal);
    try {
      await orAborted(running, patience.signal);
    } catch (error) {
      if (!patience.isOver) throw error;
    } finally {
      patience.dispose();
    }
  }

  async #list(source: Source): Promise<void> {
    const leaving = new AbortController();
    this.#leaving.set(source, leaving);
    const signal = AbortSignal.any([this.#signal, leaving.signal]);
    // Every thumbnail that a listing waits for listens to it; their number has a bound of its own.
    setMaxListeners(0, signal);
    try {
      const result = await listOne(this.#context, source, this.#listing, signal);
      if (!this.failures.has(source)) this.results.set(source, result);
    } catch (error) {
      if (leaving.signal.aborted) return;
      if (!signal.aborted && isOfStore(error)) return void this.failures.set(source, error);
      this.#refusals.push(error);
      throw error;
    }
  }

  /** A large folder may take its time: the store is asked for a sign of life. */
  async #awaitOrLeave(source: Source, running: Promise<void>): Promise<void> {
    const asking = requireAnswer(this.#context, source, this.#signal).then(
      () => running,
      (error: unknown) => {
        if (this.#signal.aborted) throw error;
        if (this.results.has(source)) return;
        this.failures.set(source, error);
        this.#leaving.get(source)?.abort(error);
      },
    );
    await Promise.race([running, asking]);
  }
}

/**
 * Lists a folder in the named source, else in every source, a few at a time, and gives the results in the
 * order of the sources. A source whose store fails, or keeps silent while others have answered, is left out
 * with a message, unless all of them fail. Every other failure, such as a folder that is missing in one of
 * them, rejects and aborts the other listings.
 * @throws NotFoundError, AccessDeniedError, UnknownSourceError, the first error of the stores where all fail
 */
export const listSources = async <Result>(
  context: ActionContext,
  listing: SourceListing<Result>,
): Promise<SourceListings<Result>> => {
  const sources = context.views.named(listing.source);
  const failed = new AbortController();
  const signal = AbortSignal.any([context.signal, failed.signal]);
  setMaxListeners(0, signal);
  const listings = new Listings(context, listing, sources, signal);
  try {
    await listings.all();
  } catch (error) {
    failed.abort(error);
    throw error;
  }
  const { results, failures } = listings;
  if (failures.size > 0 && results.size === 0) throw sources.map((source) => failures.get(source))[0];
  for (const [{ name }, error] of failures)
    context.log.warn('A listing leaves out a source whose store failed.', { source: name, error });
  const left = sources.filter((source) => failures.has(source));
  return {
    sources: sources.flatMap((source) => results.get(source) ?? []),
    ...(left.length === 0 ? {} : { messages: left.map(unreachable) }),
  };
};
