import { holdsWords } from '../../basics/content/file-name.ts';
import type { Entry } from '../../storage/adapter.ts';
import { byKey, firstOf, keyOf } from '../../storage/entry.ts';
import { type EntryColumns, type KeyedEntry, toColumns } from './entry-columns.ts';
import { type ListedName, NameFilter } from './names.ts';
import {
  type FolderToScan,
  listedNames,
  openScanned,
  type ScannedFolder,
  type TimeSlice,
} from './scanned-folder.ts';
import { readEntry, isGone, isUnreadable } from './system.ts';

/** Entries between two checks of the clock. */
const STRIDE = 500;
const MOST_ROWS = 250;
/** Matching entries of one folder kept in memory, at least; the folder is read again for further ones. */
const MOST_KEPT = 20_000;

export interface WalkRequest extends FolderToScan {
  readonly namesOnly: boolean;
  /** @see TreeWalkOptions */
  readonly after: string | undefined;
  readonly words: readonly string[];
  readonly never: RegExp | undefined;
  readonly most: number;
}

export interface FoundPage extends EntryColumns {
  readonly seen: number;
  /** Number of folders that may not be read. */
  readonly unreadable: number;
  /** Position where the walk resumes. */
  readonly position: string;
}

type FoundPages<Last> = Generator<FoundPage | undefined, Last, undefined>;

/** Known properties of an entry: its kind, and others where they were requested. */
type Described = Pick<Entry, 'kind' | 'name'> & Partial<Entry>;

/** An entry of the current folder: to report, to enter, or both. */
interface Step {
  /** Name, with a trailing slash for folders: sort key of the entries of a folder. */
  readonly key: string;
  readonly raw: string;
  isFound: boolean;
  entry: Described;
  readonly enters: boolean;
  /** The folder is on the path to the resume position. */
  readonly isResumed: boolean;
}

interface Folder {
  readonly diskNames: readonly string[];
  readonly prefix: string;
  after: string;
  steps: Step[];
  next: number;
  /** The last key that is kept, when there are too many. */
  bar: string | undefined;
  isCounted: boolean;
}

const folderAt = (diskNames: readonly string[], prefix: string, after: string): Folder => ({
  diskNames,
  prefix,
  after,
  steps: [],
  next: 0,
  bar: undefined,
  isCounted: false,
});

const keep = (folder: Folder, found: Step[], step: Step): void => {
  if (folder.bar !== undefined && step.key > folder.bar) return;
  found.push(step);
  if (found.length < 2 * MOST_KEPT) return;
  found.sort(byKey);
  found.length = MOST_KEPT;
  folder.bar = found.at(-1)?.key;
};

/**
 * One walk in the scanning thread: reads folder by folder and yields the matching entries page by page on
 * request. Memory: the folders beside those on the current path, and a limited number of matches in each.
 */
class TreeScan {
  readonly #request: WalkRequest;
  readonly #slice: TimeSlice;
  readonly #holdsWords: (name: string) => boolean;
  #found: KeyedEntry[] = [];
  #seen = 0;
  #unreadable = 0;

  constructor(request: WalkRequest, slice: TimeSlice) {
    this.#request = request;
    this.#slice = slice;
    this.#holdsWords = holdsWords(request.words);
  }

  /** Yields undefined in the middle of a folder, to give other jobs a turn. @throws errors of the system */
  *pages(): FoundPages<FoundPage> {
    const { diskNames, after = '' } = this.#request;
    const root = folderAt(diskNames, '', after);
    yield* this.#read(root);
    const way = [root];
    for (let folder = way.at(-1); folder !== undefined; folder = way.at(-1)) {
      const step = folder.steps[folder.next];
      folder.next += 1;
      if (step === undefined) {
        if (folder.bar === undefined) way.pop();
        else yield* this.#readOn(folder, folder.bar);
        continue;
      }
      const position = folder.prefix + step.key;
      if (step.isFound) this.#found.push({ key: position, entry: step.entry });
      const isDue = this.#found.length >= MOST_ROWS || this.#slice.isOver;
      // Never at the position where the walk resumed: it would make no progress.
      if (!step.isResumed && isDue) yield this.#page(position);
      if (!step.enters) continue;
      const below = step.isResumed ? firstOf(folder.after).below : '';
      const inside = folderAt([...folder.diskNames, step.raw], position, below);
      yield* this.#tryToRead(inside);
      way.push(inside);
    }
    return this.#page('');
  }

  #page(position: string): FoundPage {
    const found = toColumns(this.#found, 'full');
    const page = { ...found, seen: this.#seen, unreadable: this.#unreadable, position };
    this.#found = [];
    this.#seen = 0;
    this.#unreadable = 0;
    return page;
  }

  *#readOn(folder: Folder, bar: string): FoundPages<void> {
    Object.assign(folder, folderAt(folder.diskNames, folder.prefix, bar), { isCounted: true });
    yield* this.#tryToRead(folder);
  }

  *#tryToRead(folder: Folder): FoundPages<void> {
    try {
      yield* this.#read(folder);
    } catch (error) {
      if (isUnreadable(error)) this.#unreadable += 1;
      else if (!isGone(error)) throw error;
      folder.steps = [];
    }
  }

  /** Reads the steps of a folder and sorts them. */
  *#read(folder: Folder): FoundPages<void> {
    const { root, handles } = this.#request;
    const opened = openScanned({ root, diskNames: folder.diskNames, handles });
    try {
      yield* this.#readSteps(folder, opened);
      opened.verify();
    } finally {
      opened.close();
    }
  }

  *#readSteps(folder: Folder, opened: ScannedFolder): FoundPages<void> {
    const first = folder.after === '' ? undefined : firstOf(folder.after);
    const found: Step[] = [];
    // Entries before the resume position were counted when the walk first reached them.
    const isCounting = !folder.isCounted && (first === undefined || first.below === '');
    for (const names of listedNames(opened, new NameFilter(), STRIDE)) {
      for (const listed of names) {
        const step = this.#stepOf(listed, opened, first?.key);
        if (step?.enters === true) folder.steps.push(step);
        else if (step !== undefined) keep(folder, found, step);
      }
      if (isCounting) this.#seen += names.length;
      if (this.#slice.isOver) yield;
    }
    const { bar } = folder;
    const steps = folder.steps.concat(found);
    folder.steps = (bar === undefined ? steps : steps.filter(({ key }) => key <= bar)).sort(byKey);
    this.#describe(folder, opened);
  }

  /** Stats the entries that will probably be reported, while the folder is open. */
  #describe(folder: Folder, opened: ScannedFolder): void {
    const { namesOnly, most } = this.#request;
    if (!namesOnly) return;
    for (const step of folder.steps.filter(({ isFound }) => isFound).slice(0, most)) {
      const entry = this.#entryOf(opened, step.raw, step.entry.name);
      if (entry?.kind === step.entry.kind) step.entry = entry;
      else step.isFound = false;
    }
  }

  /** Undefined for a missing entry, a special file, and one that cannot be read. */
  #entryOf({ self }: ScannedFolder, raw: string, name: string): Entry | undefined {
    try {
      return readEntry(`${self}/${raw}`, name);
    } catch (error) {
      if (!isUnreadable(error)) throw error;
      this.#unreadable += 1;
      return undefined;
    }
  }

  #stepOf({ raw, name, kind }: ListedName, opened: ScannedFolder, firstKey: string | undefined) {
    const isWanted = this.#holdsWords(name);
    if (!isWanted && kind === 'file') return undefined;
    const isSure = this.#request.namesOnly || !isWanted;
    const entry: Described | undefined =
      isSure && kind !== undefined ? { name, kind } : this.#entryOf(opened, raw, name);
    if (entry === undefined) return undefined;
    const key = keyOf(entry);
    if (firstKey !== undefined && key < firstKey) return undefined;
    const isResumed = key === firstKey;
    const isFound = isWanted && !isResumed;
    const enters = entry.kind === 'folder' && this.#request.never?.test(name) !== true;
    return isFound || enters ? { key, raw, isFound, entry, enters, isResumed } : undefined;
  }
}

/** Walks through everything below a folder. @throws errors of the system */
export const walkTree = (request: WalkRequest, slice: TimeSlice): FoundPages<FoundPage> =>
  new TreeScan(request, slice).pages();
