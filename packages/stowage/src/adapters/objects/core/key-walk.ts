import { holdsWords } from '../../../basics/content/file-name.ts';
import { UnsupportedError } from '../../../errors/errors.ts';
import type { Entry } from '../../../storage/adapter.ts';
import { folderNamed } from '../../../storage/entry.ts';
import { isSegment, type SourcePath } from '../../../storage/source-path.ts';
import {
  WalkedFolders,
  type FoundEntry,
  type TreeWalkOptions,
  type WalkPage,
} from '../../../storage/tree-walk.ts';
import { HIDDEN_FOLDER } from './keys.ts';
import type { ListedObject, ObjectPage, Objects } from './objects.ts';

const BEYOND_FIRST_PLANE = /[\u{10000}-\u{10FFFF}]/u;

/** Compares UTF-8 bytes, the order of keys. That of UTF-16 units differs outside the first plane. */
const isBefore = (left: string, right: string): boolean =>
  BEYOND_FIRST_PLANE.test(left + right)
    ? Buffer.compare(Buffer.from(left), Buffer.from(right)) < 0
    : left < right;

const partsOf = (position: string): { readonly folders: readonly string[]; readonly name: string } => {
  const folders = position.split('/');
  const name = folders.pop() ?? '';
  return { folders, name };
};

/** Derives a tree from sorted keys. Positions are keys below the folder, as stored. */
class KeyWalk {
  readonly #prefix: string;
  readonly #options: TreeWalkOptions;
  readonly #holdsWords: (name: string) => boolean;
  readonly #entered: WalkedFolders;
  /** Folders of the last key, as stored. */
  #way: readonly string[];
  /** The same folders as in paths; undefined where no path can name them. */
  #names: readonly string[] | undefined;
  #last: string;
  #isBegun = false;
  #found: FoundEntry[] = [];
  #seen = 0;

  constructor(prefix: string, folder: SourcePath, options: TreeWalkOptions) {
    this.#prefix = prefix;
    this.#options = options;
    this.#holdsWords = holdsWords(options.words);
    this.#entered = new WalkedFolders(folder, options);
    this.#last = options.after ?? '';
    this.#way = partsOf(this.#last).folders;
    this.#names = this.#namesOf(this.#way);
  }

  /** @throws UnsupportedError where the service has another order */
  take({ objects }: ObjectPage): WalkPage {
    this.#found = [];
    this.#seen = 0;
    for (const object of objects) {
      const position = object.key.slice(this.#prefix.length);
      if (!isBefore(this.#last, position)) {
        // The folder's own object, or a service that ignores the start of the listing.
        if (!this.#isBegun) continue;
        throw new UnsupportedError({ detail: 'the service does not list keys in their order' });
      }
      this.#isBegun = true;
      this.#last = position;
      this.#take(position, object);
    }
    return { found: this.#found, seen: this.#seen, position: this.#last };
  }

  /** The next page begins a listing, which shows known keys if the service ignores its start. */
  begin(): void {
    this.#isBegun = false;
  }

  /** Position to resume at when the last key of this listing is in a folder that is never entered. */
  get behindNever(): string | undefined {
    if (!this.#isBegun) return undefined;
    const index = this.#way.findIndex(
      (name) => name === HIDDEN_FOLDER || this.#options.never?.test(name.normalize('NFC')) === true,
    );
    return index === -1 ? undefined : `${this.#way.slice(0, index + 1).join('/')}/\u{10FFFF}`;
  }

  #take(position: string, { size, modifiedAt, etag, reserved }: ListedObject): void {
    const { folders, name } = partsOf(position);
    if (!position.startsWith(`${this.#way.join('/')}/`) || folders.length !== this.#way.length)
      this.#enter(folders);
    if (name === '' || reserved !== undefined) return;
    this.#seen += 1;
    this.#report(name, position, (composed) => ({ name: composed, kind: 'file', size, modifiedAt, etag }));
  }

  /** Moves to the folder of the next key, and reports the new folders on its path. */
  #enter(folders: readonly string[]): void {
    let depth = 0;
    while (depth < this.#way.length && folders[depth] === this.#way[depth]) depth += 1;
    for (; depth < folders.length; depth += 1) {
      this.#way = folders.slice(0, depth);
      this.#names = this.#namesOf(this.#way);
      this.#seen += 1;
      const position = `${folders.slice(0, depth + 1).join('/')}/`;
      this.#report(folders[depth] ?? '', position, folderNamed);
    }
    this.#way = folders;
    this.#names = this.#namesOf(folders);
  }

  #report(written: string, position: string, entryOf: (name: string) => Entry): void {
    const [name] = this.#namesOf([written]) ?? [];
    if (name === undefined || this.#names === undefined || !this.#holdsWords(name)) return;
    const entry = entryOf(name);
    const path = this.#entered.wants(this.#names, entry) ? this.#entered.path?.below(name) : undefined;
    if (path !== undefined) this.#found.push({ path, entry, position });
  }

  #namesOf(written: readonly string[]): readonly string[] | undefined {
    const names = written.map((name) => name.normalize('NFC'));
    return names.every((name) => name !== HIDDEN_FOLDER && isSegment(name)) ? names : undefined;
  }
}

/**
 * Walks by listing all keys below a folder: a thousand entries per request, however many folders there are.
 * Returns false, without a page, when the folder has no keys.
 * @see StorageAdapter.walk
 */
export async function* walkKeys(
  objects: Objects,
  prefix: string,
  folder: SourcePath,
  options: TreeWalkOptions,
): AsyncGenerator<WalkPage, boolean, undefined> {
  const walk = new KeyWalk(prefix, folder, options);
  let isSeen = false;
  for (let after = options.after; ;) {
    let next: string | undefined;
    walk.begin();
    const pages = objects.pages(prefix, options, after === undefined ? {} : { after: prefix + after });
    for await (const page of pages) {
      const taken = walk.take(page);
      isSeen ||= taken.seen > 0;
      if (isSeen) yield taken;
      next = walk.behindNever;
      if (next !== undefined) break;
    }
    if (next === undefined) return isSeen;
    after = next;
  }
}
