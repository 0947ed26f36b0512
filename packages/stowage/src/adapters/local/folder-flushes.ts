import type { OpenFolder } from './confinement.ts';
import { flushFolder } from './folder-walker.ts';
import { followedStat } from './system.ts';

/** A flush that has not begun. */
interface Waiting {
  readonly folder: OpenFolder;
  readonly done: Promise<void>;
}

/** The flushes of one folder. */
interface Flushes {
  running: Promise<void>;
  next: Waiting | undefined;
}

const isSame = async (one: OpenFolder, other: OpenFolder): Promise<boolean> => {
  const [first, second] = await Promise.all([followedStat(one.self), followedStat(other.self)]);
  return first.ino === second.ino && first.dev === second.dev;
};

/**
 * Flushes folders after names were given in them. Names that are given while a flush runs share the next one: the files
 * of a form need few flushes of their folder. Memory: the folders that are being flushed.
 */
export class FolderFlushes {
  readonly #folders = new Map<string, Flushes>();

  /**
   * Resolves when all that the folder lists now is on the disk.
   * @param path of the folder: the same for all who may share a flush
   */
  async flush(folder: OpenFolder, path: string): Promise<void> {
    const next = this.#folders.get(path)?.next;
    // Somebody may have put another folder in its place.
    if (next !== undefined && (await isSame(folder, next.folder)) && this.#folders.get(path)?.next === next)
      return next.done;
    return this.#enqueue(folder, path);
  }

  #enqueue(folder: OpenFolder, path: string): Promise<void> {
    const known = this.#folders.get(path);
    if (known?.next !== undefined) return flushFolder(folder);
    const flushes = known ?? { running: Promise.resolve(), next: undefined };
    this.#folders.set(path, flushes);
    const begin = (): Promise<void> => {
      flushes.next = undefined;
      return flushFolder(folder);
    };
    const done = known === undefined ? flushFolder(folder) : flushes.running.then(begin, begin);
    if (known !== undefined) flushes.next = { folder, done };
    flushes.running = done;
    const forget = (): void => {
      if (flushes.running === done) this.#folders.delete(path);
    };
    done.then(forget, forget);
    return done;
  }
}
