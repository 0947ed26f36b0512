import { constants } from 'node:fs';
import { NotFoundError, UnsafeNameError, WrongKindError } from '../../errors/errors.ts';
import { decomposed } from '../support/spellings.ts';
import type { SourcePath } from '../../storage/source-path.ts';
import { systemCode } from '../../basics/files/system-errors.ts';
import { openRoot, type Confinement, type OpenFolder } from './confinement.ts';
import { SpellingIndex, hasOtherSpellings, isReserved } from './names.ts';
import { closeFile, exactLstat, flushAll, lstatOf, makeDirectory, openFile } from './system.ts';

/** An open folder and the names, as they lie on disk, that led to it. */
export interface OpenedFolder {
  readonly folder: OpenFolder;
  readonly diskNames: readonly string[];
}

/** How a folder is entered. */
export interface EnterOptions {
  readonly create?: boolean;
  /**
   * What a last segment that is a file means: `missing` where something below it was asked for (default),
   * `wrong-kind` where it was itself.
   */
  readonly file?: 'missing' | 'wrong-kind';
  /** The work makes one call in the folder: there is no need to hold the root for it. */
  readonly isOneCall?: boolean;
}

/** Writes what a folder lists to the disk, so that a name given before survives a power failure. */
export const flushFolder = async (folder: OpenFolder): Promise<void> => {
  const fd = await openFile(folder.self, constants.O_RDONLY | (constants.O_DIRECTORY ?? 0)).catch(
    () => undefined,
  );
  // A folder that may be written but not read, or a system that opens no folders: it cannot be done there.
  if (fd === undefined) return;
  try {
    await flushAll(fd);
  } catch (error) {
    if (systemCode(error) !== 'EINVAL' && systemCode(error) !== 'ENOTSUP') throw error;
  } finally {
    await closeFile(fd);
  }
};

/** Finds folders and names inside a root, never through a link. Errors of the system pass. */
export class FolderWalker {
  readonly confinement: Confinement;
  readonly spellings = new SpellingIndex();

  constructor(confinement: Confinement) {
    this.confinement = confinement;
  }

  /**
   * Does something in a folder while it is open.
   * @throws NotFoundError, WrongKindError (a file where a folder must be), UnsafeNameError (would create a
   *   reserved name)
   */
  async within<T>(
    path: SourcePath,
    options: EnterOptions,
    work: (opened: OpenedFolder) => Promise<T>,
  ): Promise<T> {
    const unheld = this.#unheldRoot(path, options);
    try {
      const opened = await this.#walk(path, options, unheld ?? (await openRoot(this.confinement)));
      try {
        const result = await work(opened);
        await opened.folder.verify();
        return result;
      } finally {
        await opened.folder.close();
      }
    } catch (error) {
      // The missing folder may be the root itself, which is another error.
      if (unheld !== undefined) await (await openRoot(this.confinement)).close();
      throw error;
    }
  }

  /** Opens a folder, or makes it; the caller closes it. @throws as `within` */
  async openOrMake(path: SourcePath): Promise<OpenFolder> {
    return (await this.#walk(path, { create: true }, await openRoot(this.confinement))).folder;
  }

  /** Opens a folder; the caller closes it. Errors of the system, and NotFoundError. */
  async open(path: SourcePath): Promise<OpenFolder> {
    return (await this.#walk(path, {}, await this.confinement.openRoot())).folder;
  }

  /** A way down needs the root for its first step alone, unless that step makes a folder. */
  #unheldRoot(path: SourcePath, { create, isOneCall }: EnterOptions): OpenFolder | undefined {
    return create !== true && (isOneCall === true || !path.isRoot)
      ? this.confinement.unheldRoot()
      : undefined;
  }

  /**
   * The name under which an entry lies on disk, or would be made: composed, unless it is there in another
   * spelling only.
   * @throws NotFoundError for a reserved name, which has nothing to be found
   */
  async diskName(folder: OpenFolder, name: string): Promise<string> {
    if (isReserved(name)) throw new NotFoundError({ detail: 'a reserved name' });
    if (!hasOtherSpellings(name) || (await this.#isThere(folder, name))) return name;
    const other = decomposed(name);
    if (other !== undefined && (await this.#isThere(folder, other))) return other;
    return (await this.spellings.find(folder, name)) ?? name;
  }

  /** As `diskName`, for an entry that is to be made. @throws UnsafeNameError for a reserved name */
  async newDiskName(folder: OpenFolder, name: string): Promise<string> {
    if (isReserved(name)) throw new UnsafeNameError();
    return this.diskName(folder, name);
  }

  async #isThere(folder: OpenFolder, name: string): Promise<boolean> {
    return lstatOf(folder.at(name)).then(
      () => true,
      () => false,
    );
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

  async #enter(
    parent: OpenFolder,
    segment: string,
    options: EnterOptions,
  ): Promise<{ folder: OpenFolder; diskName: string }> {
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
        if (systemCode(error) !== 'ENOENT') throw await this.#explain(error, parent, diskName, options);
      }
    }
    if (options.create !== true) throw new NotFoundError();
    await this.#make(parent, segment);
    return { folder: await this.confinement.openChild(parent, segment), diskName: segment };
  }

  async #make(parent: OpenFolder, name: string): Promise<void> {
    await makeDirectory(parent.at(name), 0o777).catch((error: unknown) => {
      // Another operation was quicker; what it is shows when it is opened.
      if (systemCode(error) !== 'EEXIST') throw error;
    });
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
