import { Readable } from 'node:stream';
import { ifNoSuch, NotFoundError } from '../../errors/errors.ts';
import { type KeptText, readKept } from '../kept-files.ts';
import type { StoreLocation } from '../location.ts';
import { type About, aboutPaths, isNothing, MOST_ABOUT_BYTES, parseAbout } from './about.ts';

/** How often a record is tried that others write or remove meanwhile. */
export const MOST_TRIES = 8;

/** A record about a file. */
export const bytesOf = (about: About): Buffer => Buffer.from(JSON.stringify(about));

/** Overwrites whatever is there: of a new file it can only be about an older one. */
export const overwrite = async ({ storage, path }: StoreLocation, about: About): Promise<void> => {
  const bytes = bytesOf(about);
  for (let tries = 1; ; tries += 1)
    try {
      const content = Readable.from([bytes], { objectMode: false });
      await storage.write(aboutPaths.record(storage, path), content, { size: bytes.length });
      return;
    } catch (error) {
      // The folder was removed with its last record while this one came.
      if (!(error instanceof NotFoundError) || tries === MOST_TRIES) throw error;
    }
};

/** Removes this version of a record, and its folder with the last one. @throws ChangedMeanwhileError */
export const remove = async (
  { storage, path }: StoreLocation,
  version?: KeptText['version'],
): Promise<void> => {
  const record = aboutPaths.record(storage, path);
  try {
    // Nearly always nothing is there: stores look for what may be missing with less effort.
    if (version === undefined) await storage.stat(record, { mayMiss: true, expects: 'file' });
    await storage.removeFile(record, { ifUnchanged: version });
  } catch (error) {
    return ifNoSuch(error);
  }
  // Others may lie in it, or come meanwhile.
  await storage.removeEmptyFolder(record.parent).catch(() => undefined);
};

/** The record about a file. @throws errors of the store */
export const readRecord = ({ storage, path }: StoreLocation): Promise<KeptText | undefined> =>
  readKept(storage, aboutPaths.record(storage, path), MOST_ABOUT_BYTES);

/** As `readRecord`; stores say once in a while that there is nothing, and what is missed here is lost. */
export const readSurely = async (location: StoreLocation): Promise<KeptText | undefined> =>
  (await readRecord(location)) ?? readRecord(location);

/** The words of a record; undefined: it says nothing. */
export const aboutOf = (kept: KeptText | undefined): About | undefined => {
  const about = parseAbout(kept?.text);
  return isNothing(about) ? undefined : about;
};
