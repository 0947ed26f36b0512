import { randomUUID } from 'node:crypto';
import { type BigIntStats, constants } from 'node:fs';
import { NotFoundError } from '../../errors/errors.ts';
import type { OperationOptions } from '../../storage/adapter.ts';
import { SourcePath } from '../../storage/source-path.ts';
import type { OpenFolder } from './confinement.ts';
import { chunksOfFile, writeChunks, flushFile } from './file-content.ts';
import { besidePrefix } from './names.ts';
import type { Named } from './naming.ts';
import * as system from './system.ts';
import { systemCode } from '../../basics/files/system-errors.ts';

/** Smaller files need fewer calls when they are read and written. */
const FROM_BYTES = 1024 * 1024;
/** The system copies in one call, which cannot be aborted and occupies one of few threads. */
const UP_TO_BYTES = 1024 * 1024 * 1024;
const AT_ONCE = 2;
/** The path of the open file does not exist or is not usable: nothing has been copied. */
const NO_WAY: ReadonlySet<string | undefined> = new Set(['ENOENT', 'EACCES', 'EPERM', 'ENOSYS', 'ENXIO']);

const pathOf = (fd: number): string => `/proc/self/fd/${String(fd)}`;

/** Copies a complete open file and flushes it. @throws errors of the file system; the signal's reason */
export type CopyOpened = (from: number, to: number, signal: AbortSignal | undefined) => Promise<void>;

/**
 * Copies the contents of open files with the system call where possible, a few at a time: by sharing blocks
 * on file systems that support it, else without passing bytes through this process.
 * @param holds whether open files have paths of their own: `/proc/self/fd`
 */
export const createSystemCopies = (holds: boolean): CopyOpened => {
  let running = 0;
  const copyBySystem = async (from: number, to: number): Promise<boolean> => {
    const { mode } = await system.exactFstat(to);
    running += 1;
    try {
      // These paths refer to the open files: a failed copy cannot remove its target, which it does by its name.
      await system.copyBySystem(pathOf(from), pathOf(to), constants.COPYFILE_FICLONE);
    } catch (error) {
      if (NO_WAY.has(systemCode(error))) return false;
      throw error;
    } finally {
      running -= 1;
    }
    // The copy gets the permissions of a new file.
    await system.changeModeOf(to, Number(mode) & 0o7777).catch(() => undefined);
    await flushFile(to);
    return true;
  };
  return async (from, to, signal) => {
    const size = Number((await system.exactFstat(from)).size);
    const isBySystem = holds && running < AT_ONCE && size >= FROM_BYTES && size <= UP_TO_BYTES;
    if (!isBySystem || !(await copyBySystem(from, to))) await writeChunks(to, chunksOfFile(from, signal));
    signal?.throwIfAborted();
  };
};

const RECORD_PREFIX = 'across-';
const MOST_RECORD_BYTES = 8192;

/** Target of a file that cannot be linked or renamed to it. */
export interface AcrossTarget extends Named {
  /** The folder's path, for the record that the sweep reads. */
  readonly path: SourcePath;
}

const writeRecord = async (recordPath: system.Name, path: SourcePath): Promise<void> => {
  const fd = await system.openFile(recordPath, system.NEW_FILE, 0o600);
  await writeChunks(fd, [Buffer.from(path.toString())]).finally((): unknown => system.closeFile(fd));
};

interface AcrossOptions extends OperationOptions {
  readonly keepTime?: boolean;
  /** Renames the complete copy from its temporary name to its target. */
  readonly giveName: (beside: system.Name) => Promise<void>;
}

/**
 * Copies a file to a folder on another file system (a mount inside the root): first under a reserved name
 * beside its target, then renames it, with the permissions of the original. A record in the instance's own
 * folder lets the sweep find it when the process is killed. The original stays.
 * @returns the stats of the original as read, and of the copy
 */
export const copyAcross = (
  from: system.Name,
  { area, folder, path }: AcrossTarget,
  { keepTime = false, giveName, signal }: AcrossOptions,
): Promise<{ readonly source: BigIntStats; readonly stats: BigIntStats }> =>
  system.reading(from, async (source) => {
    if (!source.stats.isFile()) throw new NotFoundError();
    const lease = await area.lease();
    const recordPath = lease.folder.at(`${RECORD_PREFIX}${randomUUID()}`);
    const beside = folder.at(`${besidePrefix(area.instance)}${randomUUID()}`);
    try {
      await writeRecord(recordPath, path);
      const fd = await system.openFile(beside, system.NEW_FILE, 0o600);
      try {
        await writeChunks(fd, chunksOfFile(source.fd, signal));
        // Some file systems have no permissions, or times for the owner alone: that does not prevent storing.
        await system.changeModeOf(fd, Number(source.stats.mode) & 0o777).catch(() => undefined);
        if (keepTime)
          await system
            .setTimes(fd, Date.now() / 1000, Number(source.stats.mtimeMs) / 1000)
            .catch(() => undefined);
        const stats = await system.exactFstat(fd);
        signal?.throwIfAborted();
        await giveName(beside);
        return { source: source.stats, stats };
      } finally {
        await system.closeFile(fd);
      }
    } finally {
      await system.unlinkFile(beside).catch(() => undefined);
      await system.unlinkFile(recordPath).catch(() => undefined);
      await lease.release();
    }
  });

/** The folder in a record; undefined for other files and for an incomplete record. */
export const readRecord = async (area: OpenFolder, name: string): Promise<SourcePath | undefined> => {
  if (!name.startsWith(RECORD_PREFIX)) return undefined;
  return system.reading(area.at(name), async ({ fd }) => {
    const buffer = Buffer.alloc(MOST_RECORD_BYTES);
    try {
      return SourcePath.parse(buffer.toString('utf8', 0, await system.readPart(fd, buffer)));
    } catch {
      return undefined;
    }
  });
};
