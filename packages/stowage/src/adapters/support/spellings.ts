import { isRefusal } from '../../errors/errors.ts';
import type { SourcePath } from '../../storage/source-path.ts';

const NON_ASCII = /[^\u0000-\u007f]/u;

/** The name as decomposed text, where that is another text: some systems store names so. */
export const decomposed = (name: string): string | undefined => {
  if (!NON_ASCII.test(name)) return undefined;
  const form = name.normalize('NFD');
  return form === name ? undefined : form;
};

const MOST = 10_000;
/** Bytes of the longest name that file systems take. Decomposed letters have up to three times as many. */
const LONGEST = 255;

/**
 * How entries are written in a store whose names are not composed there; paths always are. Remembers the last
 * 10,000; what is forgotten is found again by listings, or by asking for the decomposed name.
 */
export class Spellings {
  readonly #written = new Map<string, string>();

  /** The name that an entry has in the store, where it is known to be another one than the path's. */
  get(path: SourcePath): string | undefined {
    return this.#written.get(path.toString());
  }

  note(path: SourcePath, written: string): void {
    this.forget(path);
    if (written === path.name) return;
    const [oldest] = this.#written.keys();
    if (this.#written.size >= MOST && oldest !== undefined) this.#written.delete(oldest);
    this.#written.set(path.toString(), written);
  }

  forget(path: SourcePath): void {
    this.#written.delete(path.toString());
  }

  /** The segments of a path as the store has them, as far as that is known. */
  segmentsOf({ segments }: SourcePath): readonly string[] {
    if (this.#written.size === 0) return segments;
    return segments.map(
      (segment, index) => this.#written.get(segments.slice(0, index + 1).join('/')) ?? segment,
    );
  }
}

/**
 * To be asked when nothing was found under a path: whether it, or a folder on the way, is written in
 * decomposed letters. Remembers what it finds. Costs one question for each name that can be written so, and
 * one or two more for folders.
 * @param exists asks the store about a path in the spelling that is known by then
 */
export const respell = async (
  spellings: Spellings,
  path: SourcePath,
  exists: (one: SourcePath) => Promise<boolean>,
): Promise<boolean> => {
  let isFound = false;
  for (const one of path.ancestry()) {
    const written = decomposed(one.name);
    if (written === undefined) continue;
    const wasAsked = one === path && !isFound;
    if (!wasAsked && (await exists(one))) continue;
    spellings.note(one, spellings.get(one) === undefined ? written : one.name);
    let isThere = false;
    try {
      isThere = await exists(one);
    } catch (error) {
      // Servers have several refusals for a name that is too long for them.
      if (Buffer.byteLength(written) <= LONGEST || !isRefusal(error)) throw error;
    } finally {
      // Also when the store did not answer: what is not known is not remembered.
      if (!isThere) spellings.forget(one);
    }
    if (!isThere) return false;
    isFound = true;
  }
  return isFound;
};

/**
 * The entries of one listing, each name once: where several spellings of one name lie side by side the
 * composed one counts, which a path reaches. Names that are not composed wait for the end of the listing.
 * Memory: the composed names that could be written otherwise.
 */
export class ListedNames<Item> {
  readonly #folder: SourcePath;
  readonly #spellings: Spellings;
  readonly #composed = new Set<string>();
  readonly #waiting = new Map<string, { readonly written: string; readonly item: Item }>();

  constructor(folder: SourcePath, spellings: Spellings) {
    this.#folder = folder;
    this.#spellings = spellings;
  }

  /** Whether an entry can be shown immediately. `name` is composed, `written` what the store calls it. */
  pass(name: string, written: string, item: Item): boolean {
    if (written !== name) {
      const other = this.#waiting.get(name);
      // Which of several does not matter, only that it is always the same.
      if (other === undefined || written < other.written) this.#waiting.set(name, { written, item });
      return false;
    }
    if (decomposed(name) !== undefined) {
      this.#composed.add(name);
      this.#spellings.forget(this.#folder.below(name));
    }
    return true;
  }

  /** What has waited, when the listing has ended. */
  rest(): readonly Item[] {
    const rest = [...this.#waiting].filter(([name]) => !this.#composed.has(name));
    for (const [name, { written }] of rest) this.#spellings.note(this.#folder.below(name), written);
    return rest.map(([, { item }]) => item);
  }
}
