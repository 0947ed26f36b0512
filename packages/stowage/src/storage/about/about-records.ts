import { withoutCase } from '../../basics/content/file-name.ts';
import { AlreadyExistsError, ifNoSuch, ifOnly, orUndefined } from '../../errors/errors.ts';
import type { StorageAdapter } from '../adapter.ts';
import { streamOf } from '../content.ts';
import type { StoreLocation } from '../location.ts';
import type { OperationOptions, ReadableStore } from '../readable.ts';
import {
  foldsRecords,
  isUnreadable,
  readRecord,
  type ReadRecord,
  recordNames,
  writeRecord,
} from '../records.ts';
import type { SourcePath } from '../source-path.ts';
import { type About, aboutPaths, isNothing, parseAbout, type WrittenAbout, writtenAbout } from './about.ts';

/** A record under one of the names for a file. */
export interface AboutRecord extends WrittenAbout {
  readonly path: SourcePath;
  readonly version: ReadRecord['version'];
  /** Not about a file whose name differs in letter case. */
  readonly isOurs: boolean;
}

/** The path of the record about a file where this store writes it. */
export const recordOf = ({ storage, path }: StoreLocation): SourcePath =>
  aboutPaths.records(storage, path)[0] ?? path;

/**
 * Whether a record under one of the names for a file is about it. Where letter case matters, it may be about
 * a file whose name differs in it: as its text says, or, without a name, if the file exists that has its own
 * record there.
 */
export const isAbout = async (
  store: ReadableStore,
  name: string,
  record: Pick<WrittenAbout, 'name'> & { readonly isOwn: boolean },
  isThere: (name: string) => boolean | Promise<boolean>,
): Promise<boolean> => {
  if (foldsRecords(store) || record.name === name) return true;
  return record.name === undefined && (record.isOwn || !(await isThere(withoutCase(name))));
};

interface ReadOptions extends OperationOptions {
  /** New location of a file that was moved. */
  readonly moved?: StoreLocation;
  /** The records are to be replaced: an unreadable one counts as one without texts. */
  readonly replaces?: boolean;
}

/** @throws errors of the store, except about unreadable records that count as none or may be replaced */
const readAt = async (
  storage: ReadableStore,
  record: SourcePath,
  isOwn: boolean,
  { signal, replaces = false }: ReadOptions,
): Promise<ReadRecord | undefined> => {
  try {
    return await readRecord(storage, record, { signal });
  } catch (error) {
    if (!isUnreadable(error) || (isOwn && !replaces)) throw error;
    return isOwn ? { text: undefined, version: await storage.stat(record, { signal }) } : undefined;
  }
};

/** The records under the names for a file, that of this store first. */
export const readOnce = async (
  { storage, path }: { readonly storage: ReadableStore; readonly path: SourcePath },
  options: ReadOptions = {},
): Promise<readonly AboutRecord[]> => {
  const { signal, moved } = options;
  const isThere = async (name: string): Promise<boolean> => {
    const other = orUndefined(() => path.parent.below(name));
    if (other === undefined || (moved?.storage === storage && moved.path.equals(other))) return false;
    return (await storage.stat(other, { signal, mayMiss: true }).catch(ifNoSuch)) !== undefined;
  };
  const read = aboutPaths.records(storage, path).map(async (record, index) => {
    const isOwn = index === 0;
    const found = await readAt(storage, record, isOwn, options);
    if (found === undefined) return [];
    const written = parseAbout(found.text);
    const isOurs = await isAbout(storage, path.name, { ...written, isOwn }, isThere);
    return [{ ...written, path: record, version: found.version, isOurs }];
  });
  return (await Promise.all(read)).flat();
};

/** Stores occasionally report an existing record as missing, and a missed one is lost: read twice. */
export const readSurely = async (
  location: StoreLocation,
  options?: ReadOptions,
): Promise<readonly AboutRecord[]> => {
  const records = await readOnce(location, options);
  return records.some(({ isOurs }) => isOurs) ? records : readOnce(location, options);
};

/** The texts in the records about a file; undefined when there are none. */
export const aboutOf = (records: readonly AboutRecord[]): About | undefined =>
  records.find(({ isOurs, about }) => isOurs && !isNothing(about))?.about;

/** Removes these versions of records, and their folder with the last one. @throws ChangedMeanwhileError */
export const removeRecords = async (
  storage: StorageAdapter,
  records: readonly AboutRecord[],
): Promise<void> => {
  for (const { path, version } of records) {
    await storage.removeFile(path, { ifUnchanged: version }).catch(ifNoSuch);
    // The folder may hold other records.
    await storage.removeEmptyFolder(path.parent).catch(() => undefined);
  }
};

/** Writes texts in place of the records that were read; empty ones only remove these. */
export const replaceRecords = async (
  location: StoreLocation,
  records: readonly AboutRecord[],
  about: About,
): Promise<void> => {
  const { storage, path } = location;
  const own = recordOf(location);
  const old = records.find((record) => record.path.equals(own));
  if (isNothing(about))
    return removeRecords(
      storage,
      records.filter(({ isOurs }) => isOurs),
    );
  if (old?.isOurs === false) {
    // It came from a store that ignores letter case, and gets the name that it has in this one.
    const [name = ''] = recordNames(storage, old.name ?? '');
    const bytes = writtenAbout(old);
    await storage
      .write(own.parent.below(name), streamOf(bytes), { size: bytes.length, createOnly: true })
      .catch(ifOnly(AlreadyExistsError));
  }
  await writeRecord(storage, own, writtenAbout({ name: path.name, about }), old?.version);
  await removeRecords(
    storage,
    records.filter((record) => record.isOurs && record !== old),
  );
};
