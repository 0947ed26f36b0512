import { randomUUID } from 'node:crypto';
import { constants } from 'node:fs';
import { StorageDeniedError } from '../../errors/errors.ts';
import { readProcessMark } from '../../storage/process-mark.ts';
import { systemCode } from '../../storage/system-errors.ts';
import type { Confinement, OpenFolder } from './confinement.ts';
import { TEMP_PREFIX } from './names.ts';
import { emptyFolder } from './remove-tree.ts';
import { makeDirectory, openFile, removeEmpty } from './system.ts';

const ATTEMPTS = 10;
const NEW_FILE = constants.O_WRONLY | constants.O_CREAT | constants.O_EXCL | (constants.O_NOFOLLOW ?? 0);

/** A new, empty file of the area that is open for writing. */
export interface NewTemp {
  readonly fd: number;
  readonly name: string;
}

/** Creates a file that nothing has the name of. */
export const createFile = (folder: OpenFolder, name: string): Promise<number> =>
  openFile(folder.at(name), NEW_FILE, 0o666);

/**
 * Where an adapter keeps what has no name yet: `<root>/.stowage-tmp/<instance>`, on the file system of the root, so that a link or a rename
 * gives a file its name. The instance's name tells the process, so that the leftovers of a killed one can be told from files in use.
 */
export class TempArea {
  readonly instance: string;
  readonly #confinement: Confinement;
  #opening: Promise<OpenFolder> | undefined;

  private constructor(confinement: Confinement, instance: string) {
    this.#confinement = confinement;
    this.instance = instance;
  }

  static async create(confinement: Confinement): Promise<TempArea> {
    return new TempArea(confinement, `${await readProcessMark()}-${randomUUID().slice(0, 8)}`);
  }

  /** The folder of this instance, made when it is not there. It stays open until `close`. */
  async folder(): Promise<OpenFolder> {
    this.#opening ??= this.#make();
    try {
      return await this.#opening;
    } catch (error) {
      this.#opening = undefined;
      throw error;
    }
  }

  /** A new file for content. */
  async newFile(): Promise<NewTemp> {
    const name = randomUUID();
    const folder = await this.folder();
    try {
      return { fd: await createFile(folder, name), name };
    } catch (error) {
      if (systemCode(error) !== 'ENOENT') throw error;
      // Somebody has cleared the area away under a running service.
      await this.#forget(folder);
      return { fd: await createFile(await this.folder(), name), name };
    }
  }

  /** Removes the area with all that is left in it. */
  async close(): Promise<void> {
    const folder = await this.#opening?.catch(() => undefined);
    if (folder === undefined) return;
    this.#opening = undefined;
    await emptyFolder(this.#confinement, folder).catch(() => undefined);
    await folder.close();
    const root = await this.#confinement.openRoot();
    try {
      await removeEmpty(root.at(`${TEMP_PREFIX}/${this.instance}`));
      // Fails while other instances have their folders in it.
      await removeEmpty(root.at(TEMP_PREFIX));
    } catch {
      // What is left is swept at the next start.
    } finally {
      await root.close();
    }
  }

  async #forget(folder: OpenFolder): Promise<void> {
    if ((await this.#opening) === folder) this.#opening = undefined;
    await folder.close();
  }

  async #make(): Promise<OpenFolder> {
    const root = await this.#confinement.openRoot();
    try {
      for (let attempt = 1; ; attempt += 1) {
        try {
          return await this.#makeIn(root);
        } catch (error) {
          // Another instance has closed and taken the empty folder away at the same moment.
          if (systemCode(error) !== 'ENOENT' || attempt === ATTEMPTS) throw error;
        }
      }
    } catch (error) {
      if (systemCode(error) !== 'ENOTDIR') throw error;
      throw new StorageDeniedError({ detail: `${TEMP_PREFIX} in the root is not a folder`, cause: error });
    } finally {
      await root.close();
    }
  }

  async #makeIn(root: OpenFolder): Promise<OpenFolder> {
    await makeUnlessThere(root, TEMP_PREFIX, 0o777);
    const area = await this.#confinement.openChild(root, TEMP_PREFIX);
    try {
      // Nobody else looks into unfinished files.
      await makeUnlessThere(area, this.instance, 0o700);
      return await this.#confinement.openChild(area, this.instance);
    } finally {
      await area.close();
    }
  }
}

const makeUnlessThere = async (folder: OpenFolder, name: string, mode: number): Promise<void> => {
  await makeDirectory(folder.at(name), mode).catch((error: unknown) => {
    if (systemCode(error) !== 'EEXIST') throw error;
  });
};
