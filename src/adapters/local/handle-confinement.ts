import { constants } from 'node:fs';
import type { Confinement, OpenFolder } from './confinement.ts';
import { closeFile, followedStat, openFile, type Name } from './system.ts';

// Linux: a handle that names an entry and gives no access to its content, so that folders need no read permission to be walked through.
export const O_PATH = 0o10000000;
const FOLDER = O_PATH | constants.O_DIRECTORY;
const CHILD = FOLDER | constants.O_NOFOLLOW;

class HandleFolder implements OpenFolder {
  readonly #fd: number;
  #open = true;

  constructor(fd: number) {
    this.#fd = fd;
  }

  get self(): string {
    // A number may belong to another file once it is closed.
    if (!this.#open) throw new Error('a folder was used after its handle was closed');
    return `/proc/self/fd/${this.#fd}`;
  }

  at(name: Name): Name {
    if (typeof name === 'string') return `${this.self}/${name}`;
    return Buffer.concat([Buffer.from(`${this.self}/`), name]);
  }

  async verify(): Promise<void> {
    // The handle is the folder.
  }

  async close(): Promise<void> {
    if (!this.#open) return;
    this.#open = false;
    await closeFile(this.#fd).catch(() => undefined);
  }
}

/**
 * Opens folders segment by segment, each through the handle of the one before (`/proc/self/fd/N/name` is what openat(N, name) is in C), none
 * through a link. Whoever swaps a folder for a link, before, between or after, changes only what the name means, not what is open.
 */
export class HandleConfinement implements Confinement {
  readonly holds = true;
  readonly #root: string;

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
    return new HandleFolder(await openFile(this.#root, FOLDER));
  }

  async openChild(folder: OpenFolder, name: Name): Promise<OpenFolder> {
    return new HandleFolder(await openFile(folder.at(name), CHILD));
  }
}
