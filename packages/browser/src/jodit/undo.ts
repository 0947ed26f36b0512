import type { FileBrowser } from './editor.ts';
import { messageOf, type Outcome } from './many.ts';
import type { Notices } from './notices.ts';
import type { Sources } from './sources.ts';
import { counted, type Texts } from './texts/texts.ts';
import { isSameLocation, type Location, type Trash, type TrashItem, UNDONE } from './trash.ts';

/** Milliseconds that a removal can be taken back with one click. */
const STAYS = 10_000;

/** Newer items of the trash that are looked through beside those just removed; the connector lists 1,000. */
const OF_OTHERS = 200;
const MOST_LISTED = 1000;

/** Something that was removed: where it was. */
export type Removed = Location;

/** Says what was removed and what was not, and offers to take it back where the source has a trash. */
export type ReportRemoval = (outcome: Outcome<Removed>) => Promise<void>;

/** What the report needs beside the file browser. */
export interface RemovalSurroundings {
  readonly trash: Trash;
  readonly sources: Sources;
  readonly notices: Notices;
  readonly texts: Texts;
}

/**
 * Reports removals with the offer to take them back for ten seconds. A connector without a trash, or a person
 * who may not use it, gets the report alone.
 */
export const reportRemovals = (
  browser: FileBrowser,
  { trash, sources, notices, texts }: RemovalSurroundings,
): ReportRemoval => {
  const inTrash = async (removed: readonly Removed[]): Promise<readonly TrashItem[]> => {
    const names = [...new Set(removed.map(({ source }) => source))].filter(
      (source) => sources.allows('TrashList', source) && sources.allows('TrashRestore', source),
    );
    const limit = Math.min(removed.length + OF_OTHERS, MOST_LISTED);
    const lists = names.map((source) => trash.list({ source, limit }));
    // The newest come first: those that were just removed.
    const newest = (await Promise.all(lists)).flat();
    return removed.flatMap((one) => newest.find((item) => isSameLocation(item, one)) ?? []);
  };
  const restore = async (items: readonly TrashItem[]): Promise<void> => {
    let count = 0;
    for (const item of items) {
      try {
        await trash.restore(item);
        count += 1;
      } catch (error) {
        browser.status(error);
      }
    }
    if (count > 0)
      notices.show(counted(texts, texts.restored, count, { name: items[0]?.name ?? '' }), 'success');
    browser.e.fire('update.filebrowser');
    browser.e.fire(UNDONE);
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
