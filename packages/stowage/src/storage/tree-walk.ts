import { setMaxListeners } from 'node:events';
import { FirstInOrder, sortPatiently, TimeSlice } from '../basics/concurrency/time-slice.ts';
import { holdsWords } from '../basics/content/file-name.ts';
import { NotFoundError, StorageDeniedError, UnsupportedError, WrongKindError } from '../errors/errors.ts';
import type { Entry, OperationOptions, ReadableStore } from './readable.ts';
import type { SourcePath } from './source-path.ts';
import { byKey, firstOf, folderNamed, keyOf } from './entry.ts';

/** The caller's filters for one folder. */
export interface FolderView {
  readonly enters: (entry: Entry) => boolean;
  /** Whether the walk reports an entry whose name matches. */
  readonly wants: (entry: Entry) => boolean;
}

/** @see ReadableStore.walk */
export interface TreeWalkOptions extends OperationOptions {
  /**
   * A position below the folder: names joined by slashes, with a trailing slash when the contents of that
   * folder come next. The entry at the position need not exist any more.
   */
  readonly after?: string | undefined;
  /** As in `list`. */
  readonly detail: 'names' | 'full';
  /** Words that the names of reported entries must contain, all of them: @see holdsWords */
  readonly words: readonly string[];
  /** Names of folders that are never entered: a store that skips them early saves much work. */
  readonly never?: RegExp | undefined;
  /** The caller needs at most this number of reported entries. */
  readonly most: number;
  readonly view: (folder: SourcePath) => FolderView;
  /** Called for each folder that is skipped because the store does not allow to read it. */
  readonly onUnreadable?: (() => void) | undefined;
}

export interface FoundEntry {
  /** Path in the source. */
  readonly path: SourcePath;
  readonly entry: Entry;
  /** Position for resuming a walk immediately after the entry: before its contents, if it is a folder. */
  readonly position: string;
}

/** A partial result of a walk. */
export interface WalkPage {
  readonly found: readonly FoundEntry[];
  /** Number of entries that the walk has visited. */
  readonly seen: number;
  readonly position: string;
}

/** Applies the caller's filters for stores that report a whole tree. Call it in the order of the walk. */
export class WalkedFolders {
  readonly #options: Pick<TreeWalkOptions, 'view' | 'never'>;
  /** From the root of the walk to the folder of the last entry; no view where the folder is not entered. */
  readonly #way: { readonly path: SourcePath; readonly view: FolderView | undefined }[];

  constructor(root: SourcePath, options: Pick<TreeWalkOptions, 'view' | 'never'>) {
    this.#options = options;
    this.#way = [{ path: root, view: options.view(root) }];
  }

  /** Whether the walk reports a matching entry. `folders` are the names from the root to its folder. */
  wants(folders: readonly string[], entry: Entry): boolean {
    return this.#enter(folders)?.wants(entry) === true;
  }

  /** The folder of the last entries. */
  get path(): SourcePath | undefined {
    return this.#way.at(-1)?.path;
  }

  #enter(folders: readonly string[]): FolderView | undefined {
    const way = this.#way;
    let depth = 0;
    while (depth < folders.length && way[depth + 1]?.path.name === folders[depth]) depth += 1;
    way.length = depth + 1;
    for (const name of folders.slice(depth)) {
      const last = way.at(-1);
      if (last === undefined) return undefined;
      const isNever = this.#options.never?.test(name) === true;
      const isEntered = !isNever && last.view?.enters(folderNamed(name)) === true;
      const path = last.path.below(name);
      way.push({ path, view: isEntered ? this.#options.view(path) : undefined });
    }
    return way.at(-1)?.view;
  }
}

/** Number of folders that are listed ahead of the walk. */
const AHEAD = 4;
/** Entries between two checks of the clock. */
const STRIDE = 256;

/** An entry of the current folder to report, to enter, or both. */
interface Step {
  /** Name, with a trailing slash for folders: sort key of the entries of a folder. */
  readonly key: string;
  readonly path: SourcePath;
  readonly found: FoundEntry | undefined;
  readonly enters: boolean;
  /** The folder is on the path to the resume position: entries before it are not reported again. */
  readonly resumed: { readonly after: string } | undefined;
  scan?: Promise<Scan>;
}

interface Scan {
  readonly steps: readonly Step[];
  readonly seen: number;
  next: number;
}

class FolderByFolder {
  readonly #storage: ReadableStore;
  readonly #options: TreeWalkOptions;
  readonly #signal: AbortSignal;
  readonly #slice: TimeSlice;
  readonly #scans = new Set<Promise<unknown>>();
  readonly #holdsWords: (name: string) => boolean;
  #ahead = 0;

  constructor(storage: ReadableStore, options: TreeWalkOptions, signal: AbortSignal) {
    this.#storage = storage;
    this.#options = options;
    this.#signal = signal;
    this.#slice = new TimeSlice(signal);
    this.#holdsWords = holdsWords(options.words);
  }

  async *walk(folder: SourcePath): AsyncGenerator<WalkPage, void, undefined> {
    const root = await this.#scan(folder, '', this.#options.after ?? '');
    const way = [root];
    let found: FoundEntry[] = [];
    let seen = root.seen;
    for (let scan = way.at(-1); scan !== undefined; scan = way.at(-1)) {
      const step = scan.steps[scan.next];
      scan.next += 1;
      if (step === undefined) way.pop();
      if (step?.found !== undefined) found.push(step.found);
      if (step?.enters !== true) continue;
      const position = folder.relative(step.path).toString();
      if (step.resumed === undefined) {
        yield { found, seen, position: `${position}/` };
        found = [];
        seen = 0;
      }
      const inside = await this.#enter(scan, step, `${position}/`, folder);
      seen += inside.seen;
      way.push(inside);
    }
    yield { found, seen, position: '' };
  }

  /** Waits until all running listings have ended. */
  async end(): Promise<void> {
    await Promise.allSettled(this.#scans);
  }

  /** Starts listing the next folders ahead, and waits for this one. */
  async #enter(scan: Scan, step: Step, prefix: string, root: SourcePath): Promise<Scan> {
    if (step.scan === undefined) this.#begin(step, prefix);
    else this.#ahead -= 1;
    for (let index = scan.next; index < scan.steps.length && this.#ahead < AHEAD; index += 1) {
      const later = scan.steps[index];
      if (later?.enters !== true || later.scan !== undefined) continue;
      this.#ahead += 1;
      this.#begin(later, `${root.relative(later.path).toString()}/`);
    }
    const inside = await step.scan;
    delete step.scan;
    return inside ?? { steps: [], seen: 0, next: 0 };
  }

  #begin(step: Step, prefix: string): void {
    const scan = this.#scan(step.path, prefix, step.resumed?.after ?? '').catch((error: unknown): Scan => {
      // Removed since it was listed.
      const isGone = error instanceof NotFoundError || error instanceof WrongKindError;
      if (!isGone && !(error instanceof StorageDeniedError)) throw error;
      if (!isGone) this.#options.onUnreadable?.();
      return { steps: [], seen: 0, next: 0 };
    });
    step.scan = scan;
    this.#scans.add(scan);
    const forget = (): void => void this.#scans.delete(scan);
    scan.then(forget, forget);
  }

  async #scan(folder: SourcePath, prefix: string, after: string): Promise<Scan> {
    const { detail, most, never } = this.#options;
    const first = after === '' ? undefined : firstOf(after);
    const view = this.#options.view(folder);
    const found = new FirstInOrder<Step>(most, byKey);
    const entered: Step[] = [];
    let looked = 0;
    let behind = 0;
    const isWanted = (entry: Entry): boolean => this.#holdsWords(entry.name) && view.wants(entry);
    const add = (entry: Entry): void => {
      const key = keyOf(entry);
      if (first !== undefined && key < first.key) return;
      const resumed = key === first?.key ? { after: first.below } : undefined;
      if (resumed === undefined) behind += 1;
      const isFound = resumed === undefined && isWanted(entry);
      const enters = entry.kind === 'folder' && never?.test(entry.name) !== true && view.enters(entry);
      if (!isFound && !enters) return;
      const path = folder.below(entry.name);
      const reported = isFound ? { path, entry, position: prefix + key } : undefined;
      const step = { key, path, found: reported, enters, resumed };
      if (enters) entered.push(step);
      else found.add(step);
    };
    const signal = this.#signal;
    for await (const page of this.#storage.list(folder, { detail, signal })) {
      signal.throwIfAborted();
      for (const entry of page) {
        add(entry);
        looked += 1;
        if (looked % STRIDE === 0 && this.#slice.due) await this.#slice.rest();
      }
    }
    // Pause even after a small folder: a store in memory would never let others run.
    if (this.#slice.due) await this.#slice.rest();
    const steps = [...(await found.sorted(this.#slice)), ...entered];
    // Entries before the resume position were counted when the walk first reached them.
    const seen = first === undefined || first.below === '' ? behind : 0;
    return { steps: await sortPatiently(steps, byKey, this.#slice), seen, next: 0 };
  }
}

async function* walkFolderByFolder(storage: ReadableStore, folder: SourcePath, options: TreeWalkOptions) {
  const end = new AbortController();
  const signal = AbortSignal.any([end.signal, ...(options.signal === undefined ? [] : [options.signal])]);
  // Each running listing adds a listener.
  setMaxListeners(0, signal);
  const walk = new FolderByFolder(storage, options, signal);
  try {
    yield* walk.walk(folder);
  } finally {
    end.abort();
    await walk.end();
  }
}

/**
 * All entries below a folder, each folder before its contents, in a fixed order; by the store's own walk
 * where it has one, else folder by folder, some of them ahead. Memory: the folders beside those on the
 * current path, and `most` wanted entries of each folder on it. Skips folders that vanish meanwhile or may
 * not be read.
 * @throws NotFoundError, WrongKindError for the folder itself
 */
export async function* walkTree(
  storage: ReadableStore,
  folder: SourcePath,
  options: TreeWalkOptions,
): AsyncGenerator<WalkPage, void, undefined> {
  if (storage.walk !== undefined) {
    let hasReported = false;
    try {
      for await (const page of storage.walk(folder, options)) {
        hasReported ||= page.found.length > 0;
        yield page;
      }
      return;
    } catch (error) {
      // Nothing may be reported twice.
      if (hasReported || !(error instanceof UnsupportedError)) throw error;
    }
  }
  yield* walkFolderByFolder(storage, folder, options);
}
