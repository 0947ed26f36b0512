import * as fs from 'node:fs';
import type { Entry } from '../../storage/adapter.ts';
import type { Tally, TallyOptions } from '../../storage/readable.ts';
import { NameFilter, type SeenName } from './names.ts';
import {
  type FolderToScan,
  listedNames,
  openScanned,
  type ScannedFolder,
  type TimeSlice,
} from './scanned-folder.ts';
import { entryOf, isGone, isUnreadable } from './system.ts';

const STRIDE = 500;
/** From this number on, finding the cheapest path for the stats pays off. */
const MANY = 64;
/** Bytes of the longest name, with the slash before it. */
const LONGEST_NAME = 256;
/** File systems whose link counts show subfolders, or are always one: ext2 to ext4, XFS, tmpfs. */
const COUNTS_FOLDERS: ReadonlySet<number> = new Set([0xef53, 0x58465342, 0x01021994]);

interface Folder {
  readonly diskNames: readonly string[];
  /** Its path in the source, with a trailing slash; empty for the root. */
  readonly prefix: string;
}

export interface TallyRequest extends FolderToScan, Folder, Omit<TallyOptions, 'signal'> {}

type Work<Result> = Generator<undefined, Result, undefined>;

/** One sum in the scanning thread. Memory: the folders that are still to be read. */
class TreeTally {
  readonly #request: TallyRequest;
  readonly #slice: TimeSlice;
  readonly #waiting: Folder[];
  readonly #countsFolders = new Map<number, boolean>();
  readonly #sum = { files: 0, bytes: 0, deepest: 0, longest: 0, unreadable: 0 };

  constructor(request: TallyRequest, slice: TimeSlice) {
    this.#request = request;
    this.#slice = slice;
    this.#waiting = [request];
  }

  /** @throws errors of the system */
  *count(): Work<Tally> {
    for (let folder = this.#waiting.pop(); folder !== undefined; folder = this.#waiting.pop()) {
      try {
        yield* this.#read(folder);
      } catch (error) {
        const isItself = folder === this.#request;
        if (isItself || (!isGone(error) && !isUnreadable(error))) throw error;
        if (isUnreadable(error)) this.#sum.unreadable += 1;
      }
      if (this.#slice.isOver) yield;
    }
    return this.#sum;
  }

  *#read(folder: Folder): Work<void> {
    const { root, handles, of, prefix } = this.#request;
    const opened = openScanned({ root, diskNames: folder.diskNames, handles });
    try {
      if (of === 'paths') {
        const depth = folder.diskNames.length - this.#request.diskNames.length + 1;
        const length = Buffer.byteLength(folder.prefix) - Buffer.byteLength(prefix) + LONGEST_NAME;
        this.#sum.deepest = Math.max(this.#sum.deepest, depth);
        this.#sum.longest = Math.max(this.#sum.longest, length);
        if (this.#hasNoFolders(opened)) return;
      }
      yield* this.#readNames(folder, opened);
      opened.verify();
    } finally {
      opened.close();
    }
  }

  *#readNames(folder: Folder, opened: ScannedFolder): Work<void> {
    for (const names of listedNames(opened, new NameFilter(), STRIDE)) {
      const others: SeenName[] = [];
      for (const listed of names) {
        if (listed.kind === 'folder') this.#enter(folder, listed);
        else if (listed.kind === undefined || this.#request.of !== 'paths') others.push(listed);
      }
      this.#take(folder, opened, others);
      if (this.#slice.isOver) yield;
    }
  }

  /** Whether the link count shows that the folder has no subfolders. */
  #hasNoFolders({ self }: ScannedFolder): boolean {
    const { dev, nlink } = fs.statSync(self);
    if (nlink !== 2) return false;
    let isSure = this.#countsFolders.get(dev);
    if (isSure === undefined) {
      isSure = COUNTS_FOLDERS.has(fs.statfsSync(self).type);
      this.#countsFolders.set(dev, isSure);
    }
    return isSure;
  }

  #enter({ diskNames, prefix }: Folder, { raw, name }: SeenName): void {
    if (this.#request.uncounted?.includes(name.toLowerCase()) === true) return;
    this.#waiting.push({ diskNames: [...diskNames, raw], prefix: `${prefix}${name}/` });
  }

  /** Counts the entries that are certainly not folders. */
  #take(folder: Folder, opened: ScannedFolder, names: readonly SeenName[]): void {
    const look = (path: string): readonly (Entry | undefined)[] =>
      names.map(({ raw, name }) => {
        const stats = fs.lstatSync(`${path}/${raw}`, { throwIfNoEntry: false });
        return stats && entryOf(name, stats);
      });
    const entries = names.length < MANY ? look(opened.self) : opened.lookAtMany(look);
    const { ignores } = this.#request;
    for (const [index, entry] of entries.entries()) {
      const seen = names[index];
      if (entry === undefined || seen === undefined) continue;
      if (entry.kind === 'folder') this.#enter(folder, seen);
      else if (ignores?.test(folder.prefix + entry.name) !== true) {
        this.#sum.files += 1;
        this.#sum.bytes += entry.size ?? 0;
      }
    }
  }
}

/** Sums up everything below a folder. @throws errors of the system */
export const tallyTree = (request: TallyRequest, slice: TimeSlice): Generator<undefined, Tally, undefined> =>
  new TreeTally(request, slice).count();
