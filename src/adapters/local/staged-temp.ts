import { randomUUID } from 'node:crypto';
import { createReadStream, type BigIntStats } from 'node:fs';
import type { Readable } from 'node:stream';
import {
  AlreadyExistsError,
  CorruptError,
  NotFoundError,
  UnsupportedError,
  WrongKindError,
} from '../../errors/errors.ts';
import type { StagedFile, Stat, WriteOptions } from '../../storage/adapter.ts';
import type { SourcePath } from '../../storage/source-path.ts';
import { systemCode } from '../../storage/system-errors.ts';
import { placeAcross } from './across.ts';
import type { OpenFolder } from './confinement.ts';
import { statOf } from './entry.ts';
import { writeChunks } from './file-content.ts';
import { attempt } from './attempt.ts';
import { flushFolder, type Place, type Places } from './places.ts';
import { place } from './placing.ts';
import { changeMode, closeFile, exactFstat, lstatOf, unlinkFile, type Name } from './system.ts';
import { createFile, type TempArea, type TempLease } from './temp-area.ts';

const READ_BYTES = 256 * 1024;

/** How a staged file is given its name. */
export type CommitOptions = Omit<WriteOptions, 'size'>;

/** What staged files are made and placed with. */
export interface Staging {
  readonly area: TempArea;
  readonly places: Places;
}

/** Whole content in a temporary file of the root's own file system, without a name. */
class StagedTemp implements StagedFile {
  readonly size: number;
  readonly #staging: Staging;
  readonly #lease: TempLease;
  readonly #path: Name;
  readonly #stats: BigIntStats;
  #ended = false;

  constructor(staging: Staging, lease: TempLease, name: string, stats: BigIntStats) {
    this.#staging = staging;
    this.#lease = lease;
    this.#path = lease.folder.at(name);
    this.#stats = stats;
    this.size = Number(stats.size);
  }

  open(): Readable {
    return createReadStream(this.#path, { highWaterMark: READ_BYTES });
  }

  async commit(target: SourcePath, options: CommitOptions = {}): Promise<Stat> {
    return attempt('commit', options, async () => {
      if (this.#ended)
        throw new NotFoundError({ detail: 'the staged content was committed or discarded before' });
      refuseTarget(target, options);
      const stats = await this.#staging.places.within(target.parent, { create: true }, async (found) => {
        const name = await this.#staging.places.newDiskName(found.folder, target.name);
        options.signal?.throwIfAborted();
        return this.#place(found, target, name, options);
      });
      const stat = statOf(target.name, stats);
      if (stat === undefined) throw new CorruptError({ detail: 'the stored file is no file' });
      return stat;
    });
  }

  async discard(): Promise<void> {
    if (this.#ended) return;
    this.#ended = true;
    await unlinkFile(this.#path).catch(() => undefined);
    await this.#lease.release();
  }

  async #place(found: Place, target: SourcePath, name: string, options: CommitOptions): Promise<BigIntStats> {
    const { folder } = found;
    const createOnly = options.createOnly === true;
    let stats = this.#stats;
    try {
      if (!createOnly) await takeRights(this.#path, folder.at(name));
      await place(this.#path, folder, name, createOnly);
    } catch (error) {
      if (systemCode(error) !== 'EXDEV') throw error;
      const { signal } = options;
      stats = await placeAcross(this.#path, this.#staging.area, {
        folder,
        path: target.parent,
        name,
        createOnly,
        signal,
      });
      await unlinkFile(this.#path).catch(() => undefined);
    }
    this.#ended = true;
    await this.#lease.release();
    if (options.durable !== false) await flushFolder(folder);
    return stats;
  }
}

/** Content that replaces a file is for those whom the old file was for; we ourselves may read and write it in any case. */
const takeRights = async (from: Name, target: Name): Promise<void> => {
  const old = await lstatOf(target).catch(() => undefined);
  if (old?.isFile() !== true) return;
  // Some file systems know no rights, and say so: no reason not to store.
  await changeMode(from, (old.mode & 0o777) | 0o600).catch(() => undefined);
};

/** Refuses what no write can do: the root as a target, and a version that this store cannot hold others to. */
export const refuseTarget = (target: SourcePath, options: CommitOptions): void => {
  // Comparing and replacing are two steps here, and other processes may come in between.
  if (options.ifMatch !== undefined) throw new UnsupportedError({ detail: 'ifMatch on writes' });
  if (target.isRoot) throw options.createOnly === true ? new AlreadyExistsError() : new WrongKindError();
};

/**
 * Takes chunks into a temporary file, down to the disk unless `durable` is false. Leaves no file when that fails.
 * @throws what the chunks throw, as it is; StorageFullError and the like
 */
export const stageChunks = async (
  staging: Staging,
  chunks: AsyncIterable<Uint8Array>,
  options: Pick<WriteOptions, 'durable'> = {},
): Promise<StagedFile> => {
  const lease = await attempt('stage', {}, () => staging.area.lease());
  const name = randomUUID();
  try {
    const stats = await fill(lease.folder, name, chunks, options);
    return new StagedTemp(staging, lease, name, stats);
  } catch (error) {
    await unlinkFile(lease.folder.at(name)).catch(() => undefined);
    await lease.release();
    throw error;
  }
};

const fill = async (
  folder: OpenFolder,
  name: string,
  chunks: AsyncIterable<Uint8Array>,
  options: Pick<WriteOptions, 'durable'>,
): Promise<BigIntStats> => {
  const fd = await attempt('stage', {}, () => createFile(folder, name));
  try {
    await writeChunks(fd, chunks, options);
    return await attempt('stage', {}, () => exactFstat(fd));
  } finally {
    await closeFile(fd).catch(() => undefined);
  }
};
