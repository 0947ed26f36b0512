import { itemOf, type Written } from './content.ts';

/** How a request ended: carried out, refused with nothing done, or nobody knows. */
export type Outcome = 'done' | 'refused' | 'unknown';

/** A file that was found in the end. */
export interface Found {
  readonly where: string;
  readonly name: string;
  readonly written: Written | undefined;
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
  readonly #multiplied = new Set<string>();
  readonly #everInside = new Map<string, Set<string>>();
  counts = { done: 0, refused: 0, unknown: 0 };

  count(outcome: Outcome): void {
    this.counts[outcome] += 1;
  }

  /** A write of one version, by the only writer of its item. */
  wrote({ item, version }: Written, folder: string, outcome: Outcome): void {
    if (outcome === 'refused') return;
    this.#attempted.set(item, version);
    if (outcome === 'done') this.#acknowledged.set(item, version);
    // An unknown write may have been stored under a number beside a later one.
    else this.#multiplied.add(item);
    this.#put(item, folder);
  }

  /** An item was, or may have been, put into a folder by a move, copy or rename. */
  moved(name: string, folder: string, outcome: Outcome): void {
    const item = itemOf(name);
    if (outcome === 'refused' || item === undefined) return;
    this.#put(item, folder);
    if (outcome === 'unknown') this.#multiplied.add(item);
  }

  copied(name: string, folder: string, outcome: Outcome): void {
    const item = itemOf(name);
    if (outcome === 'refused' || item === undefined) return;
    this.#put(item, folder);
    this.#multiplied.add(item);
  }

  removed(name: string, outcome: Outcome): void {
    const item = itemOf(name);
    if (outcome !== 'refused' && item !== undefined) this.#removed.add(item);
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
   * @param trashed what lies in the trash, where there is one: then all that was removed must be there
   * @param mayDouble answers of the store were lost, so that a copy may be left of what was moved
   */
  violations(found: readonly Found[], trashed?: ReadonlySet<string>, mayDouble = false): string[] {
    const removed = this.#withContents(trashed ?? this.#removed);
    const multiplied = this.#withContents(this.#multiplied);
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
      item === undefined || !item.startsWith('t') || multiplied.has(item) || files.length <= 1
        ? []
        : [`${item} is there ${String(files.length)} times: ${files.map(({ where }) => where).join(', ')}`],
    );
    return [...lost, ...damaged, ...(mayDouble ? [] : doubled)];
  }
}
