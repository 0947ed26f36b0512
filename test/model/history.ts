import { itemOf, type Written } from './content.ts';
import { type Said, Words } from './words.ts';

/** How a request ended: carried out, refused with nothing done, or nobody knows. */
export type Outcome = 'done' | 'refused' | 'unknown';

/** A file that was found in the end. */
export interface Found {
  readonly where: string;
  readonly name: string;
  readonly written: Written | undefined;
  readonly words: Said | 'mixed' | undefined;
}

const foldersIn = (path: string): string[] =>
  path.split('/').flatMap((segment) => {
    const folder = itemOf(segment);
    return folder === undefined ? [] : [folder];
  });

/**
 * A simple model of what may have become of every item. It keeps no order of the requests of several clients;
 * what it claims holds in any: content that nobody could have removed or replaced is still somewhere, whole,
 * and nothing is there more often than it was made.
 */
export class History {
  /** Versions that were acknowledged, by item; each item has one writer. */
  readonly #acknowledged = new Map<string, number>();
  readonly #attempted = new Map<string, number>();
  readonly #removed = new Set<string>();
  /** How many more of an item there may be than one. */
  readonly #multiplied = new Map<string, number>();
  readonly #everInside = new Map<string, Set<string>>();
  counts = { done: 0, refused: 0, unknown: 0 };
  readonly words = new Words();

  count(outcome: Outcome): void {
    this.counts[outcome] += 1;
  }

  /** A write of one version, by the only writer of its item. */
  wrote({ item, version }: Written, folder: string, outcome: Outcome): void {
    if (outcome === 'refused') return;
    this.#attempted.set(item, version);
    if (outcome === 'done') this.#acknowledged.set(item, version);
    // An unknown write may have been stored under a number beside a later one.
    else this.#multiply(item);
    this.#put(item, folder);
  }

  /** An item was, or may have been, put into a folder by a move, copy or rename. */
  moved(name: string, folder: string, outcome: Outcome): void {
    const item = itemOf(name);
    if (outcome === 'refused' || item === undefined) return;
    this.#put(item, folder);
    if (outcome === 'unknown') this.#multiply(item);
  }

  copied(name: string, folder: string, outcome: Outcome): void {
    const item = itemOf(name);
    if (outcome === 'refused' || item === undefined) return;
    this.#put(item, folder);
    this.#multiply(item);
  }

  removed(name: string, outcome: Outcome): void {
    const item = itemOf(name);
    if (outcome === 'refused' || item === undefined) return;
    this.#removed.add(item);
    // It may be in the trash, and not have left its place.
    if (outcome === 'unknown') this.#multiply(item);
  }

  #multiply(item: string): void {
    this.#multiplied.set(item, (this.#multiplied.get(item) ?? 0) + 1);
  }

  #put(item: string, folder: string): void {
    for (const container of foldersIn(folder)) {
      const inside = this.#everInside.get(container) ?? new Set();
      this.#everInside.set(container, inside.add(item));
    }
  }

  /** The items, and all that may ever have been inside those that are folders. */
  #withContents(items: ReadonlySet<string>): ReadonlySet<string> {
    const all = new Set(items);
    for (const item of all) for (const inner of this.#everInside.get(item) ?? []) all.add(inner);
    return all;
  }

  /**
   * Everything that the end state breaks, one line each.
   * @param isAllBack whether all that was removed has come back from the trash
   * @param isFaulty whether words may have stayed behind because the store has failed, or another instance
   *   has moved their file
   */
  violations(found: readonly Found[], isAllBack = false, isFaulty = false): string[] {
    const removed = isAllBack ? new Set<string>() : this.#withContents(this.#removed);
    const folders = [...this.#multiplied.keys()].filter((item) => /^[fd]/u.test(item));
    const inMultiplied = this.#withContents(new Set(folders));
    const byItem = new Map<string | undefined, Found[]>();
    for (const file of found) byItem.set(itemOf(file.name), [...(byItem.get(itemOf(file.name)) ?? []), file]);
    const lost = [...this.#acknowledged].flatMap(([item, version]) => {
      if (removed.has(item)) return [];
      const versions = (byItem.get(item) ?? []).map(({ written }) => written?.version ?? -1);
      // A later write whose answer nobody has seen may have replaced it.
      const newest = this.#attempted.get(item) ?? version;
      if (versions.some((each) => each >= version && each <= newest)) return [];
      return [`${item}: version ${String(version)} is lost; there are [${versions.join(', ')}]`];
    });
    const damaged = found
      .filter(({ name, written }) => written === undefined || written.item !== itemOf(name))
      .map(({ where, name }) => `${where}/${name}: its content is not one that was written`);
    const doubled = [...byItem].flatMap(([item, files]) =>
      item?.startsWith('t') !== true ||
      inMultiplied.has(item) ||
      files.length <= 1 + (this.#multiplied.get(item) ?? 0)
        ? []
        : [`${item} is there ${String(files.length)} times: ${files.map(({ where }) => where).join(', ')}`],
    );
    const words = this.words.violations(found, (item) => isFaulty || removed.has(item));
    return [...lost, ...damaged, ...doubled, ...words];
  }
}
