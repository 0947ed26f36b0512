import { Readable } from 'node:stream';
import { ifNoSuch } from '../errors/errors.ts';
import type { Stat, StorageAdapter } from './adapter.ts';
import { boundedText } from './content.ts';
import type { OperationOptions, ReadableStore, Entry } from './readable.ts';
import type { SourcePath } from './source-path.ts';

/** A small file that the service keeps for itself, as it was read. */
export interface KeptText {
  /** Undefined where it is longer than the service writes it. */
  readonly text: string | undefined;
  readonly version: Stat;
}

/** How a small file is read. */
export interface KeptOptions extends OperationOptions {
  /** A listing, or the id of something, shows it: nothing is asked before it is read. */
  readonly isListed?: boolean | undefined;
}

/**
 * Reads a small file of the service; undefined where there is none. Costs one question to the store, and a reading
 * where something is; the reading alone where a listing or an id shows it (`isListed`).
 * @throws errors of the store
 */
export const readKept = async (
  store: ReadableStore,
  path: SourcePath,
  mostBytes: number,
  { signal, isListed = false }: KeptOptions = {},
): Promise<KeptText | undefined> => {
  try {
    // Nearly always nothing is there: stores look for what may be missing with less effort.
    const isFile =
      isListed || (await store.stat(path, { signal, mayMiss: true, expects: 'file' })).kind === 'file';
    if (!isFile) return undefined;
    const { stat, stream } = await store.read(path, { signal });
    return { text: await boundedText(stream, mostBytes), version: stat };
  } catch (error) {
    return ifNoSuch(error);
  }
};

/**
 * Writes a small file in place of the version that was read. Where the store decides, no instance overwrites what
 * another has written meanwhile.
 * @throws ChangedMeanwhileError, AlreadyExistsError where another instance was faster; errors of the store
 */
export const writeKept = async (
  store: StorageAdapter,
  path: SourcePath,
  bytes: Buffer,
  version: Pick<Stat, 'etag'> | undefined,
): Promise<void> => {
  const isDecided = store.capabilities.ifMatch && (version === undefined || version.etag !== undefined);
  await store.write(path, Readable.from([bytes], { objectMode: false }), {
    size: bytes.length,
    ...(isDecided && version === undefined ? { createOnly: true } : {}),
    ...(isDecided && version !== undefined ? { ifMatch: version.etag } : {}),
  });
};

/** Up to here a store that can is asked for single names; beyond it, one listing is the cheaper question. */
const MOST_SINGLE = 500;

/**
 * The files of these names in a folder that the service keeps for itself, by their names: with one question to the
 * store, none for no names. A folder that does not exist is empty.
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
  try {
    if (store.statMany && names.size <= MOST_SINGLE) {
      for (const entry of await store.statMany(folder, [...names], { signal, mayMiss: true })) add(entry);
    } else {
      const options = { signal, detail: 'versions', mayJoin: true, mayMiss: true } as const;
      for await (const page of store.list(folder, options)) page.forEach(add);
    }
  } catch (error) {
    ifNoSuch(error);
  }
  return found;
};
