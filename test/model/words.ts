import type { Found, Outcome } from './history.ts';
import { itemOf } from './content.ts';

/** What is said about a file: which item it is about, and the how manieth saying. */
export interface Said {
  readonly item: string;
  readonly version: number;
}

interface Sayings {
  /** The oldest that may stand in the end. */
  oldest: number;
  newest: number;
  /** A saying whose answer nobody has seen may still come. */
  isLoose: boolean;
}

/** The fields of a `fileDescribe`: the credit says the same as the caption. Edits move the focal point. */
export const wordsOf = ({ item, version }: Said): Readonly<Record<string, string>> => ({
  caption: `About ${item}, saying ${String(version)}.`,
  credit: String(version),
  'focalPoint[x]': String(version / 10_000),
  'focalPoint[y]': '0.5',
});

/** What `wordsOf` has written; undefined for no words, and for any that are none of these. */
export const readWords = (about: unknown): Said | 'mixed' | undefined => {
  const { caption, credit } = (about ?? {}) as { caption?: string; credit?: string };
  if (caption === undefined && credit === undefined) return undefined;
  const [, item, version] = /^About ([tp]\d+), saying (\d+)\.$/u.exec(caption ?? '') ?? [];
  const isWhole = item !== undefined && credit === version;
  return isWhole ? { item, version: Number(version) } : 'mixed';
};

/**
 * A model of the words about items, each of which one client writes: they are about the file that has them, and the
 * newest stand at one of its files.
 */
export class Words {
  readonly #said = new Map<string, Sayings>();

  /** Items about which something was said. */
  get count(): number {
    return this.#said.size;
  }

  /** The next that its writer says. */
  next(item: string): Said {
    return { item, version: (this.#said.get(item)?.newest ?? 0) + 1 };
  }

  said({ item, version }: Said, outcome: Outcome): void {
    if (outcome === 'refused') return;
    const before = this.#said.get(item) ?? { oldest: 0, newest: 0, isLoose: false };
    const isLoose = before.isLoose || outcome === 'unknown';
    this.#said.set(item, { oldest: isLoose ? before.oldest : version, newest: version, isLoose });
  }

  /** @param mayBeGone whether a file of the item may have been removed, with its words */
  violations(found: readonly Found[], mayBeGone: (item: string) => boolean): string[] {
    const misplaced = found.flatMap(({ where, name, words }) =>
      words === undefined || (words !== 'mixed' && words.item === itemOf(name))
        ? []
        : [`${where}/${name} has the words ${JSON.stringify(words)}`],
    );
    const kept = new Map<string, number>();
    for (const { words } of found)
      if (typeof words === 'object') kept.set(words.item, Math.max(words.version, kept.get(words.item) ?? 0));
    const lost = [...this.#said].flatMap(([item, { oldest, newest }]) => {
      const version = kept.get(item) ?? 0;
      return mayBeGone(item) || (version >= oldest && version <= newest)
        ? []
        : [`${item}: words ${String(oldest)} are lost; there are ${String(version)}`];
    });
    return [...misplaced, ...lost];
  }
}
