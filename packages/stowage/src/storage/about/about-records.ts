import { FileTooLargeError, ifNoSuch } from '../../errors/errors.ts';
import type { StoreLocation } from '../location.ts';
import type { OperationOptions, ReadableStore } from '../readable.ts';
import {
  isAbout,
  isUnreadable,
  MOST_RECORD_BYTES,
  readRecord,
  type ReadRecord,
  type RecordNaming,
  writeRecord,
} from '../records.ts';
import { type About, aboutPaths, isNothing, parseAbout, type WrittenAbout } from './about.ts';

/** The descriptions in the record of a file. */
export interface FoundAbout {
  /** Undefined when the file has none. */
  readonly about: About | undefined;
  /** Those of files whose names differ in letter case, where it matters. */
  readonly others: WrittenAbout;
  /** Undefined when there is no record. */
  readonly version: ReadRecord['version'] | undefined;
}

export const aboutIn = (
  store: RecordNaming,
  name: string,
  written: WrittenAbout,
): Omit<FoundAbout, 'version'> => {
  const isOurs = isAbout(store, name);
  const ours = written.filter((one) => isOurs(one.name));
  const { about = {} } = ours.find((one) => one.name === name) ?? ours[0] ?? {};
  const others = written.filter((one) => !isOurs(one.name));
  return { about: isNothing(about) ? undefined : about, others };
};

/** `replaces`: an unreadable record counts as an empty one. */
export const readOnce = async (
  { storage, path }: Pick<StoreLocation, 'path'> & { readonly storage: ReadableStore },
  { signal, replaces = false }: OperationOptions & { readonly replaces?: boolean } = {},
): Promise<FoundAbout> => {
  const record = aboutPaths.record(path);
  try {
    const found = await readRecord(storage, record, { signal });
    return { ...aboutIn(storage, path.name, parseAbout(found?.text)), version: found?.version };
  } catch (error) {
    if (!replaces || !isUnreadable(error)) throw error;
    return { about: undefined, others: [], version: await storage.stat(record, { signal }) };
  }
};

/** Reads again after a failure or no record: stores sometimes report one as missing, which would be lost. */
export const readSurely = async (location: StoreLocation): Promise<FoundAbout> => {
  const found = await readOnce(location).catch(() => undefined);
  return found?.version === undefined ? readOnce(location) : found;
};

/**
 * Writes a description instead of the one that was read. Removes the record with its last description, and
 * its folder with the last record. @throws ChangedMeanwhileError
 */
export const replace = async (
  { storage, path }: StoreLocation,
  { others, version }: FoundAbout,
  about: About = {},
): Promise<void> => {
  const record = aboutPaths.record(path);
  const written = isNothing(about) ? others : [...others, { name: path.name, about }];
  if (written.length > 0) {
    const bytes = Buffer.from(JSON.stringify(written));
    if (bytes.length > MOST_RECORD_BYTES) throw new FileTooLargeError();
    return writeRecord(storage, record, bytes, version);
  }
  if (version === undefined) return;
  await storage.removeFile(record, { ifUnchanged: version }).catch(ifNoSuch);
  // The folder may hold other records.
  await storage.removeEmptyFolder(record.parent).catch(() => undefined);
};
