import type { TrashListData } from '../client/index.ts';
import { Stopped } from './patience.ts';
import { type Entry, type Folder, type Service, trimmed } from './service.ts';

export type TrashItem = TrashListData['items'][number];

/**
 * Newer items of the trash that are searched besides those just removed; the connector lists 1,000 at most.
 */
const OF_OTHERS = 200;
const MOST_LISTED = 1000;

const isAt = (item: TrashItem, { source, path, name }: Folder & { readonly name: string }): boolean =>
  item.source === source && trimmed(item.path) === path && item.name === name;

/** Undoes removals and replacements, if the source has a trash and the user may use it. */
export class TrashUndo {
  readonly #service: Service;

  constructor(service: Service) {
    this.#service = service;
  }

  /** The items in the trash after a removal; empty if they cannot be restored. */
  async removed(entries: readonly Entry[]): Promise<readonly TrashItem[]> {
    if (entries.length === 0 || !(await this.#mayRestore(entries))) return [];
    const limit = Math.min(entries.length + OF_OTHERS, MOST_LISTED);
    const sources = new Set(entries.map(({ source }) => source));
    // The newest come first: those that were just removed.
    const items = (await Promise.all([...sources].map((source) => this.#list(source, limit)))).flat();
    return entries.flatMap((entry) => items.find((item) => !item.replaced && isAt(item, entry)) ?? []);
  }

  /** Restores each item, independently of failures of others. @throws the first failure */
  async restore(items: readonly TrashItem[]): Promise<void> {
    const attempts: Promise<unknown>[] = [];
    for (const { source, id } of items) {
      const attempt = this.#service.client.trashRestore({ source, id });
      attempts.push(attempt);
      const failure: unknown = await attempt.then(
        () => undefined,
        (error: unknown) => error,
      );
      if (failure instanceof Stopped) break;
    }
    await Promise.all(attempts);
  }

  /**
   * Runs a change that replaces a file, and returns a function that restores the former content; undefined if
   * it was not kept (`trash.keepReplaced`).
   */
  async around(file: Entry, change: () => Promise<unknown>): Promise<(() => Promise<void>) | undefined> {
    const { permissions } = await this.#service.rightsIn(file);
    const mayUndo = permissions.allowFileRemove === true && (await this.#mayRestore([file]));
    const [newest] = mayUndo ? await this.#list(file.source, 1) : [];
    await change();
    if (!mayUndo) return undefined;
    const items = await this.#list(file.source, 30);
    const known = items.findIndex(({ id }) => id === newest?.id);
    const since = known === -1 ? items : items.slice(0, known);
    const old = since.find((item) => item.replaced && isAt(item, file));
    return old === undefined ? undefined : () => this.#bringBack(old);
  }

  /**
   * Restores the former content; the new one is moved to the trash, and restored if the former one cannot be.
   */
  async #bringBack(old: TrashItem): Promise<void> {
    const { client } = this.#service;
    const { source, path, name } = old;
    await client.fileRemove({ source, path, name });
    try {
      await this.restore([old]);
    } catch (error) {
      const removed = (await this.#list(source, 30)).find(
        (item) => !item.replaced && isAt(item, { source, path: trimmed(path), name }),
      );
      if (removed !== undefined) await this.restore([removed]);
      throw error;
    }
  }

  async #list(source: string, limit: number): Promise<readonly TrashItem[]> {
    return this.#service.client.trashList({ source, limit }).then(
      ({ items }) => items,
      () => [],
    );
  }

  async #mayRestore(entries: readonly Entry[]): Promise<boolean> {
    const { permissions } = await this.#service.rightsInAll(entries);
    return permissions.allowTrashList === true && permissions.allowTrashRestore === true;
  }
}
