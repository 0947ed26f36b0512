import { type Calls, isRecord } from './calls.ts';
import type { FileBrowser } from './editor.ts';
import { messageOf, type Outcome } from './many.ts';
import type { Notices } from './notices.ts';
import type { IsAllowed } from './permissions.ts';
import { counted, type Texts } from './texts/texts.ts';

/** Milliseconds that a removal can be taken back with one click. */
const STAYS = 10_000;

/** Newer items of the trash that are looked through beside those just removed; the connector lists 1,000. */
const OF_OTHERS = 200;
const MOST_LISTED = 1000;

/** Something that was removed: where it was. */
export interface Removed {
  readonly source: string;
  readonly path: string;
  readonly name: string;
}

interface TrashItem extends Removed {
  readonly id: string;
}

/** Says what was removed and what was not, and offers to take it back where the source has a trash. */
export type ReportRemoval = (outcome: Outcome<Removed>) => Promise<void>;

const without = (path: string): string => path.replaceAll(/^\/+|\/+$/gu, '');

const isSame = (one: Removed, other: Removed): boolean =>
  one.source === other.source && one.name === other.name && without(one.path) === without(other.path);

const isTrashItem = (value: unknown): value is TrashItem =>
  isRecord(value) && ['id', 'source', 'path', 'name'].every((key) => typeof value[key] === 'string');

/**
 * Reports removals with the offer to take them back for ten seconds. A connector without a trash, or a person
 * who may not use it, gets the report alone.
 */
export const reportRemovals = (
  browser: FileBrowser,
  calls: Calls,
  {
    notices,
    texts,
    isAllowed,
  }: { readonly notices: Notices; readonly texts: Texts; readonly isAllowed: IsAllowed },
): ReportRemoval => {
  const inTrash = async (removed: readonly Removed[]): Promise<readonly TrashItem[]> => {
    if (!isAllowed('TrashList') || !isAllowed('TrashRestore')) return [];
    const lists = [...new Set(removed.map(({ source }) => source))].map(async (source) => {
      const limit = String(Math.min(removed.length + OF_OTHERS, MOST_LISTED));
      const { items } = await calls.ask({ action: 'trashList', source, limit });
      return Array.isArray(items) ? items.filter(isTrashItem) : [];
    });
    // The newest come first: those that were just removed.
    const newest = (await Promise.all(lists)).flat();
    return removed.flatMap((one) => newest.find((item) => isSame(item, one)) ?? []);
  };
  const restore = async (items: readonly TrashItem[]): Promise<void> => {
    let count = 0;
    for (const { source, id } of items) {
      try {
        await calls.ask({ action: 'trashRestore', source, id });
        count += 1;
      } catch (error) {
        browser.status(error);
      }
    }
    if (count > 0)
      notices.show(counted(texts, texts.restored, count, { name: items[0]?.name ?? '' }), 'success');
    browser.e.fire('update.filebrowser');
  };

  return async (outcome) => {
    const { done, failed } = outcome;
    if (done.length + failed.length === 0) return;
    const text = messageOf(texts, { all: texts.filesDeleted, some: texts.someDeleted }, outcome);
    // Where the trash cannot be asked, the files are gone all the same.
    const items = done.length === 0 ? [] : await inTrash(done).catch(() => []);
    const undo = { label: texts.undo, run: () => void restore(items) };
    const action = items.length > 0 ? undo : undefined;
    notices.show(text, failed.length === 0 ? 'success' : 'error', { milliseconds: STAYS, action });
  };
};
