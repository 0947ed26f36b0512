import { closeSync, constants } from 'node:fs';
import { NotFoundError, UnsafeNameError, WrongKindError } from '../../errors/errors.ts';
import { decomposed } from '../support/spellings.ts';
import type { SourcePath } from '../../storage/source-path.ts';
import { cannotFlush, ifCode, systemCode } from '../../basics/files/system-errors.ts';
import { openRoot, type Confinement, type OpenFolder } from './confinement.ts';
import { SpellingIndex, hasOtherSpellings, isReserved } from './names.ts';
import { exactLstat, flushAll, isThere, makeDirectory, openFile } from './system.ts';

/** An open folder, with the names on disk that led to it. */
interface OpenedFolder {
  readonly folder: OpenFolder;
  readonly diskNames: readonly string[];
}

interface EnterOptions {
  readonly create?: boolean;
  /** Error for a file as last segment: `missing` (default) where an entry below it was requested. */
  readonly file?: 'missing' | 'wrong-kind';
  /** The operation makes a single call in the folder, so the root need not be held for it. */
  readonly isOneCall?: boolean;
}

/** Flushes the entries of a folder, so that a new name survives a power failure. */
export const flushFolder = async (folder: OpenFolder): Promise<void> => {
  const fd = await openFile(folder.self, constants.O_RDONLY | (constants.O_DIRECTORY ?? 0)).catch(
    () => undefined,
  );
  // The folder is writable but not readable, or the system cannot open folders: flushing is not possible.
  if (fd === undefined) return;
  try {
    await flushAll(fd);
  } catch (error) {
    if (!cannotFlush(error)) throw error;
  } finally {
    // Synchronous: closing a folder never waits for a file system.
    closeSync(fd);
  }
};

/** Finds folders and names inside a root, never through a link. Errors of the system are passed on. */
export class FolderWalker {
  readonly confinement: Confinement;
  readonly spellings = new SpellingIndex();

  constructor(confinement: Confinement) {
    this.confinement = confinement;
  }

  /**
   * Runs `work` in an open folder.
   * @throws NotFoundError, WrongKindError (a file where a folder must be), UnsafeNameError (would create a
   * reserved name)
   */
  async within<T>(
    path: SourcePath,
    options: EnterOptions,
    work: (opened: OpenedFolder) => Promise<T>,
  ): Promise<T> {
    const unheld = options.isOneCall === true && path.isRoot ? this.confinement.unheldRoot() : undefined;
    try {
      const opened =
        unheld === undefined ? await this.#open(path, options) : { folder: unheld, diskNames: [] };
      try {
        const result = await work(opened);
        await opened.folder.verify();
        return result;
      } finally {
        await opened.folder.close();
      }
    } catch (error) {
      // The root itself may be missing, which is a different error.
      if (unheld !== undefined) await (await openRoot(this.confinement)).close();
      throw error;
    }
  }

  /** Opens a folder; the caller closes it. @throws as `within` */
  async open(path: SourcePath, options: EnterOptions = {}): Promise<OpenFolder> {
    return (await this.#open(path, options)).folder;
  }

  /** Opens an existing folder in one call when the names on disk are those of its path; else step by step. */
  async #open(path: SourcePath, options: EnterOptions): Promise<OpenedFolder> {
    const { segments } = path;
    if (!path.isRoot && !segments.some(isReserved)) {
      const folder = await this.confinement.openAt(segments);
      if (typeof folder === 'object') return { folder, diskNames: segments };
      if (folder === 'missing' && options.create !== true && !segments.some(hasOtherSpellings)) {
        // The root itself may be missing, which is a different error.
        await (await openRoot(this.confinement)).close();
        throw new NotFoundError();
      }
    }
    return this.#walk(path, options, await openRoot(this.confinement));
  }

  /** The name of an entry on disk, or for creating it: composed, unless only another spelling exists. */
  async diskName(folder: OpenFolder, name: string): Promise<string> {
    if (isReserved(name)) throw new NotFoundError({ detail: 'a reserved name' });
    if (!hasOtherSpellings(name) || (await isThere(folder.at(name)))) return name;
    const other = decomposed(name);
    if (other !== undefined && (await isThere(folder.at(other)))) return other;
    return (await this.spellings.find(folder, name)) ?? name;
  }

  /** As `diskName`, for an entry to be created. @throws UnsafeNameError for a reserved name */
  async newDiskName(folder: OpenFolder, name: string): Promise<string> {
    if (isReserved(name)) throw new UnsafeNameError();
    return this.diskName(folder, name);
  }

  async #walk(path: SourcePath, options: EnterOptions, root: OpenFolder): Promise<OpenedFolder> {
    let folder = root;
    const diskNames: string[] = [];
    try {
      for (const [index, segment] of path.segments.entries()) {
        const isLast = index === path.segments.length - 1;
        const next = await this.#enter(folder, segment, isLast ? options : { ...options, file: 'missing' });
        diskNames.push(next.diskName);
        await folder.close();
        folder = next.folder;
      }
      return { folder, diskNames };
    } catch (error) {
      await folder.close();
      throw error;
    }
  }

  async #enter(parent: OpenFolder, segment: string, options: EnterOptions) {
    if (isReserved(segment)) throw options.create === true ? new UnsafeNameError() : new NotFoundError();
    for (const spelling of [
      () => segment,
      () => decomposed(segment),
      () => this.spellings.find(parent, segment),
    ]) {
      const diskName = await spelling();
      if (diskName === undefined) continue;
      try {
        return { folder: await this.confinement.openChild(parent, diskName), diskName };
      } catch (error) {
        // Decomposed letters are longer: a name that is too long cannot exist.
        const isTooLong = diskName !== segment && systemCode(error) === 'ENAMETOOLONG';
        if (systemCode(error) !== 'ENOENT' && !isTooLong)
          throw await this.#explain(error, parent, diskName, options);
      }
    }
    if (options.create !== true) throw new NotFoundError();
    await this.#make(parent, segment);
    return { folder: await this.confinement.openChild(parent, segment), diskName: segment };
  }

  async #make(parent: OpenFolder, name: string): Promise<void> {
    // Where another operation was faster, opening the folder will show its kind.
    await makeDirectory(parent.at(name), 0o777).catch(ifCode('EEXIST'));
    await flushFolder(parent);
  }

  async #explain(error: unknown, parent: OpenFolder, name: string, options: EnterOptions): Promise<unknown> {
    if (systemCode(error) !== 'ENOTDIR' && systemCode(error) !== 'ELOOP') return error;
    if (options.create === true) return new WrongKindError();
    if (options.file !== 'wrong-kind') return new NotFoundError({ cause: error });
    const stats = await exactLstat(parent.at(name)).catch(() => undefined);
    return stats?.isFile() === true ? new WrongKindError() : new NotFoundError({ cause: error });
  }
}

/** An open folder that concurrent operations share to name files in it. */
const shareFolder = (opening: Promise<OpenFolder>) => {
  let members = 0;
  let isDirty = false;
  let end = (): void => undefined;
  const close = async (): Promise<void> => {
    const folder = await opening.catch(() => undefined);
    try {
      if (isDirty && folder !== undefined) await flushFolder(folder);
    } finally {
      await folder?.close();
    }
  };
  const ended = new Promise<void>((resolve) => (end = resolve)).then(close);
  // Its members report the failure.
  ended.catch(() => undefined);
  return {
    opening,
    /** Resolves when all members have named their files, and a name that must be durable is flushed. */
    ended,
    enter: (): void => void (members += 1),
    leave: (hasNamed: boolean): void => {
      isDirty ||= hasNamed;
      members -= 1;
      if (members === 0) end();
    },
  };
};

/**
 * Shares folders between operations that name files in them. Operations that arrive before the first of them
 * has named its file share the handle and one flush of the folder, which saves many flushes for the files of
 * a form. Memory: the folders in use.
 */
export class SharedFolders {
  readonly #walker: FolderWalker;
  readonly #shared = new Map<string, ReturnType<typeof shareFolder>>();

  constructor(walker: FolderWalker) {
    this.#walker = walker;
  }

  /**
   * Names a file in a folder, which is created when it is missing. Resolves when the name is flushed, if
   * `isDurable`. Other operations wait for `work`, which must be short.
   * @throws as FolderWalker.within
   */
  async within<T>(
    path: SourcePath,
    isDurable: boolean,
    work: (folder: OpenFolder) => Promise<T>,
  ): Promise<T> {
    const key = path.toString();
    const known = this.#shared.get(key);
    const shared = known ?? shareFolder(this.#walker.open(path, { create: true }));
    this.#shared.set(key, shared);
    shared.enter();
    let hasNamed = false;
    try {
      const folder = await (known === undefined ? shared.opening : shared.opening.catch(() => undefined));
      if (folder !== undefined) {
        const result = await work(folder);
        hasNamed = isDurable;
        await folder.verify();
        return result;
      }
    } finally {
      // Later operations open the folder anew: its name may refer to another one by then.
      if (this.#shared.get(key) === shared) this.#shared.delete(key);
      shared.leave(hasNamed);
      if (hasNamed) await shared.ended;
    }
    // A failure of a shared folder is retried, so that each operation reports its own error.
    return this.within(path, isDurable, work);
  }
}
