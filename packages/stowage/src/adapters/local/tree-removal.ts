import * as fs from 'node:fs';
import { systemCode } from '../../basics/files/system-errors.ts';
import { O_PATH } from './confinement.ts';
import type { RemovalPage, RemovalRequest } from './scan-messages.ts';
import { isGone } from './system.ts';

const STRIDE = 256;
/** Longest work at once, in milliseconds: the listings of others wait meanwhile. */
const LONGEST = 10;
/** Each folder on the way is open: what lies deeper is left. */
const DEEPEST = 32;
/** Rounds over one folder while others keep putting things into it. */
const ROUNDS = 100;
const FOLDER = O_PATH | fs.constants.O_DIRECTORY | fs.constants.O_NOFOLLOW;
const PLAIN = /^[ -~]*$/u;

/** The path of an entry, whose name is given by one character for each of its bytes. */
const entryAt = (folder: string, name: string): string | Buffer =>
  PLAIN.test(name)
    ? `${folder}/${name}`
    : Buffer.concat([Buffer.from(`${folder}/`), Buffer.from(name, 'latin1')]);

const unlessGone = (remove: () => void): void => {
  try {
    remove();
  } catch (error) {
    if (systemCode(error) !== 'ENOENT') throw error;
  }
};

/** Removes what is no folder. False: it is one after all. */
const unlink = (path: string | Buffer): boolean => {
  try {
    unlessGone(() => fs.unlinkSync(path));
    return true;
  } catch (error) {
    if (systemCode(error) !== 'EISDIR' && systemCode(error) !== 'EPERM') throw error;
    return false;
  }
};

/**
 * Removes a folder of the temporary area in the scanning thread. Every folder is emptied through its own handle: a
 * link, swapped in at any moment, is unlinked and never followed.
 */
export class TreeRemoval {
  readonly #id: number;
  readonly #work: Generator<void, boolean, undefined>;
  #end = 0;

  constructor({ id, area, name }: RemovalRequest) {
    this.#id = id;
    this.#work = this.#remove(area, name, 1);
  }

  /** @throws errors of the system: what is left lies where it was */
  nextPage(): RemovalPage {
    this.#end = performance.now() + LONGEST;
    const { done = false, value } = this.#work.next();
    return { type: 'removal-page', id: this.#id, isLast: done, isWhole: value === true };
  }

  close(): void {
    // Closes the folders that are open.
    this.#work.return(false);
  }

  /** Whether nothing is left of it. */
  *#remove(parent: string, name: string, depth: number): Generator<void, boolean, undefined> {
    if (depth > DEEPEST) return false;
    const path = entryAt(parent, name);
    let handle: number;
    try {
      handle = fs.openSync(path, FOLDER);
    } catch (error) {
      if (!isGone(error)) throw error;
      return unlink(path);
    }
    try {
      const self = `/proc/self/fd/${handle}`;
      for (let round = 0; round < ROUNDS; round += 1) {
        if (!(yield* this.#empty(self, depth))) return false;
        if (removeEmpty(path)) return true;
      }
      return false;
    } finally {
      fs.closeSync(handle);
    }
  }

  /** Of each stretch the files go first. */
  *#empty(folder: string, depth: number): Generator<void, boolean, undefined> {
    let isWhole = true;
    const directory = fs.opendirSync(folder, { encoding: 'latin1', bufferSize: STRIDE });
    try {
      for (let stretch = readStretch(directory); stretch.length > 0; stretch = readStretch(directory)) {
        const folders = stretch.filter(
          (entry) => entry.isDirectory() || !unlink(entryAt(folder, entry.name)),
        );
        for (const { name } of folders) if (!(yield* this.#remove(folder, name, depth + 1))) isWhole = false;
        if (performance.now() >= this.#end) yield;
      }
    } finally {
      directory.closeSync();
    }
    return isWhole;
  }
}

const readStretch = (directory: fs.Dir): readonly fs.Dirent[] => {
  const entries: fs.Dirent[] = [];
  for (let entry = directory.readSync(); entry !== null; entry = directory.readSync())
    if (entries.push(entry) === STRIDE) break;
  return entries;
};

/** False: something has been put into the folder meanwhile. */
const removeEmpty = (path: string | Buffer): boolean => {
  try {
    unlessGone(() => fs.rmdirSync(path));
    return true;
  } catch (error) {
    if (systemCode(error) !== 'ENOTEMPTY' && systemCode(error) !== 'EEXIST') throw error;
    return false;
  }
};
