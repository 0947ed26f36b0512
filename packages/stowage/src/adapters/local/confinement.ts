import { closeSync, constants, readlinkSync } from 'node:fs';
import { sep } from 'node:path';
import { systemCode } from '../../basics/files/system-errors.ts';
import { NotFoundError, orUndefined, StorageUnavailableError } from '../../errors/errors.ts';
import { type Name, closing, exactLstat, followedStat, openFile } from './system.ts';

/** An open folder. Operations through it affect this folder, even when its name is moved or replaced. */
export interface OpenFolder {
  /** Path of the folder itself, for calls that read it. */
  readonly self: string;
  /** Path of an entry of the folder. The last segment is not resolved: calls must not follow a link there. */
  at(name: Name): Name;
  /** Rejects with NotFoundError when the folder was moved. For confinements that cannot hold a handle. */
  verify(): Promise<void>;
  /** Closes the handle; never rejects. */
  close(): Promise<void>;
}

/** Opens folders so that no link leads out of the root. Errors are those of the system. */
export interface Confinement {
  openRoot(): Promise<OpenFolder>;
  /**
   * The root without a handle, at no cost: every call resolves its path anew, and fails with ENOENT when it
   * is gone. For operations that make a single call. Undefined where folders must be verified afterwards.
   */
  unheldRoot(): OpenFolder | undefined;
  /**
   * Opens a folder below the root in one call, at any depth. `missing`: one of the names does not exist.
   * `unclear`: it must be opened step by step, for example because of a link or a file in its path.
   */
  openAt(names: readonly string[]): Promise<OpenFolder | 'missing' | 'unclear'>;
  /** Opens a subfolder. A link, even to a folder, fails with ENOTDIR. */
  openChild(folder: OpenFolder, name: Name): Promise<OpenFolder>;
  /** Whether folders are held by handles, so that replacing a name between two calls has no effect. */
  readonly holds: boolean;
}

/** Opens the root for an operation. @throws StorageUnavailableError when it does not exist */
export const openRoot = async (confinement: Confinement): Promise<OpenFolder> => {
  try {
    return await confinement.openRoot();
  } catch (error) {
    if (systemCode(error) !== 'ENOENT' && systemCode(error) !== 'ENOTDIR') throw error;
    // The root was created when the store was opened: if it is gone, a disk may have been unmounted.
    throw new StorageUnavailableError({ detail: 'the root folder is missing', cause: error });
  }
};

// Linux: a handle that identifies an entry without access to its content, so that folders can be traversed
// without read permission.
const O_PATH = 0o10000000;
export const ROOT_FOLDER = O_PATH | constants.O_DIRECTORY;
export const SUBFOLDER = ROOT_FOLDER | constants.O_NOFOLLOW;

/** Path of an entry of the folder with this path. */
export const entryAt = (folder: string, name: Name): Name =>
  typeof name === 'string' ? `${folder}${sep}${name}` : Buffer.concat([Buffer.from(`${folder}${sep}`), name]);

/** A folder by its path, without a handle or verification. */
abstract class FolderAt implements OpenFolder {
  abstract readonly self: string;

  at(name: Name): Name {
    return entryAt(this.self, name);
  }

  async verify(): Promise<void> {}

  async close(): Promise<void> {}
}

class HandleFolder extends FolderAt {
  readonly #fd: number;
  #open = true;

  constructor(fd: number) {
    super();
    this.#fd = fd;
  }

  get self(): string {
    // After closing, the number may belong to another file.
    if (!this.#open) throw new Error('a folder was used after its handle was closed');
    return `/proc/self/fd/${this.#fd}`;
  }

  override async close(): Promise<void> {
    if (!this.#open) return;
    this.#open = false;
    // Synchronous: closing a handle without access rights (O_PATH) never waits for a file system.
    closeSync(this.#fd);
  }
}

/** Current path of an open folder, links resolved; undefined without /proc. Reads no disk. */
const whereIs = ({ self }: OpenFolder): string | undefined => orUndefined(() => readlinkSync(self));

const pathBelow = (root: string, names: readonly string[]): string =>
  [root === '/' ? '' : root, ...names].join('/');

/**
 * Opens folders segment by segment, each through the handle of its parent (`/proc/self/fd/N/name` corresponds
 * to openat(N, name) in C), never through a link; or in one call, when the kernel reports that the opened
 * folder has exactly the expected path, so that no link was followed. A program that replaces a folder by a
 * link at any time changes only the meaning of the name, not the opened folder.
 */
export class HandleConfinement implements Confinement {
  readonly holds = true;
  readonly #root: string;
  /** Path of the root, with links resolved. */
  #realRoot: string | undefined;

  constructor(root: string) {
    this.#root = root;
  }

  /** Whether the system has such handles: Linux with /proc. */
  static async isAvailable(root: string): Promise<boolean> {
    if (process.platform !== 'linux') return false;
    return closing(new HandleConfinement(root).openRoot(), async ({ self }) => {
      // Rejects for a root that this process may not enter: later it may, and then through handles.
      const entered = await followedStat(`${root}/.`);
      const held = await followedStat(`${self}/.`).catch(() => undefined);
      return held?.ino === entered.ino && held.dev === entered.dev;
    });
  }

  async openRoot(): Promise<OpenFolder> {
    // The root itself may be a link, because the administrator chose it.
    const root = new HandleFolder(await openFile(this.#root, ROOT_FOLDER));
    const path = whereIs(root);
    // A replacement character may stand for bytes that are not valid text.
    this.#realRoot = path?.includes('\uFFFD') === true ? undefined : path;
    return root;
  }

  async openAt(names: readonly string[]): Promise<OpenFolder | 'missing' | 'unclear'> {
    if (this.#realRoot === undefined) return 'unclear';
    let folder: HandleFolder;
    try {
      folder = new HandleFolder(await openFile(pathBelow(this.#root, names), SUBFOLDER));
    } catch (error) {
      return systemCode(error) === 'ENOENT' ? 'missing' : 'unclear';
    }
    if (whereIs(folder) === pathBelow(this.#realRoot, names)) return folder;
    await folder.close();
    return 'unclear';
  }

  unheldRoot(): OpenFolder {
    // The path may contain links, because the administrator chose it.
    const self = this.#root;
    return { self, at: (name) => entryAt(self, name), verify: async () => {}, close: async () => {} };
  }

  async openChild(folder: OpenFolder, name: Name): Promise<OpenFolder> {
    return new HandleFolder(await openFile(folder.at(name), SUBFOLDER));
  }
}

interface Identity {
  readonly path: string;
  readonly dev: bigint;
  readonly ino: bigint;
}

const notADirectory = (path: string): NodeJS.ErrnoException =>
  Object.assign(new Error(`not a directory: ${path}`), { code: 'ENOTDIR' });

class PathFolder extends FolderAt {
  readonly self: string;
  /** The root and every folder down to this one. */
  readonly chain: readonly Identity[];

  constructor(chain: readonly Identity[]) {
    super();
    this.chain = chain;
    this.self = chain.at(-1)?.path ?? '';
  }

  override async verify(): Promise<void> {
    for (const [index, { path, dev, ino }] of this.chain.entries()) {
      // The root may be a link of the administrator; folders below it may not.
      const now = await (index === 0 ? followedStat(path) : exactLstat(path)).catch(() => undefined);
      if (now?.isDirectory() !== true || now.dev !== dev || now.ino !== ino) {
        throw new NotFoundError({ detail: 'a folder was replaced while it was in use' });
      }
    }
  }
}

/**
 * For systems without folder handles: checks before an operation that every component is a real folder, and
 * after it that it is still the same one. Weaker than handles: a swap that is undone within one operation is
 * not detected, and a detected one may have had its effect.
 */
export class PathConfinement implements Confinement {
  readonly holds = false;
  readonly #root: string;

  constructor(root: string) {
    this.#root = root;
  }

  async openRoot(): Promise<OpenFolder> {
    const stats = await followedStat(this.#root);
    if (!stats.isDirectory()) throw notADirectory(this.#root);
    return new PathFolder([{ path: this.#root, dev: stats.dev, ino: stats.ino }]);
  }

  unheldRoot(): undefined {
    return undefined;
  }

  async openAt(): Promise<'unclear'> {
    return 'unclear';
  }

  async openChild(folder: OpenFolder, name: Name): Promise<OpenFolder> {
    if (!(folder instanceof PathFolder)) throw new TypeError('a folder of another confinement');
    const path = folder.at(name).toString();
    const stats = await exactLstat(path);
    if (!stats.isDirectory()) throw notADirectory(path);
    const child = new PathFolder([...folder.chain, { path, dev: stats.dev, ino: stats.ino }]);
    await child.verify();
    return child;
  }
}
