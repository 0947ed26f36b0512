import type { Entry } from '../../storage/entry.ts';
import type { SourcePath } from '../../storage/source-path.ts';
import type { FoundEntry } from '../../storage/tree-walk.ts';
import type { ActionContext } from '../action.ts';
import { detailsOf } from '../listing/details.ts';
import { sourceHeader } from '../listing/each-source.ts';
import { listingItems, type ListingItem } from '../listing/item.ts';
import { folderLinks, linkOf } from '../listing/links.ts';
import { lacksVersion, withDetails } from '../listing/page.ts';
import type { OpenSource } from '../../view/open-source.ts';

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
  open: OpenSource,
  { folder, entries: found }: Group,
  isDetailed: boolean,
): Promise<Iterable<FoundItem>> => {
  const { source, storage } = open;
  const { settings } = source;
  const isPartial = found.some(
    (entry) => entry.modifiedAt === undefined || (isDetailed && lacksVersion(entry)),
  );
  const entries = isPartial ? await withDetails(storage, folder, found, signal) : found;
  const links = folderLinks(services, open, folder);
  const described = { signal, mayShow: links.mayOpen };
  // Nothing is drawn for a search: only where a link to a thumbnail is enough, there is one.
  const thumbs =
    settings.serve === 'off' ? [] : await services.thumbnails.describe(source, folder, entries, described);
  const details = isDetailed
    ? await detailsOf(services.pictureSizes, source, folder, entries, signal)
    : undefined;
  const { name, path } = sourceHeader(source, folder);
  const items = listingItems(settings, entries, thumbs, { links, details });
  return {
    *[Symbol.iterator]() {
      let index = 0;
      for (const item of items) {
        const entry = entries[index];
        index += 1;
        const isLinked = item.type !== 'folder' && entry !== undefined && links.mayOpen(entry);
        // A link with a signature is the item's own name already.
        const plain = (): string => linkOf(services, open, folder.below(item.name));
        const url = isLinked ? (links.file(entry) ?? plain()) : undefined;
        yield Object.assign(item, { source: name, path, url });
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
  open: OpenSource,
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
    lists.push(await itemsOf(context, open, group, isDetailed));
  }
  return lists;
};
