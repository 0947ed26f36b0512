import { createHash } from 'node:crypto';
import * as z from 'zod';
import { withoutCase } from '../basics/content/file-name.ts';
import { systemCode } from '../basics/files/system-errors.ts';
import * as errors from '../errors/errors.ts';
import type { Stat, StorageAdapter } from './adapter.ts';
import { boundedText, streamOf } from './content.ts';
import type { Entry, ListOptions, OperationOptions, ReadableStore } from './readable.ts';
import type { SourcePath } from './source-path.ts';

/** Records: small JSON files in hidden folders of a store, internal to the service. */

/** A longer file is not a record of this service. */
export const MOST_RECORD_BYTES = 64 * 1024;

export interface ReadRecord {
  /** Undefined when it is longer than a record of the service. */
  readonly text: string | undefined;
  readonly version: Stat;
}

export interface RecordOptions extends OperationOptions {
  /** A listing or an id shows that the record exists: it is read without a stat before. */
  readonly isListed?: boolean | undefined;
}

/** The properties of a store that decide whether subjects that differ in letter case are the same. */
export type RecordNaming = Pick<ReadableStore, 'capabilities' | 'foldsRecords'>;

/**
 * The file name of the record about a subject. Independent of letter case in every store, so that records can
 * be copied between stores that ignore it and those that do not. Where it matters, subjects that differ in it
 * share a record.
 */
export const recordName = (about: string): string =>
  `${createHash('sha256').update(withoutCase(about)).digest('hex').slice(0, 40)}.json`;

/** A test whether a part of a record is about this subject, not about one that differs in letter case. */
export const isAbout = (
  { capabilities, foldsRecords = !capabilities.caseSensitive }: RecordNaming,
  about: string,
): ((subject: string) => boolean) => (foldsRecords ? () => true : (subject) => subject === about);

/** Reads a record, if there is one, after a stat; with `isListed` without. @throws errors of the store */
export const readRecord = async (
  store: ReadableStore,
  path: SourcePath,
  { signal, isListed = false }: RecordOptions,
): Promise<ReadRecord | undefined> => {
  try {
    // The record rarely exists: a stat with `mayMiss` is the cheapest check.
    const isFile =
      isListed || (await store.stat(path, { signal, mayMiss: true, expects: 'file' })).kind === 'file';
    if (!isFile) return undefined;
    const { stat, stream } = await store.read(path, { signal });
    return { text: await boundedText(stream, MOST_RECORD_BYTES), version: stat };
  } catch (error) {
    return errors.ifNoSuch(error);
  }
};

/**
 * Parses a record. Other users of the store may have written it, so `parse` must validate it like client
 * input. Undefined when it is not a record of this service.
 */
export const parsedRecord = <Value>(
  text: string | undefined,
  parse: (written: unknown) => Value,
): Value | undefined => {
  if (text === undefined) return undefined;
  try {
    return parse(JSON.parse(text));
  } catch (error) {
    if (error instanceof SyntaxError || error instanceof z.ZodError || error instanceof errors.StowageError)
      return undefined;
    throw error;
  }
};

/**
 * Writes a record instead of the version that was read. Where the store has conditional writes, no instance
 * overwrites a concurrent change of another.
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

/** Whether the error may last: the store denies a record, or the disk is damaged there. */
export const isUnreadable = (error: unknown): boolean =>
  errors.isRefusal(error) || (error instanceof errors.StowageError && systemCode(error.cause) === 'EIO');

/** Whether the error can come from a concurrent change of the record or its folder. */
const isOvertaken = (error: unknown): boolean =>
  error instanceof errors.ChangedMeanwhileError ||
  error instanceof errors.AlreadyExistsError ||
  error instanceof errors.NotFoundError;

/** Retries a few times after concurrent changes: other writers create and remove records too. */
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

/** A text that changes with the version of a file, from the properties that a listing shows. */
export const versionOf = ({ etag, modifiedAt, changedAt, size }: Entry): string =>
  [etag, modifiedAt, changedAt, size].join();

/** The entries of an internal folder, in pages. A missing folder counts as empty. */
export async function* pagesOf(
  store: ReadableStore,
  folder: SourcePath,
  options: ListOptions,
): AsyncGenerator<readonly Entry[], void, undefined> {
  try {
    yield* store.list(folder, options);
  } catch (error) {
    errors.ifNoSuch(error);
  }
}

/** Up to this number, single names are read where the store can; beyond it, one listing is cheaper. */
const MOST_SINGLE = 500;

/** Names of files in a folder; `all` files where a set of names would be very large. */
export type Names = ReadonlySet<string> | 'all';

/** The files of these names in an internal folder, with one request to the store, or none for no names. */
export const findNames = async (
  store: ReadableStore,
  folder: SourcePath,
  names: Names,
  { signal }: OperationOptions,
): Promise<ReadonlyMap<string, Entry>> => {
  const found = new Map<string, Entry>();
  const add = (entry: Entry | undefined): void => {
    if (entry?.kind === 'file' && (names === 'all' || names.has(entry.name))) found.set(entry.name, entry);
  };
  if (names !== 'all' && names.size === 0) return found;
  if (store.statMany && names !== 'all' && names.size <= MOST_SINGLE) {
    const options = { signal, mayMiss: true };
    for (const entry of (await store.statMany(folder, [...names], options).catch(errors.ifNoSuch)) ?? [])
      add(entry);
  } else {
    const options = { signal, detail: 'versions', mayJoin: true, mayMiss: true } as const;
    for await (const page of pagesOf(store, folder, options)) page.forEach(add);
  }
  return found;
};
