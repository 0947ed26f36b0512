import { isRefusal } from '../../errors/errors.ts';
import type { SourcePath } from '../../storage/source-path.ts';

const NON_ASCII = /[^\u0000-\u007f]/u;

/** The name in decomposed form, where that differs: some systems store names in this form. */
export const decomposed = (name: string): string | undefined => {
  if (!NON_ASCII.test(name)) return undefined;
  const form = name.normalize('NFD');
  return form === name ? undefined : form;
};

const MOST = 10_000;
/** Bytes of the longest name in file systems. Decomposed letters have up to three times as many. */
export const LONGEST_NAME = 255;

/**
 * Spellings of entries in a store whose names are not composed; paths always are. Remembers the last 10,000;
 * forgotten ones are found again by listings, or by a lookup of the decomposed name.
 */
export class Spellings {
  readonly #written = new Map<string, string>();

  /** The entry's name in the store, where it is known to differ from that in the path. */
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

  /** The segments of a path in the store's spelling, as far as it is known. */
  segmentsOf({ segments }: SourcePath): readonly string[] {
    if (this.#written.size === 0) return segments;
    return segments.map(
      (segment, index) => this.#written.get(segments.slice(0, index + 1).join('/')) ?? segment,
    );
  }
}

/**
 * To be called after a path was not found: returns whether it, or one of its parents, has a decomposed name.
 * Remembers the result. Costs one lookup for each name that can be decomposed, and one or two more for
 * folders.
 * @param exists looks up a path in the spellings known so far
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
      // Servers have several errors for a name that is too long for them.
      if (Buffer.byteLength(written) <= LONGEST_NAME || !isRefusal(error)) throw error;
    } finally {
      // Also when the store did not respond: unknown spellings are not remembered.
      if (!isThere) spellings.forget(one);
    }
    if (!isThere) return false;
    isFound = true;
  }
  return isFound;
};

/**
 * The entries of one listing, each name once: of several spellings of one name the composed one counts, which
 * paths find. Names that are not composed are deferred to the end of the listing. Memory: the composed names
 * that have another spelling.
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

  /** Whether an entry can be shown immediately. `name` is composed, `written` the store's spelling. */
  pass(name: string, written: string, item: Item): boolean {
    if (written !== name) {
      const other = this.#waiting.get(name);
      // Which of several is arbitrary, but must always be the same.
      if (other === undefined || written < other.written) this.#waiting.set(name, { written, item });
      return false;
    }
    if (decomposed(name) !== undefined) {
      this.#composed.add(name);
      this.#spellings.forget(this.#folder.below(name));
    }
    return true;
  }

  /** The deferred entries, after the end of the listing. */
  rest(): readonly Item[] {
    const rest = [...this.#waiting].filter(([name]) => !this.#composed.has(name));
    for (const [name, { written }] of rest) this.#spellings.note(this.#folder.below(name), written);
    return rest.map(([, { item }]) => item);
  }
}
