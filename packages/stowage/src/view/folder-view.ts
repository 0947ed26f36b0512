import type { Access } from '../access/access.ts';
import { withoutCase } from '../basics/content/file-name.ts';
import { extensionOf } from '../basics/content/file-type.ts';
import { ChangedMeanwhileError, NotFoundError, orUndefined, UnsafePathError } from '../errors/errors.ts';
import type { Source } from '../sources/source.ts';
import type { AboutKeeper } from '../storage/about/keeper.ts';
import type { Entries, Entry, EntryKind, Stat } from '../storage/entry.ts';
import type {
  ListOptions,
  ReadableStore,
  ReadOptions,
  ReadResult,
  TemporaryUrlOptions,
} from '../storage/readable.ts';
import type { SourcePath } from '../storage/source-path.ts';
import { FILE_KEYS, reservedNames } from './rights.ts';

/** Lifetime of an object that ends with its request. */
export interface Life {
  readonly signal: AbortSignal;
}

/** The error for a missing item; its message names the kind. */
export const missing = (
  what: EntryKind | 'file or folder' | 'destination folder' | 'parent folder',
  cause?: unknown,
): NotFoundError => new NotFoundError({ message: `The ${what} was not found.`, cause });

/** A readable file. Only views create it. */
export class ViewedFile {
  readonly path: SourcePath;
  readonly #storage: ReadableStore;
  readonly #life: Life;

  constructor(storage: ReadableStore, path: SourcePath, life: Life) {
    this.#storage = storage;
    this.path = path;
    this.#life = life;
  }

  /** @throws NotFoundError, also for a folder */
  async stat(): Promise<Stat> {
    const stat = await this.#storage.stat(this.path, { signal: this.#life.signal });
    if (stat.kind !== 'file') throw new NotFoundError();
    return stat;
  }

  /** @throws NotFoundError, WrongKindError (a folder), ChangedMeanwhileError (`ifMatch`) */
  open(options: Omit<ReadOptions, 'signal'> = {}): Promise<ReadResult> {
    return this.#storage.read(this.path, { ...options, signal: this.#life.signal });
  }

  /**
   * Opens the version that the store described before. Where there is no ETag the size is compared instead,
   * because some WebDAV servers report another modification time with the content.
   * @throws ChangedMeanwhileError; as `open`
   */
  async openSeen(seen: Stat, options: Omit<ReadOptions, 'signal' | 'ifMatch'> = {}): Promise<ReadResult> {
    const read = await this.open({ ...options, ifMatch: seen.etag });
    const { size = seen.size } = read.stat;
    if (seen.etag !== undefined || seen.size === undefined || size === seen.size) return read;
    if (read.bytes === undefined) read.stream.destroy();
    throw new ChangedMeanwhileError();
  }

  /** @see ReadableStore.temporaryUrl */
  async temporaryUrl(options: Omit<TemporaryUrlOptions, 'signal'>): Promise<string | undefined> {
    return this.#storage.temporaryUrl?.(this.path, { ...options, signal: this.#life.signal });
  }

  /** Path of the file for the web server, when the store is a local disk. */
  pathBelow(root: string | undefined): string {
    const folder = root ?? `/${(this.#storage.identity?.root ?? []).join('/')}`;
    return `${folder.replace(/\/$/u, '')}/${this.path.toString()}`;
  }
}

/** The part of a view that its items use. */
interface ItemHost {
  readonly source: Source;
  readonly folder: SourcePath;
  readonly may: (key: string, entry: Entry, path: SourcePath | undefined) => boolean;
  readonly fileAt: (path: SourcePath) => ViewedFile;
}

/** An existing file or folder that listings show, as its requester may see it. Only views create it. */
export class Item<Known extends Entry = Stat> {
  readonly stat: Known;
  readonly #host: ItemHost;
  #path: SourcePath | undefined;

  constructor(host: ItemHost, stat: Known, path?: SourcePath) {
    this.#host = host;
    this.stat = stat;
    this.#path = path;
  }

  get source(): Source {
    return this.#host.source;
  }

  /** Built on first use, because that is the most expensive part of an item. */
  get path(): SourcePath {
    return (this.#path ??= this.#host.folder.below(this.stat.name));
  }

  get folder(): SourcePath {
    return this.#host.folder;
  }

  get kind(): EntryKind {
    return this.stat.kind;
  }

  may(key: string): boolean {
    return this.#host.may(key, this.stat, this.#path);
  }

  /** Whether the requester may open a link to it. Only `protected` and `signed` sources check that. */
  opensBy(keys: readonly string[] = FILE_KEYS): boolean {
    const { serve } = this.source.settings;
    return (serve !== 'protected' && serve !== 'signed') || keys.every((key) => this.may(key));
  }

  get file(): ViewedFile {
    return this.#host.fileAt(this.path);
  }

  /** A derived file of it, in a hidden folder. */
  drawn(path: SourcePath): ViewedFile {
    return this.#host.fileAt(path);
  }
}

type Test = (entry: Entry) => boolean;

/** Filters of a listing, applied after settings and access rules. */
export interface Wanted {
  readonly folders: boolean;
  /** Leaves out files that are not images. Folders stay. */
  readonly onlyImages: boolean;
  /** Leaves out names that do not contain this word, ignoring letter case. Undefined: all stay. */
  readonly filterWord: string | undefined;
}

const EVERYTHING: Wanted = { folders: true, onlyImages: false, filterWord: undefined };

const nameTest = (word: string | undefined): Test => {
  if (word === undefined) return () => true;
  const wanted = withoutCase(word);
  return ({ name }) => withoutCase(name).includes(wanted);
};

/** Shorter paths are within the limits in any script. */
const FEW_SEGMENTS = 50;
const FEW_LETTERS = 500;

/** One folder of a source, as a requester may see it. Compiles its rules once, not for each entry. */
export class FolderView {
  readonly source: Source;
  readonly path: SourcePath;
  readonly #storage: ReadableStore;
  readonly #access: Access;
  readonly #life: Life;
  readonly #host: ItemHost;
  readonly #tests = new Map<string, (entry: Pick<Entry, 'name' | 'kind'>) => boolean>();

  constructor(source: Source, path: SourcePath, storage: ReadableStore, access: Access, life: Life) {
    this.source = source;
    this.path = path;
    this.#storage = storage;
    this.#access = access;
    this.#life = life;
    this.#host = {
      source,
      folder: path,
      may: (key, entry, at) => (at === undefined ? this.may(key, entry) : access.may(key, at, entry.kind)),
      fileAt: (at) => new ViewedFile(storage, at, life),
    };
  }

  /** Whether the key is allowed for an entry; evaluated once when the whole folder has the same rules. */
  may(key: string, entry: Pick<Entry, 'name' | 'kind'>): boolean {
    let test = this.#tests.get(key);
    if (test === undefined) {
      test = this.#testOf(key);
      this.#tests.set(key, test);
    }
    return test(entry);
  }

  /** Denies entries whose path exceeds the limits: no request can reach them and no rule can name them. */
  #testOf(key: string): (entry: Pick<Entry, 'name' | 'kind'>) => boolean {
    if (!this.#access.dependsOnItem(key, this.path)) {
      const isAllowed = this.#access.allows(key, this.path);
      return () => isAllowed;
    }
    return ({ name, kind }) => {
      try {
        return this.#access.may(key, this.path.child(name), kind);
      } catch (error) {
        if (error instanceof UnsafePathError) return false;
        throw error;
      }
    };
  }

  /** Whether a sub-folder is shown: not reserved, and the rules let the role list folders at its path. */
  showsFolders(): Test {
    const isReserved = reservedNames(this.source.settings);
    return (entry) => entry.kind === 'folder' && !isReserved(entry.name) && this.may('FOLDERS', entry);
  }

  /**
   * Whether an entry appears in the listing. Hides reserved names, extensions that the source does not allow,
   * and entries denied by an access rule about paths or extensions.
   */
  shows(wanted: Wanted = EVERYTHING): Test {
    const { settings } = this.source;
    const isReserved = reservedNames(settings);
    const isFolder = this.showsFolders();
    const hasWord = nameTest(wanted.filterWord);
    const images = new Set(settings.imageExtensions);
    const extensions = new Set(
      settings.extensions.filter((extension) => !wanted.onlyImages || images.has(extension)),
    );
    const isFile: Test = ({ name }) => extensions.has(extensionOf(name) ?? '') && !isReserved(name);
    return (entry) =>
      (entry.kind === 'folder' ? wanted.folders && isFolder(entry) : isFile(entry)) &&
      hasWord(entry) &&
      this.may('FILES', entry);
  }

  /** Whether a request can name the entry: its path is within the limits of length and depth. */
  isNameable(name: string): boolean {
    const isShort =
      this.path.segments.length < FEW_SEGMENTS && this.path.toString().length + name.length < FEW_LETTERS;
    return isShort || orUndefined(() => this.path.child(name)) !== undefined;
  }

  /**
   * The entries that the listing shows, in pages and in the store's order. Opens no file.
   * @throws NotFoundError, WrongKindError (a file); the signal's reason when it is aborted
   */
  async *pages(
    wanted: Wanted | 'folders',
    options: Omit<ListOptions, 'signal' | 'startingWith'>,
  ): AsyncGenerator<readonly Entry[], void, undefined> {
    const { signal } = this.#life;
    const isShown = wanted === 'folders' ? this.showsFolders() : this.shows(wanted);
    for await (const page of this.#storage.list(this.path, { ...options, signal })) {
      signal.throwIfAborted();
      yield page.filter(isShown);
    }
  }

  /** Whether reading some of the entries costs less than reading all. */
  get isAskedCheaply(): boolean {
    return this.#storage.statMany !== undefined;
  }

  /**
   * The entries with current details, where the store reads many in one request. An entry that was removed or
   * replaced by another kind keeps its old details: clients take a short page for the last one.
   */
  async described(entries: readonly Entry[]): Promise<readonly Entry[]> {
    if (this.#storage.statMany === undefined || entries.length === 0) return entries;
    const names = entries.map(({ name }) => name);
    const found = await this.#storage.statMany(this.path, names, { signal: this.#life.signal });
    return entries.map((entry, index) => {
      const known = found[index];
      return known?.kind === entry.kind ? known : entry;
    });
  }

  /** The descriptions of files of the folder, in the order of the entries. @see AboutKeeper.of */
  abouts(keeper: Pick<AboutKeeper, 'of'>, entries: Entries): ReturnType<AboutKeeper['of']> {
    const names = Array.from(entries, ({ name }) => name);
    return keeper.of(this.#storage, this.path, names, this.#life.signal);
  }

  /** Creates the item of an entry that `pages` or a walk returned. */
  item<Known extends Entry>(entry: Known, path?: SourcePath): Item<Known> {
    return new Item(this.#host, entry, path);
  }
}
