import { createHash } from 'node:crypto';
import * as z from 'zod';
import { foldedFor } from '../basics/content/file-name.ts';
import {
  AlreadyExistsError,
  ChangedMeanwhileError,
  ifNoSuch,
  NotFoundError,
  StowageError,
} from '../errors/errors.ts';
import type { Stat, StorageAdapter } from './adapter.ts';
import { boundedText, streamOf } from './content.ts';
import type { Entry, ListOptions, OperationOptions, ReadableStore } from './readable.ts';
import type { SourcePath } from './source-path.ts';

/** Records: small JSON files in hidden folders of a store, which the service keeps for itself. */

/** A longer file is not a record of this service. */
export const MOST_RECORD_BYTES = 64 * 1024;

/** A record as it was read. */
export interface ReadRecord {
  /** Undefined where it is longer than the service writes it. */
  readonly text: string | undefined;
  readonly version: Stat;
}

/** How a record is read. */
export interface RecordOptions extends OperationOptions {
  /** A listing, or the id of something, shows it: the store is not asked before it is read. */
  readonly isListed?: boolean | undefined;
}

/** The name of the record about something, one for all letter cases where the store ignores them. */
export const recordName = (store: Pick<ReadableStore, 'capabilities'>, about: string): string =>
  `${createHash('sha256').update(foldedFor(store, about)).digest('hex').slice(0, 40)}.json`;

/**
 * Reads a record; undefined where there is none. Costs a `stat`, and a reading where something is; the reading alone
 * where a listing or an id shows it (`isListed`).
 * @throws errors of the store
 */
export const readRecord = async (
  store: ReadableStore,
  path: SourcePath,
  { signal, isListed = false }: RecordOptions = {},
): Promise<ReadRecord | undefined> => {
  try {
    // Nearly always nothing is there: stores look for what may be missing with less effort.
    const isFile =
      isListed || (await store.stat(path, { signal, mayMiss: true, expects: 'file' })).kind === 'file';
    if (!isFile) return undefined;
    const { stat, stream } = await store.read(path, { signal });
    return { text: await boundedText(stream, MOST_RECORD_BYTES), version: stat };
  } catch (error) {
    return ifNoSuch(error);
  }
};

/**
 * What a record says. It may have been written by anybody who reaches the store: `parse` checks it as if a client had
 * sent it. Undefined: it is not a record of this service.
 */
export const parsedRecord = <Value>(
  text: string | undefined,
  parse: (written: unknown) => Value,
): Value | undefined => {
  if (text === undefined) return undefined;
  try {
    return parse(JSON.parse(text));
  } catch (error) {
    if (error instanceof SyntaxError || error instanceof z.ZodError || error instanceof StowageError)
      return undefined;
    throw error;
  }
};

/**
 * Writes a record in place of the version that was read. Where the store decides, no instance overwrites what another
 * has written meanwhile.
 * @throws ChangedMeanwhileError, AlreadyExistsError where another instance was faster; errors of the store
 */
export const writeRecord = async (
  store: StorageAdapter,
  path: SourcePath,
  bytes: Buffer,
  version: Pick<Stat, 'etag'> | undefined,
): Promise<void> => {
  const isDecided = store.capabilities.ifMatch && (version === undefined || version.etag !== undefined);
  await store.write(path, streamOf(bytes), {
    size: bytes.length,
    ...(isDecided && version === undefined ? { createOnly: true } : {}),
    ...(isDecided && version !== undefined ? { ifMatch: version.etag } : {}),
  });
};

const MOST_TRIES = 8;

/** Of what others may have done to a record or its folder meanwhile. */
const isOvertaken = (error: unknown): boolean =>
  error instanceof ChangedMeanwhileError ||
  error instanceof AlreadyExistsError ||
  error instanceof NotFoundError;

/** Does something again, a few times, that others have overtaken: they write and remove records too. */
export const untilNotOvertaken = async <Result>(
  attempt: () => Promise<Result>,
  mayHelp: (error: unknown) => boolean | Promise<boolean> = isOvertaken,
): Promise<Result> => {
  for (let tries = 1; ; tries += 1) {
    try {
      return await attempt();
    } catch (error) {
      if (tries === MOST_TRIES || !(await mayHelp(error))) throw error;
    }
  }
};

/** A text that changes with the version of a file, as far as a listing shows it. */
export const versionOf = ({ etag, modifiedAt, changedAt, size }: Entry): string =>
  [etag, modifiedAt, changedAt, size].join();

/** The entries of a folder that the service keeps for itself, in pages. One that does not exist is empty. */
export async function* pagesOf(
  store: ReadableStore,
  folder: SourcePath,
  options: ListOptions,
): AsyncGenerator<readonly Entry[], void, undefined> {
  try {
    yield* store.list(folder, options);
  } catch (error) {
    ifNoSuch(error);
  }
}

/** Up to here a store that can is asked for single names; beyond it, one listing is cheaper. */
const MOST_SINGLE = 500;

/**
 * The files of these names in a folder that the service keeps for itself, by their names: with one request to the
 * store, none for no names.
 * @throws errors of the store
 */
export const findNames = async (
  store: ReadableStore,
  folder: SourcePath,
  names: ReadonlySet<string>,
  { signal }: OperationOptions,
): Promise<ReadonlyMap<string, Entry>> => {
  const found = new Map<string, Entry>();
  const add = (entry: Entry | undefined): void => {
    if (entry?.kind === 'file' && names.has(entry.name)) found.set(entry.name, entry);
  };
  if (names.size === 0) return found;
  if (store.statMany && names.size <= MOST_SINGLE) {
    const options = { signal, mayMiss: true };
    for (const entry of (await store.statMany(folder, [...names], options).catch(ifNoSuch)) ?? []) add(entry);
  } else {
    const options = { signal, detail: 'versions', mayJoin: true, mayMiss: true } as const;
    for await (const page of pagesOf(store, folder, options)) page.forEach(add);
  }
  return found;
};
