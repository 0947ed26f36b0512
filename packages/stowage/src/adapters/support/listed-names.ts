import { decomposed, type Spellings } from './spellings.ts';
import type { SourcePath } from '../../storage/source-path.ts';

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
