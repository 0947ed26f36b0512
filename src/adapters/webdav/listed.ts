import type { Stat } from '../../storage/adapter.ts';
import { decomposed } from '../../storage/decomposed.ts';
import type { SourcePath } from '../../storage/source-path.ts';
import type { Spellings } from './spellings.ts';

/** One entry of a listed folder, or the folder itself. */
export interface Child {
  readonly isSelf: boolean;
  readonly stat: Stat;
  /** The name as the server writes it. */
  readonly written: string;
}

/**
 * The entries of one listing, each name once: where several spellings of one name lie side by side the composed one counts, which a path
 * reaches. What is not composed waits for the end of the listing.
 */
export class Listed {
  readonly #folder: SourcePath;
  readonly #spellings: Spellings;
  /** Names that could be written otherwise, and are not. */
  readonly #composed = new Set<string>();
  readonly #waiting = new Map<string, Child>();

  constructor(folder: SourcePath, spellings: Spellings) {
    this.#folder = folder;
    this.#spellings = spellings;
  }

  /** What of a batch can be told at once. */
  pass(batch: readonly Child[]): readonly Child[] {
    return batch.filter((child) => this.#isPassed(child));
  }

  /** What has waited, when the listing has ended. */
  rest(): readonly Child[] {
    const rest = [...this.#waiting].filter(([name]) => !this.#composed.has(name)).map(([, child]) => child);
    for (const { stat, written } of rest) this.#spellings.note(this.#folder.child(stat.name), written);
    return rest;
  }

  #isPassed(child: Child): boolean {
    const { isSelf, stat, written } = child;
    if (isSelf) return true;
    const { name } = stat;
    if (written !== name) {
      const other = this.#waiting.get(name);
      // Which of several does not matter, only that it is always the same.
      if (other === undefined || written < other.written) this.#waiting.set(name, child);
      return false;
    }
    if (decomposed(name) !== undefined) {
      this.#composed.add(name);
      this.#spellings.forget(this.#folder.child(name));
    }
    return true;
  }
}
