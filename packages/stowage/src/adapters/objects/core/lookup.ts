import type { Readable } from 'node:stream';
import type {
  Stat,
  Entry,
  Glimpse,
  GlimpseOptions,
  ListOptions,
  OperationOptions,
  PutOptions,
  ReadOptions,
  ReadResult,
  SeenOptions,
} from '../../../storage/adapter.ts';
import { passBody } from '../../remote/core/body.ts';
import { type SourcePath, isSegment } from '../../../storage/source-path.ts';
import {
  type KeptAttributes,
  type ObjectFacts,
  type Objects,
  type ObjectPage,
  glimpseOf,
} from './objects.ts';
import { ListedNames, respell, type Spellings } from '../../support/spellings.ts';
import { AlreadyExistsError, ifMissing, NotFoundError, WrongKindError } from '../../../errors/errors.ts';
import { HIDDEN_FOLDER, type Keys } from './keys.ts';

const fileStat = (path: SourcePath, { size, modifiedAt, etag }: ObjectFacts): Stat => ({
  name: path.name,
  kind: 'file',
  size,
  modifiedAt,
  etag,
});

// A reader that paused for this long may have lost its connection: idle connections are closed by this
// process and by services.
const LONG_PAUSE_MS = 500;

/** Opens an object, or a range of it. @throws NotFoundError, ChangedMeanwhileError, CorruptError */
export const openObject = async (
  objects: Objects,
  key: string,
  statOf: (facts: ObjectFacts) => Stat,
  options: ReadOptions,
): Promise<ReadResult> => {
  const { signal } = options;
  const { facts, body, length: told, failure } = await objects.get(key, options);
  const { start, end } = options.range ?? { start: 0, end: undefined };
  const length = end === undefined ? told : end - start + 1;
  const { etag } = facts;
  const openRest = async (offset: number): Promise<Readable> => {
    const range = { start: start + offset, end: end ?? (length ?? 0) - 1 };
    return (await objects.get(key, { signal, range, ifMatch: etag })).body;
  };
  const mayReopen = etag !== undefined && length !== undefined;
  const stream = passBody(body, {
    length,
    signal,
    failure,
    reopen: mayReopen ? { afterMs: LONG_PAUSE_MS, open: openRest } : undefined,
  });
  return { stat: statOf(facts), stream };
};

/** A file that was found: its key, and the reported properties. */
interface FoundFile extends Pick<ObjectFacts, 'storageClass' | 'kept'> {
  readonly key: string;
  readonly size: number;
  readonly stat: Stat;
}

export const firstKey = async (
  objects: Pick<Objects, 'pages'>,
  prefix: string,
  options: OperationOptions,
): Promise<string | undefined> => {
  for await (const page of objects.pages(prefix, options, { size: 1 }))
    if (page.objects[0] !== undefined) return page.objects[0].key;
  return undefined;
};

/** Whether any key has this prefix. */
export const hasBelow = async (
  objects: Pick<Objects, 'pages'>,
  prefix: string,
  options: OperationOptions,
): Promise<boolean> => (await firstKey(objects, prefix, options)) !== undefined;

/** Names and properties of the entries in one page of a folder, without the folder's own object. */
const listedIn = ({ objects, prefixes }: ObjectPage, folder: string) => [
  ...objects
    .filter(({ key, reserved }) => key !== folder && reserved === undefined)
    .map(({ key, size, modifiedAt, etag }) => ({
      written: key.slice(folder.length),
      facts: { kind: 'file' as const, size, modifiedAt, etag },
    })),
  ...prefixes.map((prefix) => ({
    written: prefix.slice(folder.length, -1),
    facts: { kind: 'folder' as const, size: undefined, modifiedAt: undefined },
  })),
];

/** Finds files and folders by path, in whatever spelling their keys have. */
export class Lookup {
  readonly #objects: Objects;
  readonly #keys: Keys;
  readonly #spellings: Spellings;
  readonly #found = new WeakMap<Stat, FoundFile>();

  constructor(objects: Objects, keys: Keys, spellings: Spellings) {
    this.#objects = objects;
    this.#keys = keys;
    this.#spellings = spellings;
  }

  async isFolder(path: SourcePath, options: OperationOptions): Promise<boolean> {
    return path.isRoot || hasBelow(this.#objects, this.#keys.ofFolder(path), options);
  }

  /** The entries of a folder; returns whether the folder exists. Counts objects that no path can name. */
  async *entries(folder: SourcePath, options: ListOptions): AsyncGenerator<readonly Entry[], boolean> {
    const key = this.#keys.ofFolder(folder);
    const names = new ListedNames<Entry>(folder, this.#spellings);
    // A filtered listing does not show whether the folder exists.
    let exists = folder.isRoot || options.startingWith !== undefined;
    let omitted = 0;
    let respelled = 0;
    for await (const page of this.#pagesOf(key, options)) {
      exists ||= page.objects.length > 0 || page.prefixes.length > 0;
      const entries: Entry[] = [];
      for (const { written, facts } of listedIn(page, key)) {
        const name = written.normalize('NFC');
        if (name === HIDDEN_FOLDER) continue;
        if (!isSegment(name)) {
          omitted += 1;
          continue;
        }
        if (name !== written) respelled += 1;
        const entry = { name, ...facts };
        if (names.pass(name, written, entry)) entries.push(entry);
      }
      if (entries.length > 0) yield entries;
    }
    const rest = names.rest();
    // Of several spellings of one name only one is accessible.
    omitted += respelled - rest.length;
    if (omitted > 0) options.onOmitted?.(omitted);
    if (rest.length > 0) yield rest;
    return exists;
  }

  /** @see ReadableStore.glimpse */
  async glimpse(folder: SourcePath, { most, ...options }: GlimpseOptions): Promise<Glimpse> {
    const prefix = this.#keys.ofFolder(folder);
    const pages = this.#objects.pages(prefix, options, { delimiter: '/', size: most });
    for await (const page of pages) {
      const isEmpty = page.objects.length + page.prefixes.length === 0;
      // Another page may follow an empty one.
      if (isEmpty && !(folder.isRoot && page.isLast)) continue;
      return glimpseOf(page, folder, prefix, (path, object) => this.found(path, object.key, object).stat);
    }
    throw new NotFoundError();
  }

  async *#pagesOf(folder: string, { startingWith = '', signal }: ListOptions): AsyncGenerator<ObjectPage> {
    // Other tools write letters in decomposed form.
    const spellings = new Set([startingWith.normalize('NFC'), startingWith.normalize('NFD')]);
    for (const spelled of spellings)
      yield* this.#objects.pages(folder + spelled, { signal }, { delimiter: '/' });
  }

  /** Repeats `work` when nothing was found and the store has the path in another spelling. */
  async inAnySpelling<T>(path: SourcePath, options: OperationOptions, work: () => Promise<T>): Promise<T> {
    try {
      return await work();
    } catch (error) {
      if (!(error instanceof NotFoundError) || !(await this.isRespelled(path, options))) throw error;
    }
    return work();
  }

  /** Whether the store has a path that was not found in another spelling, which is then remembered. */
  isRespelled(path: SourcePath, options: OperationOptions): Promise<boolean> {
    return respell(this.#spellings, path, async (spelled) => {
      try {
        const found = await this.#objects.find(this.#keys.of(spelled), options);
        return found !== undefined || (await this.isFolder(spelled, options));
      } catch (error) {
        // The decomposed key may exceed the limit of keys.
        return ifMissing(error) ?? false;
      }
    });
  }

  /** Throws the reason why no item was found. @throws NotFoundError, WrongKindError */
  async reject(path: SourcePath, wanted: 'file' | 'folder', options: OperationOptions): Promise<never> {
    const other =
      wanted === 'file'
        ? await this.isFolder(path, options)
        : (await this.#objects.find(this.#keys.of(path), options)) !== undefined;
    throw other ? new WrongKindError() : new NotFoundError();
  }

  /** Records a file by its key and properties, for as long as its `stat` is used. */
  found(path: SourcePath, key: string, facts: ObjectFacts): FoundFile {
    const { size = 0, storageClass, kept } = facts;
    const found = { key, size, stat: fileStat(path, facts), storageClass, kept };
    this.#found.set(found.stat, found);
    return found;
  }

  /** Attributes that a lookup with this result has reported. */
  keptOf(stat: Stat | undefined): KeptAttributes | undefined {
    return stat && this.#found.get(stat)?.kept;
  }

  /** Sends no request when `seen` is known from an earlier lookup. @throws NotFoundError, WrongKindError */
  async requireFile(path: SourcePath, options: OperationOptions & SeenOptions): Promise<FoundFile> {
    if (path.isRoot) throw new WrongKindError();
    const seen = options.seen && this.#found.get(options.seen);
    if (seen !== undefined) return seen;
    return this.inAnySpelling(path, options, async () => {
      const key = this.#keys.of(path);
      const facts = await this.#objects.find(key, options);
      return facts === undefined ? this.reject(path, 'file', options) : this.found(path, key, facts);
    });
  }

  /** Runs `work` with a folder's prefix, in its stored spelling. @throws NotFoundError, WrongKindError */
  async withFolder(
    path: SourcePath,
    options: OperationOptions,
    work: (folder: string) => Promise<void>,
  ): Promise<void> {
    await this.inAnySpelling(path, options, async () => {
      try {
        await work(this.#keys.ofFolder(path));
      } catch (error) {
        if (error instanceof NotFoundError) return this.reject(path, 'folder', options);
        throw error;
      }
    });
  }

  /** @throws NotFoundError, WrongKindError */
  async requireFolder(path: SourcePath, options: OperationOptions): Promise<void> {
    await this.withFolder(path, options, async () => {
      if (!(await this.isFolder(path, options))) throw new NotFoundError();
    });
  }

  /** The key of a file to be created, unless a folder has the name. */
  async freeOfFolder(
    path: SourcePath,
    { isNoFolder, createOnly = false, ...options }: PutOptions,
  ): Promise<string> {
    const taken = (): Error => (createOnly ? new AlreadyExistsError() : new WrongKindError());
    if (path.isRoot) throw taken();
    const key = this.#keys.toMake(path);
    if (isNoFolder === true) return key;
    if (!(await hasBelow(this.#objects, `${key}/`, options))) return key;
    // Other tools can store a file beside a folder of the same name.
    if (createOnly || (await this.#objects.find(key, options)) === undefined) throw taken();
    return key;
  }

  /**
   * The key for a copy, unless a folder has the name. Also checks for a file, where the service does not
   * decide create-only copies. One wrong response must not cost an object: both a lookup and a listing,
   * possibly the caller's, must show that there is none.
   * @throws AlreadyExistsError, WrongKindError (a folder, where a file may be replaced)
   */
  async freeForCopy(
    path: SourcePath,
    options: PutOptions,
  ): Promise<{ readonly key: string; readonly isCheckedFree: boolean }> {
    if (options.createOnly !== true || this.#objects.decides.copy || path.isRoot)
      return { key: await this.freeOfFolder(path, options), isCheckedFree: false };
    const key = this.#keys.toMake(path);
    const [found, isListed] = await Promise.all([
      this.#objects.find(key, options),
      options.isNoFolder !== true && this.#isListed(key, options),
    ]);
    if (found !== undefined || isListed) throw new AlreadyExistsError();
    return { key, isCheckedFree: true };
  }

  /** Whether a listing shows a file or folder of this key: one request, unless very many names start so. */
  async #isListed(key: string, options: OperationOptions): Promise<boolean> {
    let isFirst = true;
    for await (const { objects, prefixes } of this.#objects.pages(key, options, { delimiter: '/' })) {
      if (!isFirst) return hasBelow(this.#objects, `${key}/`, options);
      // The service replaces a reservation that is left.
      const isFile = objects.some((object) => object.key === key && object.reserved === undefined);
      if (isFile || prefixes.includes(`${key}/`)) return true;
      isFirst = false;
    }
    return false;
  }
}
