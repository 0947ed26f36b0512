import * as fs from 'node:fs';
import type { Entry } from '../../storage/adapter.ts';
import { NameFilter, type SeenName } from './names.ts';
import { openScanned, type ScannedFolder } from './scanned-folder.ts';
import type { TallyPage, TallyRequest } from './scan-messages.ts';
import { entryOf, isGone, isSpecial, isUnreadable, kindOf } from './system.ts';

const STRIDE = 500;
/** Longest work at once, in milliseconds: the listings of others wait meanwhile. */
const LONGEST = 10;
/** From so many on it costs less to find the path by which they are looked at fastest. */
const MANY = 64;
/** Bytes of the longest name, with the slash before it. */
const LONGEST_NAME = 256;
/**
 * File systems in which a folder has a link for each sub-folder beside its own two, and one where it does not
 * count them: ext2 to ext4, XFS, tmpfs.
 */
const COUNTS_FOLDERS: ReadonlySet<number> = new Set([0xef53, 0x58465342, 0x01021994]);

interface Folder {
  readonly diskNames: readonly string[];
  /** Its path in the source, with a slash behind it; empty for the root. */
  readonly prefix: string;
}

/** One sum in the scanning thread. Memory: the folders beside those on the way. */
export class TreeTally {
  readonly #request: TallyRequest;
  readonly #waiting: Folder[];
  readonly #work: Generator<void, void, undefined>;
  readonly #countsFolders = new Map<number, boolean>();
  readonly #sum = { files: 0, bytes: 0, deepest: 0, longest: 0, unreadable: 0 };
  #end = 0;

  constructor(request: TallyRequest) {
    this.#request = request;
    this.#waiting = [request];
    this.#work = this.#count();
  }

  /** @throws errors of the system */
  nextPage(): TallyPage {
    this.#end = performance.now() + LONGEST;
    const isLast = this.#work.next().done === true;
    return { type: 'tally-page', id: this.#request.id, ...this.#sum, isLast };
  }

  close(): void {
    // Closes the folder that is being read.
    this.#work.return();
  }

  *#count(): Generator<void, void, undefined> {
    for (let folder = this.#waiting.pop(); folder !== undefined; folder = this.#waiting.pop()) {
      try {
        yield* this.#read(folder);
      } catch (error) {
        const isItself = folder === this.#request;
        if (isItself || (!isGone(error) && !isUnreadable(error))) throw error;
        if (isUnreadable(error)) this.#sum.unreadable += 1;
      }
      if (performance.now() >= this.#end) yield;
    }
  }

  *#read(folder: Folder): Generator<void, void, undefined> {
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
      const directory = fs.opendirSync(opened.self, { bufferSize: STRIDE });
      try {
        yield* this.#readNames(folder, opened, directory);
      } finally {
        directory.closeSync();
      }
      opened.verify();
    } finally {
      opened.close();
    }
  }

  *#readNames(folder: Folder, opened: ScannedFolder, directory: fs.Dir): Generator<void, void, undefined> {
    const filter = new NameFilter();
    let names: SeenName[] = [];
    for (let entry = directory.readSync(); entry !== null; entry = directory.readSync()) {
      const kind = kindOf(entry);
      if ((kind === 'file' && this.#request.of === 'paths') || (kind === undefined && isSpecial(entry)))
        continue;
      const seen = filter.take(entry.name);
      if (seen === undefined) continue;
      if (kind === 'folder') this.#enter(folder, seen);
      else names.push(seen);
      if (names.length < STRIDE) continue;
      this.#take(folder, opened, names);
      names = [];
      if (performance.now() >= this.#end) yield;
    }
    const isAlone = ({ name }: SeenName): boolean =>
      fs.lstatSync(`${opened.self}/${name}`, { throwIfNoEntry: false }) === undefined;
    this.#take(folder, opened, [...names, ...filter.rest().filter(isAlone)]);
  }

  /** Whether the file system says so. */
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

  /** Counts what is no folder for certain. */
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
