import { StorageDeniedError } from '../../errors/errors.ts';
import { systemCode } from '../../basics/files/system-errors.ts';
import { makeTemporaryFolder, sweepTemporaryFolders } from '../../basics/files/temporary-folder.ts';
import { openRoot, type Confinement, type OpenFolder } from './confinement.ts';
import { TEMP_PREFIX } from './names.ts';
import { emptyFolder } from './trees.ts';
import { makeDirectory, removeEmpty } from './system.ts';

const ATTEMPTS = 100;
const ELSEWHERE_PREFIX = 'stowage-area-';
/** The root may not be written, and folders in it perhaps may: a common layout of web hosts. */
const NOT_WRITABLE: ReadonlySet<string | undefined> = new Set(['EACCES', 'EPERM', 'EROFS']);
/** The right to use the area until `release`. */
export interface TempLease {
  /** The folder of this instance. */
  readonly folder: OpenFolder;
  /** To be called when nothing of the user's is left in it. May be called twice; never rejects. */
  release(): Promise<void>;
}

/**
 * Where an adapter keeps what has no name yet: `.stowage-tmp/<instance>` in the root or in a volume mounted
 * below it, on the same file system, so that a link or a rename gives a file its name. The instance's name
 * identifies the process, so that the leftovers of a killed one can be told from files in use. The folder is
 * there only while it is used. Where the root may not be written it is a folder of the system's own for
 * temporary files.
 */
export class TempArea {
  readonly instance: string;
  readonly #confinement: Confinement;
  readonly #confinementOf: (root: string) => Confinement;
  /** A folder of the system's own for temporary files, while it stands in for the one in the root. */
  #elsewhere: string | undefined;
  #sweeping: Promise<void> | undefined;
  #users = 0;
  #opening: Promise<OpenFolder> | undefined;
  #clearing: Promise<void> = Promise.resolve();

  /** @param confinementOf confines to a folder outside of the root */
  constructor(confinement: Confinement, confinementOf: (root: string) => Confinement, instance: string) {
    this.#confinement = confinement;
    this.#confinementOf = confinementOf;
    this.instance = instance;
  }

  /** Makes the area when it is not there. Errors of the system. */
  async lease(): Promise<TempLease> {
    this.#users += 1;
    // Not while the last user's folder is being taken away.
    const opening = (this.#opening ??= this.#clearing.then(() => this.#make()));
    try {
      const folder = await opening;
      let isHeld = true;
      const release = async (): Promise<void> => {
        if (isHeld) {
          isHeld = false;
          await this.#release();
        }
      };
      return { folder, release };
    } catch (error) {
      if (this.#opening === opening) this.#opening = undefined;
      this.#users -= 1;
      throw error;
    }
  }

  /** Removes the area with all that is left in it. */
  async close(): Promise<void> {
    const folder = await this.#opening?.catch(() => undefined);
    if (folder !== undefined) await emptyFolder(this.#confinement, folder).catch(() => undefined);
    await this.#clear();
  }

  async #release(): Promise<void> {
    this.#users -= 1;
    if (this.#users === 0) await this.#clear();
  }

  #clear(): Promise<void> {
    const opening = this.#opening;
    this.#opening = undefined;
    this.#clearing = this.#clearing.then(async () => {
      await (await opening?.catch(() => undefined))?.close();
      // A folder that cannot be removed is swept at the next start.
      if (opening !== undefined) await this.#removeFolders().catch(() => undefined);
    });
    return this.#clearing;
  }

  async #removeFolders(): Promise<void> {
    if (this.#elsewhere !== undefined) {
      await removeEmpty(this.#elsewhere);
      this.#elsewhere = undefined;
      return;
    }
    const root = await this.#confinement.openRoot();
    try {
      await removeEmpty(root.at(`${TEMP_PREFIX}/${this.instance}`));
      // Fails while other instances have their folders in it.
      await removeEmpty(root.at(TEMP_PREFIX));
    } finally {
      await root.close();
    }
  }

  async #make(): Promise<OpenFolder> {
    const root = await openRoot(this.#confinement);
    try {
      for (let attempt = 1; ; attempt += 1) {
        try {
          return await this.#makeIn(root);
        } catch (error) {
          // Another instance has taken the empty folder away at the same moment.
          if (systemCode(error) !== 'ENOENT' || attempt === ATTEMPTS) throw error;
        }
      }
    } catch (error) {
      if (NOT_WRITABLE.has(systemCode(error))) return await this.#makeElsewhere();
      if (systemCode(error) !== 'ENOTDIR') throw error;
      throw new StorageDeniedError({ detail: `${TEMP_PREFIX} in the root is not a folder`, cause: error });
    } finally {
      await root.close();
    }
  }

  /** Files are then copied to a reserved name beside their target, unless it is on the same file system. */
  async #makeElsewhere(): Promise<OpenFolder> {
    await (this.#sweeping ??= sweepTemporaryFolders(ELSEWHERE_PREFIX));
    this.#elsewhere = await makeTemporaryFolder(ELSEWHERE_PREFIX);
    return this.#confinementOf(this.#elsewhere).openRoot();
  }

  async #makeIn(root: OpenFolder): Promise<OpenFolder> {
    await makeUnlessThere(root, TEMP_PREFIX, 0o777);
    const area = await this.#confinement.openChild(root, TEMP_PREFIX);
    try {
      // No other program looks into unfinished files.
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
