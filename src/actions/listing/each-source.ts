import { setMaxListeners } from 'node:events';
import * as z from 'zod';
import { NotFoundError, StowageError, WrongKindError } from '../../errors/errors.ts';
import type { Source } from '../../sources/source.ts';
import type { SourcePath } from '../../storage/source-path.ts';
import type { ActionContext } from '../action.ts';
import { missing } from '../item.ts';
import { openedSource, type OpenSource, sourcesFor } from '../open-source.ts';
import { requireReachable } from '../reserved.ts';

/** What both listings say of a source. */
export const sourceHeaderShape = {
  name: z.string(),
  title: z.string(),
  baseurl: z.string(),
  path: z
    .string()
    .describe('The listed folder relative to the root, without a leading slash; `/` at the root.'),
};

/** The head of a source's part of a listing. */
export const sourceHeader = (
  { name, title, baseurl }: Source,
  folder: SourcePath,
): { readonly name: string; readonly title: string; readonly baseurl: string; readonly path: string } => ({
  name,
  title,
  baseurl,
  path: folder.isRoot ? '/' : folder.toString(),
});

/** Sources that are read at the same time. */
const AT_ONCE = 4;

/** What a listing asks of every source. */
export interface SourceListing<Result> {
  /** The access key of the listing. */
  readonly key: string;
  /** Name of the one source to list; undefined for all. */
  readonly source: string | undefined;
  readonly path: SourcePath;
  readonly read: (open: OpenSource, signal: AbortSignal) => Promise<Result>;
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

/** What users read of a source that is left out. */
export const unreachable = ({ title, name }: Source): string =>
  `The source "${title || name}" cannot be reached now.`;

const listOne = async <Result>(
  context: ActionContext,
  source: Source,
  { key, path, read }: SourceListing<Result>,
  signal: AbortSignal,
): Promise<Result> => {
  const open = await openedSource(context, source);
  open.access.require(key, path);
  try {
    requireReachable(source.settings, path);
    return await read(open, signal);
  } catch (error) {
    // A path that is a file, or leads through one, is a folder that does not exist.
    if (error instanceof NotFoundError || error instanceof WrongKindError) throw missing('folder', error);
    throw error;
  }
};

/**
 * Lists a folder in the named source, else in every source, a few at a time, and gives the results in the
 * order of the sources. A source whose store fails is left out with a message, unless all of them fail. Every
 * other failure, such as a folder that is missing in one of them, rejects and aborts the other listings.
 * @throws NotFoundError, AccessDeniedError, UnknownSourceError, the first error of the stores where all fail
 */
export const listSources = async <Result>(
  context: ActionContext,
  listing: SourceListing<Result>,
): Promise<SourceListings<Result>> => {
  const sources = sourcesFor(context.sources, listing.source);
  const failed = new AbortController();
  const signal = AbortSignal.any([context.signal, failed.signal]);
  // Every thumbnail that a listing waits for listens to it; their number has a bound of its own.
  setMaxListeners(0, signal);
  const results = new Map<Source, Result>();
  const failures = new Map<Source, unknown>();
  const remaining = sources.values();
  const work = async (): Promise<void> => {
    for (const source of remaining) {
      signal.throwIfAborted();
      try {
        results.set(source, await listOne(context, source, listing, signal));
      } catch (error) {
        if (signal.aborted || !isOfStore(error)) throw error;
        failures.set(source, error);
      }
    }
  };
  try {
    await Promise.all(Array.from({ length: Math.min(AT_ONCE, sources.length) }, work));
  } catch (error) {
    failed.abort(error);
    throw error;
  }
  if (failures.size > 0 && results.size === 0) throw sources.map((source) => failures.get(source))[0];
  for (const [{ name }, error] of failures) {
    context.log.warn('A listing leaves out a source whose store failed.', { source: name, error });
  }
  const left = sources.filter((source) => failures.has(source));
  return {
    sources: sources.flatMap((source) => results.get(source) ?? []),
    ...(left.length === 0 ? {} : { messages: left.map(unreachable) }),
  };
};
