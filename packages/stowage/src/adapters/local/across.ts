import { randomUUID } from 'node:crypto';
import type { BigIntStats } from 'node:fs';
import { NotFoundError } from '../../errors/errors.ts';
import { SourcePath } from '../../storage/source-path.ts';
import type { OpenFolder } from './confinement.ts';
import { chunksOfFile, writeChunks } from './file-content.ts';
import { besidePrefix } from './names.ts';
import { nameFile } from './naming.ts';
import {
  changeModeOf,
  closeFile,
  exactFstat,
  NEW_FILE,
  openFile,
  openForReading,
  readPart,
  setTimes,
  unlinkFile,
  type Name,
} from './system.ts';
import type { TempArea } from './temp-area.ts';

const RECORD_PREFIX = 'across-';
const MOST_RECORD_BYTES = 8192;
/** Where a file goes that cannot be linked or renamed to its target. */
export interface AcrossTarget {
  readonly folder: OpenFolder;
  /** The folder's path, for the record that the sweep reads. */
  readonly path: SourcePath;
  readonly name: string;
  readonly createOnly: boolean;
  readonly keepTime?: boolean;
  readonly signal?: AbortSignal | undefined;
}

const writeRecord = async (recordPath: Name, path: SourcePath): Promise<void> => {
  const fd = await openFile(recordPath, NEW_FILE, 0o600);
  try {
    await writeChunks(fd, oneChunk(Buffer.from(path.toString())));
  } finally {
    await closeFile(fd);
  }
};

async function* oneChunk(chunk: Buffer): AsyncGenerator<Uint8Array, void, undefined> {
  yield chunk;
}

/**
 * Copies a file to a folder of another file system (a mount inside the root): first under a reserved name
 * beside its target, then in one step to its name, with the rights of the original. A record in the
 * instance's own folder lets the sweep find it when the process is killed. The original stays.
 * @returns what was read, and what was made of it
 */
export const copyAcross = async (
  from: Name,
  area: TempArea,
  target: AcrossTarget,
): Promise<{ readonly source: BigIntStats; readonly stats: BigIntStats }> => {
  const { folder, path, name, createOnly, keepTime, signal } = target;
  const source = await openForReading(from);
  try {
    if (!source.stats.isFile()) throw new NotFoundError();
    const lease = await area.lease();
    const recordPath = lease.folder.at(`${RECORD_PREFIX}${randomUUID()}`);
    const beside = folder.at(`${besidePrefix(area.instance)}${randomUUID()}`);
    try {
      await writeRecord(recordPath, path);
      const fd = await openFile(beside, NEW_FILE, 0o600);
      try {
        await writeChunks(fd, chunksOfFile(source.fd, signal));
        // Some file systems know no rights, and say so: no reason not to store.
        await changeModeOf(fd, Number(source.stats.mode) & 0o777).catch(() => undefined);
        if (keepTime === true) await setTimes(fd, Date.now() / 1000, Number(source.stats.mtimeMs) / 1000);
        const stats = await exactFstat(fd);
        signal?.throwIfAborted();
        await nameFile(beside, folder, name, createOnly);
        return { source: source.stats, stats };
      } finally {
        await closeFile(fd);
      }
    } finally {
      await unlinkFile(beside).catch(() => undefined);
      await unlinkFile(recordPath).catch(() => undefined);
      await lease.release();
    }
  } finally {
    await closeFile(source.fd);
  }
};

/** The folder that a record names; undefined for other files and for a record that was not finished. */
export const readRecord = async (area: OpenFolder, name: string): Promise<SourcePath | undefined> => {
  if (!name.startsWith(RECORD_PREFIX)) return undefined;
  const { fd } = await openForReading(area.at(name));
  try {
    const buffer = Buffer.alloc(MOST_RECORD_BYTES);
    return SourcePath.parse(buffer.toString('utf8', 0, await readPart(fd, buffer)));
  } catch {
    return undefined;
  } finally {
    await closeFile(fd);
  }
};
