import type { SourcePath } from '../../storage/source-path.ts';
import type { OpenFolder } from './confinement.ts';
import { flushFolder, type FolderWalker } from './folder-walker.ts';

/** A folder that is open for those who name files in it at the same time. */
class SharedFolder {
  readonly opening: Promise<OpenFolder>;
  /** All have named their files, and the names are on the disk that have to be. */
  readonly ended: Promise<void>;
  #members = 0;
  #isDirty = false;
  #end = (): void => undefined;

  constructor(opening: Promise<OpenFolder>) {
    this.opening = opening;
    this.ended = new Promise<void>((resolve) => (this.#end = resolve)).then(() => this.#close());
    // A failure concerns those who wait for it.
    this.ended.catch(() => undefined);
  }

  enter(): void {
    this.#members += 1;
  }

  leave(hasNamed: boolean): void {
    this.#isDirty ||= hasNamed;
    this.#members -= 1;
    if (this.#members === 0) this.#end();
  }

  async #close(): Promise<void> {
    const folder = await this.opening.catch(() => undefined);
    try {
      if (this.#isDirty && folder !== undefined) await flushFolder(folder);
    } finally {
      await folder?.close();
    }
  }
}

/**
 * Folders in which files get their names. Operations that come until the first of them has named its file share the
 * handle and one flush of the folder: the files of a form need few. Memory: the folders that are in use.
 */
export class SharedFolders {
  readonly #walker: FolderWalker;
  readonly #shared = new Map<string, SharedFolder>();

  constructor(walker: FolderWalker) {
    this.#walker = walker;
  }

  /**
   * Names a file in a folder, which is made where it is missing. Resolves when the name is on the disk, where
   * `isDurable` asks for that. Others wait for the work, which must be short.
   * @throws as FolderWalker.within
   */
  async within<T>(
    path: SourcePath,
    isDurable: boolean,
    work: (folder: OpenFolder) => Promise<T>,
  ): Promise<T> {
    const key = path.toString();
    const known = this.#shared.get(key);
    const shared = known ?? new SharedFolder(this.#walker.openOrMake(path));
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
      // Later ones open the folder anew: its name may mean another one by then.
      if (this.#shared.get(key) === shared) this.#shared.delete(key);
      shared.leave(hasNamed);
      if (hasNamed) await shared.ended;
    }
    // What has failed for another one is tried again: each operation has an error of its own.
    return this.within(path, isDurable, work);
  }
}
