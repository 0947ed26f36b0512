import { NotFoundError } from '../errors/errors.ts';
import type { Source } from '../sources/source.ts';
import type { Entry, EntryKind, Stat } from '../storage/entry.ts';
import type { ReadableStore, ReadOptions, ReadResult, TemporaryUrlOptions } from '../storage/readable.ts';
import type { SourcePath } from '../storage/source-path.ts';
import { FILE_KEYS } from './rights.ts';

/** Ends when its request does. */
export interface Life {
  readonly signal: AbortSignal;
}

/** Says which of the things that a request names is missing. */
export const missing = (
  what: EntryKind | 'file or folder' | 'destination folder' | 'parent folder',
  cause?: unknown,
): NotFoundError => new NotFoundError({ message: `The ${what} was not found.`, cause });

/** A file that may be read: views alone make it. */
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

  /** @see ReadableStore.temporaryUrl */
  async temporaryUrl(options: Omit<TemporaryUrlOptions, 'signal'>): Promise<string | undefined> {
    return this.#storage.temporaryUrl?.(this.path, { ...options, signal: this.#life.signal });
  }

  /** Where the web server finds the file on its disk, when the store lies there. */
  pathBelow(root: string | undefined): string {
    const folder = root ?? `/${(this.#storage.identity?.root ?? []).join('/')}`;
    return `${folder.replace(/\/$/u, '')}/${this.path.toString()}`;
  }
}

/** What an item asks of the view that made it. */
export interface ItemHost {
  readonly source: Source;
  readonly folder: SourcePath;
  readonly may: (key: string, entry: Entry, path: SourcePath | undefined) => boolean;
  readonly fileAt: (path: SourcePath) => ViewedFile;
}

/** An existing file or folder that listings show, as its requester may see it: views alone make it. */
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

  /** Made when it is asked for: that takes longer than all else. */
  get path(): SourcePath {
    return (this.#path ??= this.#host.folder.below(this.stat.name));
  }

  /** The folder that it lies in. */
  get folder(): SourcePath {
    return this.#host.folder;
  }

  get kind(): EntryKind {
    return this.stat.kind;
  }

  /** What the rules have decided for this item. */
  may(key: string): boolean {
    return this.#host.may(key, this.stat, this.#path);
  }

  /** Whether a link to it opens for the requester: the rules count for those of some sources alone. */
  opensBy(keys: readonly string[] = FILE_KEYS): boolean {
    const { serve } = this.source.settings;
    return (serve !== 'protected' && serve !== 'signed') || keys.every((key) => this.may(key));
  }

  /** Its content. */
  get file(): ViewedFile {
    return this.#host.fileAt(this.path);
  }

  /** What was drawn of it, and is kept in a folder that no listing shows. */
  drawn(path: SourcePath): ViewedFile {
    return this.#host.fileAt(path);
  }
}
