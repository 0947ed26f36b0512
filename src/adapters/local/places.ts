import { constants } from 'node:fs';
import { NotFoundError, UnsafeNameError, WrongKindError } from '../../errors/errors.ts';
import { decomposed } from '../../storage/decomposed.ts';
import type { SourcePath } from '../../storage/source-path.ts';
import { systemCode } from '../../storage/system-errors.ts';
import { openRoot, type Confinement, type OpenFolder } from './confinement.ts';
import { hasMixedSpellings, isReserved, mixedSpellingOf } from './names.ts';
import {
  closeFile,
  exactLstat,
  flushAll,
  lstatOf,
  makeDirectory,
  openDirectory,
  openFile,
} from './system.ts';

/** An open folder and the names, as they lie on disk, that led to it. */
export interface Place {
  readonly folder: OpenFolder;
  readonly diskNames: readonly string[];
}

/** How a folder is entered. */
export interface EnterOptions {
  /** Makes the folders that are missing. */
  readonly create?: boolean;
  /** What a file in the last place means: `missing` where something below it was asked for (default), `wrong-kind` where it was itself. */
  readonly file?: 'missing' | 'wrong-kind';
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

/** Entries that are read in one go while a spelling is searched. */
const BATCH = 1000;

/**
 * The partly decomposed spelling under which a name lies in a folder; of several the first in code-unit order. Reads the names of the folder,
 * but only for a name that can have such a spelling; to be asked when there is neither a composed nor a decomposed one.
 */
const findMixedSpelling = async (folder: OpenFolder, name: string): Promise<string | undefined> => {
  if (!hasMixedSpellings(name)) return undefined;
  const isSpelling = mixedSpellingOf(name);
  // A folder that may be entered and not read shows no names either.
  const directory = await openDirectory(folder.self, { encoding: 'utf8', bufferSize: BATCH }).catch(
    () => undefined,
  );
  let found: string | undefined;
  for await (const { name: raw } of directory ?? []) {
    if (isSpelling(raw) && (found === undefined || raw < found)) found = raw;
  }
  return found;
};

/** Finds folders and names inside a root, without ever going through a link. Errors of the system pass as they are. */
export class Places {
  readonly confinement: Confinement;

  constructor(confinement: Confinement) {
    this.confinement = confinement;
  }

  /**
   * Does something in a folder while it is open.
   * @throws NotFoundError, WrongKindError (a file where a folder must be), UnsafeNameError (would create a reserved name)
   */
  async within<T>(path: SourcePath, options: EnterOptions, work: (place: Place) => Promise<T>): Promise<T> {
    const place = await this.#walk(path, options);
    try {
      const result = await work(place);
      await place.folder.verify();
      return result;
    } finally {
      await place.folder.close();
    }
  }

  /**
   * The name under which an entry lies on disk, or would be made: composed, unless only a decomposed one, wholly or in part, is there.
   * @throws NotFoundError for a reserved name, which has nothing to be found
   */
  async diskName(folder: OpenFolder, name: string): Promise<string> {
    if (isReserved(name)) throw new NotFoundError({ detail: 'a reserved name' });
    const other = decomposed(name);
    if (other === undefined || (await this.#isThere(folder, name))) return name;
    if (await this.#isThere(folder, other)) return other;
    return (await findMixedSpelling(folder, name)) ?? name;
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

  async #walk(path: SourcePath, options: EnterOptions): Promise<Place> {
    let folder = await openRoot(this.confinement);
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
      () => findMixedSpelling(parent, segment),
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
      // Somebody else was quicker; what it is shows when it is opened.
      if (systemCode(error) !== 'EEXIST') throw error;
    });
    await flushFolder(parent);
  }

  /** What it means that a name could not be entered. */
  async #explain(error: unknown, parent: OpenFolder, name: string, options: EnterOptions): Promise<unknown> {
    if (systemCode(error) !== 'ENOTDIR' && systemCode(error) !== 'ELOOP') return error;
    if (options.create === true) return new WrongKindError();
    if (options.file !== 'wrong-kind') return new NotFoundError({ cause: error });
    const stats = await exactLstat(parent.at(name)).catch(() => undefined);
    return stats?.isFile() === true ? new WrongKindError() : new NotFoundError({ cause: error });
  }
}
