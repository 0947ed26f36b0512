import { randomUUID } from 'node:crypto';
import { closeSync, createReadStream, fstatSync, type BigIntStats } from 'node:fs';
import type { Readable } from 'node:stream';
import * as errors from '../../errors/errors.ts';
import type * as port from '../../storage/adapter.ts';
import { SourcePath } from '../../storage/source-path.ts';
import { succeeds, systemCode } from '../../basics/files/system-errors.ts';
import { copyAcross } from './copies.ts';
import type { OpenFolder } from './confinement.ts';
import * as system from './system.ts';
import { writeChunks } from './file-content.ts';
import { flushFolder } from './folder-walker.ts';
import { lockKey, nameFile } from './naming.ts';
import type { TempLease } from './temp-area.ts';
import type { LocalStore } from './local-store.ts';

const READ_BYTES = 256 * 1024;
/** Beyond this size XFS reserves blocks in advance; `close` frees them, and waits for its journal. */
const QUICK_BYTES = 64n * 1024n;
const SET_GROUP = 0o2000n;

type CommitOptions = Omit<port.WriteOptions, 'size'>;

/** Complete content in an unnamed temporary file, on the file system of its target where that is known. */
class StagedTemp implements port.StagedFile {
  readonly size: number;
  readonly #store: LocalStore;
  readonly #lease: TempLease;
  readonly #path: system.Name;
  readonly #stats: BigIntStats;
  #ended = false;

  constructor(store: LocalStore, lease: TempLease, name: string, stats: BigIntStats) {
    this.#store = store;
    this.#lease = lease;
    this.#path = lease.folder.at(name);
    this.#stats = stats;
    this.size = Number(stats.size);
  }

  open(): Readable {
    return createReadStream(this.#path, { highWaterMark: READ_BYTES });
  }

  async commit(target: SourcePath, options: CommitOptions = {}): Promise<port.Stat> {
    return system.attempt('commit', options, async () => {
      if (this.#ended)
        throw new errors.NotFoundError({ detail: 'the staged content was committed or discarded before' });
      refuseTarget(target, options);
      const stats = await this.#giveName(target, options);
      this.#ended = true;
      await this.#lease.release();
      const stat = system.statOf(target.name, stats);
      if (stat === undefined) throw new errors.CorruptError({ detail: 'the stored file is not a file' });
      return stat;
    });
  }

  async discard(): Promise<void> {
    if (this.#ended) return;
    this.#ended = true;
    await system.unlinkFile(this.#path).catch(() => undefined);
    await this.#lease.release();
  }

  async #giveName(target: SourcePath, options: CommitOptions): Promise<BigIntStats> {
    const { shared, walker } = this.#store;
    try {
      return await shared.within(target.parent, options.derived !== true, async (folder) => {
        const name = await walker.newDiskName(folder, target.name);
        options.signal?.throwIfAborted();
        await this.#nameIn(folder, name, options);
        return this.#stats;
      });
    } catch (error) {
      if (systemCode(error) !== 'EXDEV') throw error;
      return this.#copyAcross(target, options);
    }
  }

  #copyAcross(target: SourcePath, options: CommitOptions): Promise<BigIntStats> {
    const { areas, walker } = this.#store;
    const path = target.parent;
    return walker.within(path, { create: true }, async ({ folder }) => {
      const name = await walker.newDiskName(folder, target.name);
      const area = await areas.near(path);
      const { stats } = await copyAcross(
        this.#path,
        { area, folder, path, name },
        { signal: options.signal, giveName: (beside) => this.#nameIn(folder, name, options, beside) },
      );
      await system.unlinkFile(this.#path).catch(() => undefined);
      if (options.derived !== true) await flushFolder(folder);
      return stats;
    });
  }

  /**
   * Moves the complete content, or its copy on another file system, to the name. Operations of this process
   * that replace the same name are serialized, so that the version checked for `ifMatch` is the one that is
   * replaced; another process may act between two system calls.
   */
  async #nameIn(folder: OpenFolder, name: string, options: CommitOptions, content: system.Name = this.#path) {
    if (options.createOnly === true) return nameFile(content, folder, name, true);
    await this.#store.locks.hold(await lockKey(folder, name), options, async () => {
      await takeRights(content, folder.at(name));
      if (options.ifMatch !== undefined) await requireVersion(folder.at(name), options.ifMatch);
      await nameFile(content, folder, name, false);
    });
  }
}

/** @throws ChangedMeanwhileError */
const requireVersion = async (path: system.Name, etag: string): Promise<void> => {
  const stats = await system.exactLstat(path).catch(() => undefined);
  if (stats?.isFile() !== true || system.etagOf(stats) !== etag) throw new errors.ChangedMeanwhileError();
};

/** Gives new content the permissions of the file that it replaces, plus read and write for this process. */
const takeRights = async (from: system.Name, target: system.Name): Promise<void> => {
  const old = await system.lstatOf(target).catch(() => undefined);
  if (old?.isFile() !== true) return;
  // Some file systems have no permissions and report an error, which does not prevent storing.
  await system.changeMode(from, (old.mode & 0o777) | 0o600).catch(() => undefined);
};

/** Rejects the root as a target of a write. */
export const refuseTarget = (target: SourcePath, options: port.PutOptions): void => {
  if (target.isRoot)
    throw options.createOnly === true ? new errors.AlreadyExistsError() : new errors.WrongKindError();
};

interface StagingOptions extends Pick<port.WriteOptions, 'derived'> {
  readonly near?: SourcePath | undefined;
}

/** Creates a temporary file, and removes it when `make` fails. */
const inArea = async (
  store: LocalStore,
  near: SourcePath | undefined,
  make: (lease: TempLease, name: string) => Promise<BigIntStats>,
): Promise<port.StagedFile> => {
  const lease = await system.attempt('stage', {}, async () =>
    (await store.areas.near(near ?? SourcePath.root)).lease(),
  );
  const name = randomUUID();
  try {
    return new StagedTemp(store, lease, name, await make(lease, name));
  } catch (error) {
    await system.unlinkFile(lease.folder.at(name)).catch(() => undefined);
    await lease.release();
    throw error;
  }
};

const filled = async ({ folder, isExact }: TempLease, name: string, fill: (fd: number) => Promise<void>) => {
  const path = folder.at(name);
  const fd = await system.attempt('stage', {}, () => system.createFile(path));
  try {
    await fill(fd);
  } catch (error) {
    await system.closeFile(fd).catch(() => undefined);
    throw error;
  }
  return system.attempt('stage', {}, async () => {
    // There these calls wait for no disk: the thread pool would take ten times as long.
    const stats = isExact ? fstatSync(fd, { bigint: true }) : undefined;
    if (stats !== undefined && stats.size <= QUICK_BYTES) {
      closeSync(fd);
      return stats;
    }
    // Network file systems may report write errors only now, and SMB and NTFS the final time.
    await system.closeFile(fd);
    return system.exactLstat(path);
  });
};

/**
 * Writes chunks to a temporary file, and flushes it unless it is `derived`. Leaves no file when it fails.
 * @throws errors of the chunks unchanged; StorageFullError and similar
 */
export const stageChunks = (
  store: LocalStore,
  chunks: AsyncIterable<Uint8Array>,
  options: StagingOptions,
): Promise<port.StagedFile> =>
  inArea(store, options.near, (lease, name) => filled(lease, name, (fd) => writeChunks(fd, chunks, options)));

/** Copies an open file to a temporary one. @throws errors of the system; the signal's reason */
export const stageCopy = (
  store: LocalStore,
  from: number,
  { near, signal }: port.StageOptions,
): Promise<port.StagedFile> =>
  inArea(store, near, (lease, name) => filled(lease, name, (fd) => store.copy(from, fd, signal)));

/** Links a local file into the area, unless files there inherit the group of the folder. */
const linkInto = async (folder: OpenFolder, name: string, file: port.LocalFile) => {
  if (((await system.followedStat(folder.self)).mode & SET_GROUP) !== 0n) return undefined;
  const path = folder.at(name);
  // On another file system, or without hard links, the file is copied.
  return (await succeeds(system.makeLink(file.path, path))) ? system.exactLstat(path) : undefined;
};

/**
 * Stages a local file: by a link on the same file system, else by a copy.
 * @throws CorruptError when it has another size; errors of the system; the signal's reason
 */
export const stageFile = async (
  store: LocalStore,
  file: port.LocalFile,
  { near, signal }: port.StageOptions,
): Promise<port.StagedFile> => {
  const staged = await inArea(store, near, async (lease, name) => {
    const linked = await linkInto(lease.folder, name, file);
    if (linked !== undefined) return linked;
    return system.reading(file.path, ({ fd: from }) =>
      filled(lease, name, (fd) => store.copy(from, fd, signal)),
    );
  });
  if (staged.size === file.size) return staged;
  await staged.discard();
  throw new errors.CorruptError({ detail: 'the file has another size than it should have' });
};
