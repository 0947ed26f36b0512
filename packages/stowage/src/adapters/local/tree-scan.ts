import * as fs from 'node:fs';
import { holdsWords } from '../../basics/content/file-name.ts';
import type { Entry } from '../../storage/adapter.ts';
import { byKey, firstOf, keyOf } from '../../storage/entry.ts';
import { NameFilter, type SeenName } from './names.ts';
import { openScanned, type ScannedFolder } from './scanned-folder.ts';
import type { TreePage, WalkRequest } from './scan-messages.ts';
import { entryOf, isGone, isSpecial, isUnreadable, kindOf } from './system.ts';

/** Entries between two checks of the clock. */
const STRIDE = 500;
/** Longest work for one page, in milliseconds: the listings of others wait meanwhile. */
const LONGEST = 10;
const MOST_ROWS = 250;
/** Found entries of one folder that are kept at least; for the others it is read again. */
const MOST_KEPT = 20_000;

/** What is known of an entry: its kind, and what else has been asked for. */
type Looked = Pick<Entry, 'kind' | 'name'> & Partial<Entry>;

/** An entry of a folder on the way: found by its name, a folder to go into, or both. */
interface Step {
  /** The name, with a slash behind that of a folder: what the entries of a folder are ordered by. */
  readonly key: string;
  readonly raw: string;
  isFound: boolean;
  entry: Looked;
  readonly enters: boolean;
  /** The folder on the way to where the walk goes on. */
  readonly isResumed: boolean;
}

interface Folder {
  readonly diskNames: readonly string[];
  /** Its own position. */
  readonly prefix: string;
  after: string;
  steps: Step[];
  next: number;
  /** The last key that is kept, where there are too many. */
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

const lookAt = (opened: ScannedFolder, raw: string, name: string): Entry | undefined => {
  const stats = fs.lstatSync(`${opened.self}/${raw}`, { throwIfNoEntry: false });
  return stats === undefined ? undefined : entryOf(name, stats);
};

const keep = (folder: Folder, found: Step[], step: Step): void => {
  if (folder.bar !== undefined && step.key > folder.bar) return;
  found.push(step);
  if (found.length < 2 * MOST_KEPT) return;
  found.sort(byKey);
  found.length = MOST_KEPT;
  folder.bar = found.at(-1)?.key;
};

/**
 * One walk in the scanning thread: reads folder by folder what is found by its name, page by page, as they
 * are asked for. Memory: the folders beside those on the way, and a bounded number of what is found in each
 * on the way.
 */
export class TreeScan {
  readonly #request: WalkRequest;
  readonly #holdsWords: (name: string) => boolean;
  readonly #pages: Generator<TreePage, TreePage, undefined>;
  #found: { readonly position: string; readonly entry: Looked }[] = [];
  #seen = 0;
  #unreadable = 0;
  #end = 0;

  constructor(request: WalkRequest) {
    this.#request = request;
    this.#holdsWords = holdsWords(request.words);
    this.#pages = this.#walk();
  }

  /** @throws errors of the system */
  nextPage(): TreePage {
    this.#end = performance.now() + LONGEST;
    return this.#pages.next().value;
  }

  close(): void {
    // Closes the folder that is being read.
    this.#pages.return(this.#page(undefined, true));
  }

  get #isDue(): boolean {
    return this.#found.length >= MOST_ROWS || performance.now() >= this.#end;
  }

  *#walk(): Generator<TreePage, TreePage, undefined> {
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
      if (step.isFound) this.#found.push({ position, entry: step.entry });
      // Never at the very position where the walk has begun: it would come no further.
      if (!step.isResumed && this.#isDue) yield this.#page(position, false);
      if (!step.enters) continue;
      const below = step.isResumed ? firstOf(folder.after).below : '';
      const inside = folderAt([...folder.diskNames, step.raw], position, below);
      yield* this.#tryToRead(inside);
      way.push(inside);
    }
    return this.#page('', true);
  }

  #page(position: string | undefined, isLast: boolean): TreePage {
    const { id } = this.#request;
    const found = position === undefined ? [] : this.#found;
    const column = (of: (entry: Looked) => number | undefined): Float64Array =>
      Float64Array.from(found, ({ entry }) => of(entry) ?? Number.NaN);
    const page: TreePage = {
      type: 'tree-page',
      id,
      positions: found.map((row) => row.position).join('\n'),
      sizes: column((entry) => entry.size),
      times: column((entry) => entry.modifiedAt),
      changeTimes: column((entry) => entry.changedAt),
      seen: this.#seen,
      unreadable: this.#unreadable,
      position,
      isLast,
    };
    if (position === undefined) return { ...page, seen: 0, unreadable: 0 };
    this.#found = [];
    this.#seen = 0;
    this.#unreadable = 0;
    return page;
  }

  *#readOn(folder: Folder, bar: string): Generator<TreePage, void, undefined> {
    Object.assign(folder, folderAt(folder.diskNames, folder.prefix, bar), { isCounted: true });
    yield* this.#tryToRead(folder);
  }

  *#tryToRead(folder: Folder): Generator<TreePage, void, undefined> {
    try {
      yield* this.#read(folder);
    } catch (error) {
      if (isUnreadable(error)) this.#unreadable += 1;
      else if (!isGone(error)) throw error;
      folder.steps = [];
    }
  }

  /** Reads the steps of a folder, in their order. Pages without a position come between. */
  *#read(folder: Folder): Generator<TreePage, void, undefined> {
    const { root, handles } = this.#request;
    const opened = openScanned({ root, diskNames: folder.diskNames, handles });
    try {
      const directory = fs.opendirSync(opened.self, { bufferSize: STRIDE });
      try {
        yield* this.#readSteps(folder, opened, directory);
      } finally {
        directory.closeSync();
      }
      opened.verify();
    } finally {
      opened.close();
    }
  }

  *#readSteps(
    folder: Folder,
    opened: ScannedFolder,
    directory: fs.Dir,
  ): Generator<TreePage, void, undefined> {
    const filter = new NameFilter();
    const first = folder.after === '' ? undefined : firstOf(folder.after);
    const found: Step[] = [];
    // What lies behind the way to where the walk goes on was counted when it first came there.
    const isCounting = !folder.isCounted && (first === undefined || first.below === '');
    const take = (seen: SeenName, kind: Entry['kind'] | undefined): void => {
      const step = this.#stepOf(seen, kind, opened, first?.key);
      if (step?.enters === true) folder.steps.push(step);
      else if (step !== undefined) keep(folder, found, step);
      if (isCounting) this.#seen += 1;
    };
    let read = 0;
    for (let entry = directory.readSync(); entry !== null; entry = directory.readSync()) {
      read += 1;
      if (read % STRIDE === 0 && performance.now() >= this.#end) yield this.#page(undefined, false);
      if (isSpecial(entry)) continue;
      const seen = filter.take(entry.name);
      if (seen !== undefined) take(seen, kindOf(entry));
    }
    for (const seen of filter.rest()) {
      // Where the composed name is there as well, that is the one that a path reaches.
      if (fs.lstatSync(`${opened.self}/${seen.name}`, { throwIfNoEntry: false }) === undefined)
        take(seen, undefined);
    }
    const { bar } = folder;
    const steps = folder.steps.concat(found);
    folder.steps = (bar === undefined ? steps : steps.filter(({ key }) => key <= bar)).sort(byKey);
    this.#describe(folder, opened);
  }

  /** Looks at what is likely to be asked for, while the folder is open. */
  #describe(folder: Folder, opened: ScannedFolder): void {
    const { namesOnly, most } = this.#request;
    if (!namesOnly) return;
    for (const step of folder.steps.filter(({ isFound }) => isFound).slice(0, most)) {
      const entry = lookAt(opened, step.raw, step.entry.name);
      if (entry?.kind === step.entry.kind) step.entry = entry;
      else step.isFound = false;
    }
  }

  #stepOf(
    { raw, name }: SeenName,
    listedKind: Entry['kind'] | undefined,
    opened: ScannedFolder,
    firstKey: string | undefined,
  ): Step | undefined {
    const isWanted = this.#holdsWords(name);
    if (!isWanted && listedKind === 'file') return undefined;
    // The replacement character may stand for bytes that are not text: such a name cannot be reached.
    const isSure = !raw.includes('\uFFFD') && (this.#request.namesOnly || !isWanted);
    const entry: Looked | undefined =
      isSure && listedKind !== undefined ? { name, kind: listedKind } : lookAt(opened, raw, name);
    if (entry === undefined) return undefined;
    const key = keyOf(entry);
    if (firstKey !== undefined && key < firstKey) return undefined;
    const isResumed = key === firstKey;
    const isFound = isWanted && !isResumed;
    const enters = entry.kind === 'folder' && this.#request.never?.test(name) !== true;
    return isFound || enters ? { key, raw, isFound, entry, enters, isResumed } : undefined;
  }
}
