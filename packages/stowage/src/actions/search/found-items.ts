import type { Entry } from '../../storage/entry.ts';
import type { SourcePath } from '../../storage/source-path.ts';
import type { ActionContext } from '../action.ts';
import { detailsOf } from '../listing/details.ts';
import { sourceHeader } from '../listing/each-source.ts';
import { listingItems, type ListingItem } from '../listing/item.ts';
import { lacksVersion } from '../listing/page.ts';
import type { FoundEntry, SourceView } from '../../view/source-view.ts';

/** An item of a listing, and where it lies. */
export type FoundItem = ListingItem & {
  readonly source: string;
  readonly path: string;
  readonly url: string | undefined;
};

/** So long items are gathered in one turn. */
const STRETCH_MS = 2;

interface Group {
  readonly folder: SourcePath;
  readonly entries: Entry[];
}

/** Entries that follow one another in one folder. */
const groupsOf = (found: readonly FoundEntry[]): readonly Group[] => {
  const groups: Group[] = [];
  for (const { path, entry } of found) {
    const last = groups.at(-1);
    if (last?.folder.equals(path.parent) === true) last.entries.push(entry);
    else groups.push({ folder: path.parent, entries: [entry] });
  }
  return groups;
};

/** Gathers what the items of a group say, and has them made while they are written. */
const itemsOf = async (
  { services, signal }: ActionContext,
  view: SourceView,
  { folder: path, entries: found }: Group,
  isDetailed: boolean,
): Promise<Iterable<FoundItem>> => {
  const { source } = view;
  const { settings } = source;
  const folder = view.folder(path);
  const isPartial = found.some(
    (entry) => entry.modifiedAt === undefined || (isDetailed && lacksVersion(entry)),
  );
  const entries = isPartial ? await folder.described(found) : found;
  const { links } = services;
  const described = { signal, mayShow: (entry: Entry) => folder.item(entry).opensBy() };
  // Nothing is drawn for a search: only where a link to a thumbnail is enough, there is one.
  const thumbs =
    settings.serve === 'off' ? [] : await services.thumbnails.describe(source, path, entries, described);
  const details = isDetailed
    ? await detailsOf(services.pictureSizes, source, path, entries, signal)
    : undefined;
  const { name, path: shownPath } = sourceHeader(source, path);
  const items = listingItems(folder, entries, thumbs, { links, details });
  return {
    *[Symbol.iterator]() {
      let index = 0;
      for (const item of items) {
        const entry = entries[index];
        index += 1;
        const linked = entry && folder.item(entry);
        const url = linked?.kind === 'file' && linked.opensBy() ? links.to(linked) : undefined;
        yield Object.assign(item, { source: name, path: shownPath, url });
      }
    },
  };
};

/**
 * What has been found in a source, as listings show it, in its order: lists of items that are made while they
 * are taken, so that many searches do not hold up the event loop together.
 */
export const foundItems = async (
  context: ActionContext,
  view: SourceView,
  found: readonly FoundEntry[],
  isDetailed: boolean,
): Promise<readonly Iterable<FoundItem>[]> => {
  const lists: Iterable<FoundItem>[] = [];
  const { signal, services } = context;
  let end = 0;
  for (const group of groupsOf(found)) {
    if (performance.now() >= end) {
      await services.turns();
      signal.throwIfAborted();
      end = performance.now() + STRETCH_MS;
    }
    lists.push(await itemsOf(context, view, group, isDetailed));
  }
  return lists;
};
