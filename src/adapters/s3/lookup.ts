import { AlreadyExistsError, NotFoundError, WrongKindError } from '../../errors/errors.ts';
import type { Entry, ListOptions, OperationOptions } from '../../storage/adapter.ts';
import { ListedNames } from '../../storage/listed-names.ts';
import type { SourcePath } from '../../storage/source-path.ts';
import { respell, type Spellings } from '../../storage/spellings.ts';
import { strongEtag, type Bucket } from './bucket.ts';
import type { SourceObject } from './finish-move.ts';
import type { Keys } from './keys.ts';
import { entriesOf } from './listing.ts';

/** Finds what lies under paths, in whatever spelling its keys have. */
export class Lookup {
  readonly #bucket: Bucket;
  readonly #keys: Keys;
  readonly #spellings: Spellings;

  constructor(bucket: Bucket, keys: Keys, spellings: Spellings) {
    this.#bucket = bucket;
    this.#keys = keys;
    this.#spellings = spellings;
  }

  /** Whether anything lies below the path. One request. */
  async isFolder(path: SourcePath, options: OperationOptions): Promise<boolean> {
    return path.isRoot || this.#bucket.hasBelow(this.#keys.ofFolder(path), options);
  }

  /** What lies in a folder, in pages; gives whether the folder is there. */
  async *entries(folder: SourcePath, options: ListOptions): AsyncGenerator<readonly Entry[], boolean> {
    const key = this.#keys.ofFolder(folder);
    const names = new ListedNames<Entry>(folder, this.#spellings);
    let exists = folder.isRoot;
    for await (const page of this.#bucket.pages(key, options, { delimiter: '/' })) {
      exists ||= page.objects.length > 0 || page.prefixes.length > 0;
      const entries = entriesOf(page, key, names);
      if (entries.length > 0) yield entries;
    }
    const rest = names.rest();
    if (rest.length > 0) yield rest;
    return exists;
  }

  /** Does it once more where the store has the path in another spelling, in which it was not found. */
  async inAnySpelling<T>(path: SourcePath, options: OperationOptions, work: () => Promise<T>): Promise<T> {
    try {
      return await work();
    } catch (error) {
      if (!(error instanceof NotFoundError) || !(await this.isRespelled(path, options))) throw error;
    }
    return work();
  }

  /** To be asked when nothing was found: whether the store has the path in another spelling. Remembers what it finds. */
  isRespelled(path: SourcePath, options: OperationOptions): Promise<boolean> {
    return respell(this.#spellings, path, async (place) => {
      try {
        const found = await this.#bucket.find(this.#keys.of(place), options);
        return found !== undefined || (await this.isFolder(place, options));
      } catch (error) {
        // Longer than keys may be, which decomposed names can become.
        if (error instanceof NotFoundError) return false;
        throw error;
      }
    });
  }

  /** Says why what was looked for under this path is not there. */
  async refuse(path: SourcePath, wanted: 'file' | 'folder', options: OperationOptions): Promise<never> {
    const other =
      wanted === 'file'
        ? await this.isFolder(path, options)
        : (await this.#bucket.find(this.#keys.of(path), options)) !== undefined;
    throw other ? new WrongKindError() : new NotFoundError();
  }

  /** @throws NotFoundError, WrongKindError */
  async requireFile(path: SourcePath, options: OperationOptions): Promise<SourceObject> {
    if (path.isRoot) throw new WrongKindError();
    return this.inAnySpelling(path, options, async () => {
      const key = this.#keys.of(path);
      const head = await this.#bucket.find(key, options);
      if (head === undefined) return this.refuse(path, 'file', options);
      return { key, size: head.ContentLength ?? 0, etag: strongEtag(head.ETag) };
    });
  }

  /** The key of a file that is to be made, unless a folder has the name. */
  async freeOfFolder(path: SourcePath, createOnly: boolean, options: OperationOptions): Promise<string> {
    const taken = (): Error => (createOnly ? new AlreadyExistsError() : new WrongKindError());
    if (path.isRoot) throw taken();
    const key = this.#keys.toMake(path);
    if (!(await this.#bucket.hasBelow(`${key}/`, options))) return key;
    // Other tools can store a file beside a folder of its name.
    if (createOnly || (await this.#bucket.find(key, options)) === undefined) throw taken();
    return key;
  }
}
