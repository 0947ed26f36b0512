import { constants } from 'node:fs';
import { systemCode } from '../../basics/files/system-errors.ts';
import { chunksOfFile, flushFile, writeChunks } from './file-content.ts';
import { type Name, changeModeOf, copyBySystem, exactFstat } from './system.ts';

/** Smaller files take fewer calls when they are read and written. */
const FROM_BYTES = 1024 * 1024;
/** The system copies in one call, which cannot be given up and holds one of few threads. */
const UP_TO_BYTES = 1024 * 1024 * 1024;
const AT_ONCE = 2;
/** The path of an open file is not there, or may not be used: nothing has been copied. */
const NO_WAY: ReadonlySet<string | undefined> = new Set(['ENOENT', 'EACCES', 'EPERM', 'ENOSYS', 'ENXIO']);

/** A new file that is open, and its path. */
export interface CopyTarget {
  readonly fd: number;
  readonly path: Name;
}

/**
 * Copies the contents of open files by the system where it can, a few at a time: by sharing blocks on file systems that
 * do so, else without taking the bytes through this process.
 */
export class SystemCopies {
  readonly #holds: boolean;
  #running = 0;

  /** @param holds whether open files have paths of their own: `/proc/self/fd` */
  constructor(holds: boolean) {
    this.#holds = holds;
  }

  /** Copies all of an open file, down to the disk. @throws errors of the file system; the signal's reason */
  async copy(from: number, to: CopyTarget, signal: AbortSignal | undefined): Promise<void> {
    const size = Number((await exactFstat(from)).size);
    const isBySystem = this.#holds && this.#running < AT_ONCE && size >= FROM_BYTES && size <= UP_TO_BYTES;
    if (!isBySystem || !(await this.#copyBySystem(from, to)))
      await writeChunks(to.fd, chunksOfFile(from, signal));
    signal?.throwIfAborted();
  }

  async #copyBySystem(from: number, { fd, path }: CopyTarget): Promise<boolean> {
    const { mode } = await exactFstat(fd);
    this.#running += 1;
    try {
      // The path is that of the very file that is open, whatever lies at its name by now.
      await copyBySystem(`/proc/self/fd/${String(from)}`, path, constants.COPYFILE_FICLONE);
    } catch (error) {
      if (NO_WAY.has(systemCode(error))) return false;
      throw error;
    } finally {
      this.#running -= 1;
    }
    // A copy has the rights of a new file.
    await changeModeOf(fd, Number(mode) & 0o7777).catch(() => undefined);
    await flushFile(fd);
    return true;
  }
}
