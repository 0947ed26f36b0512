import { closeSync, constants, readlinkSync } from 'node:fs';
import { sep } from 'node:path';
import { systemCode } from '../../basics/files/system-errors.ts';
import { NotFoundError, StorageUnavailableError } from '../../errors/errors.ts';
import { type Name, exactLstat, followedStat, openFile } from './system.ts';

/** An open folder: what is done through it happens in this very folder, wherever its name leads by now. */
export interface OpenFolder {
  /** The folder itself, for calls that read it. */
  readonly self: string;
  /**
   * Where an entry of the folder is. The last segment is not resolved: calls must not follow a link there.
   */
  at(name: Name): Name;
  /** Rejects with NotFoundError when the folder was moved. For ways of access that cannot hold it. */
  verify(): Promise<void>;
  /** Frees the handle; never rejects. */
  close(): Promise<void>;
}

/** How folders are opened so that no link leads out of the root. Errors are those of the system. */
export interface Confinement {
  openRoot(): Promise<OpenFolder>;
  /**
   * The root without holding it, for free: every call finds it anew, and fails with ENOENT where it is gone.
   * For work that has one call to make in it. Undefined where folders have to be compared afterwards.
   */
  unheldRoot(): OpenFolder | undefined;
  /**
   * Opens a folder below the root in one call, however deep it lies. `missing`: nothing has one of the names.
   * `unclear`: it may be there, and has to be opened step by step, as where a link or a file is on the way.
   */
  openAt(names: readonly string[]): Promise<OpenFolder | 'missing' | 'unclear'>;
  /** Opens a folder inside another one. A link, even to a folder, is ENOTDIR. */
  openChild(folder: OpenFolder, name: Name): Promise<OpenFolder>;
  /** Whether folders are held by handles, so that a swap of a name between two calls changes nothing. */
  readonly holds: boolean;
}

/** Opens the root for an operation. @throws StorageUnavailableError when it is not there */
export const openRoot = async (confinement: Confinement): Promise<OpenFolder> => {
  try {
    return await confinement.openRoot();
  } catch (error) {
    if (systemCode(error) !== 'ENOENT' && systemCode(error) !== 'ENOTDIR') throw error;
    // Made once, when the store was opened: a root that is gone since may be a disk that is not mounted any
    // more.
    throw new StorageUnavailableError({ detail: 'the root folder is missing', cause: error });
  }
};

// Linux: a handle that names an entry and gives no access to its content, so that folders need no read
// permission to be walked through.
export const O_PATH = 0o10000000;
const FOLDER = O_PATH | constants.O_DIRECTORY;
const CHILD = FOLDER | constants.O_NOFOLLOW;

/** A folder by a path: nothing is held, and nothing has to be compared. */
abstract class FolderAt implements OpenFolder {
  abstract readonly self: string;

  at(name: Name): Name {
    if (typeof name === 'string') return `${this.self}${sep}${name}`;
    return Buffer.concat([Buffer.from(`${this.self}${sep}`), name]);
  }

  async verify(): Promise<void> {}

  async close(): Promise<void> {}
}

/** The handle is the folder. */
class HandleFolder extends FolderAt {
  readonly #fd: number;
  #open = true;

  constructor(fd: number) {
    super();
    this.#fd = fd;
  }

  get self(): string {
    // A number may belong to another file once it is closed.
    if (!this.#open) throw new Error('a folder was used after its handle was closed');
    return `/proc/self/fd/${this.#fd}`;
  }

  override async close(): Promise<void> {
    if (!this.#open) return;
    this.#open = false;
    // No wait: the system asks no file system to close a handle that gives no access (O_PATH).
    closeSync(this.#fd);
  }
}

/** The root by its path, which may lead through links: they are the administrator's, not the clients'. */
class UnheldRoot extends FolderAt {
  readonly self: string;

  constructor(root: string) {
    super();
    this.self = root;
  }
}

/** Where an open folder lies now, all links resolved. The system knows that without asking a disk. */
const whereIs = (folder: OpenFolder): string => readlinkSync(folder.self);

const pathBelow = (root: string, names: readonly string[]): string =>
  [root === '/' ? '' : root, ...names].join('/');

/**
 * Opens folders segment by segment, each through the handle of the one before (`/proc/self/fd/N/name` is what
 * openat(N, name) is in C), none through a link; or in one call, when the system says of the open folder that it lies
 * where no link has led to. A program that swaps a folder for a link, before, between or after, changes only what the
 * name means, not what is open.
 */
export class HandleConfinement implements Confinement {
  readonly holds = true;
  readonly #root: string;
  /** Where the root has been found, all links resolved. */
  #realRoot: string | undefined;

  constructor(root: string) {
    this.#root = root;
  }

  /** Whether this system has such handles: Linux with /proc. */
  static async isAvailable(root: string): Promise<boolean> {
    if (process.platform !== 'linux') return false;
    const folder = await new HandleConfinement(root).openRoot();
    try {
      const [byHandle, byPath] = await Promise.all([followedStat(`${folder.self}/.`), followedStat(root)]);
      return byHandle.ino === byPath.ino && byHandle.dev === byPath.dev;
    } catch {
      return false;
    } finally {
      await folder.close();
    }
  }

  async openRoot(): Promise<OpenFolder> {
    // The root itself may be a link: it is the administrator's, not the clients'.
    const root = new HandleFolder(await openFile(this.#root, FOLDER));
    const path = whereIs(root);
    // The replacement character may stand for bytes that are not text.
    this.#realRoot = path.includes('\uFFFD') ? undefined : path;
    return root;
  }

  async openAt(names: readonly string[]): Promise<OpenFolder | 'missing' | 'unclear'> {
    if (this.#realRoot === undefined) return 'unclear';
    let folder: HandleFolder;
    try {
      folder = new HandleFolder(await openFile(pathBelow(this.#root, names), CHILD));
    } catch (error) {
      return systemCode(error) === 'ENOENT' ? 'missing' : 'unclear';
    }
    if (whereIs(folder) === pathBelow(this.#realRoot, names)) return folder;
    await folder.close();
    return 'unclear';
  }

  unheldRoot(): OpenFolder {
    return new UnheldRoot(this.#root);
  }

  async openChild(folder: OpenFolder, name: Name): Promise<OpenFolder> {
    return new HandleFolder(await openFile(folder.at(name), CHILD));
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
      // The root may be a link of the administrator, nothing below it may.
      const now = await (index === 0 ? followedStat(path) : exactLstat(path)).catch(() => undefined);
      if (now?.isDirectory() !== true || now.dev !== dev || now.ino !== ino) {
        throw new NotFoundError({ detail: 'a folder was replaced while it was in use' });
      }
    }
  }
}

/**
 * For systems without handles of folders: every component is checked to be a real folder before an operation
 * and to be the same one after it. Narrower than handles: a swap that is undone within one operation is not
 * seen, and one that is seen may have had its effect.
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
