import { LARGE, type ListingSlot } from './large-listings.ts';
import { EntryTable, type Facets } from './entry-table.ts';
import {
  type Compare,
  FirstInOrder,
  sortNumbers,
  sortPatiently,
  TimeSlice,
} from '../../basics/concurrency/time-slice.ts';
import type { SortOrder } from '../../config/settings/values.ts';
import type { Entries, Entry } from '../../storage/entry.ts';
import type { FolderView, Wanted } from '../../view/folder-view.ts';

/** Where folders stand: `default` among the files, `top` before them, `bottom` after them. */
export const foldersPositions = ['default', 'top', 'bottom'] as const;
export type FoldersPosition = (typeof foldersPositions)[number];

/** Orders texts by their UTF-16 code units: the same on every machine, whatever its language. */
export const compareText = (left: string, right: string): number =>
  left < right ? -1 : left === right ? 0 : 1;

const ofEntries: Facets<Entry> = {
  compareNames: (left, right) => compareText(left.name, right.name),
  size: ({ size }) => size ?? -Infinity,
  time: ({ modifiedAt }) => modifiedAt ?? -Infinity,
  isFolder: ({ kind }) => kind === 'folder',
};

/** Items that are equal in what is asked for stand in ascending order of their names, in both directions. */
const byNumber =
  <Item>(facet: (item: Item) => number, { compareNames }: Facets<Item>, sign: 1 | -1): Compare<Item> =>
  (left, right) => {
    const [one, other] = [facet(left), facet(right)];
    return one === other ? compareNames(left, right) : one < other ? -sign : sign;
  };

const within = <Item>(facets: Facets<Item>, sortBy: SortOrder): Compare<Item> => {
  const { compareNames } = facets;
  switch (sortBy) {
    case 'name-asc':
      return compareNames;
    case 'name-desc':
      return (left, right) => compareNames(right, left);
    case 'changed-asc':
    case 'changed-desc':
      return byNumber(facets.time, facets, sortBy === 'changed-asc' ? 1 : -1);
    case 'size-asc':
    case 'size-desc':
      return byNumber(facets.size, facets, sortBy === 'size-asc' ? 1 : -1);
  }
};

/** The order of a listing. Folders in a block of their own keep the same order inside it. */
const orderOf = <Item>(facets: Facets<Item>, sortBy: SortOrder, position: FoldersPosition): Compare<Item> => {
  const order = within(facets, sortBy);
  if (position === 'default') return order;
  const { isFolder } = facets;
  const isFirst = position === 'top';
  return (left, right) => {
    const isLeft = isFolder(left);
    return isLeft === isFolder(right) ? order(left, right) : isLeft === isFirst ? -1 : 1;
  };
};

/** The order of entries. */
export const entryOrder = (sortBy: SortOrder, position: FoldersPosition): Compare<Entry> =>
  orderOf(ofEntries, sortBy, position);

/** Whether names and kinds alone decide the order. */
const needsOnlyNames = (sortBy: SortOrder): boolean => sortBy === 'name-asc' || sortBy === 'name-desc';

/** Entries between two checks of the clock. */
const STRIDE = 256;

/** How a folder is scanned. */
export interface Scan {
  readonly wanted: Wanted | 'folders';
  readonly detail: 'names' | 'full' | 'versions';
  readonly onOmitted: (count: number) => void;
  readonly slice: TimeSlice;
  /** Asked before more than `from` entries are shown: false ends the scan. */
  readonly large?: { readonly from: number; readonly mayGoOn: () => boolean } | undefined;
}

/**
 * Hands every entry that the listing of a folder shows to `visit`, in the store's order and in short stretches;
 * opens no file and keeps no entry.
 * @throws NotFoundError, WrongKindError (a file); the signal's reason when it is aborted.
 */
export const scanFolder = async (
  folder: FolderView,
  { wanted, detail, onOmitted, slice, large }: Scan,
  visit: (entry: Entry) => void,
): Promise<'all' | 'stopped'> => {
  let seen = 0;
  for await (const page of folder.pages(wanted, { detail, onOmitted, mayJoin: true })) {
    for (const entry of page) {
      if (seen === large?.from && !large.mayGoOn()) return 'stopped';
      visit(entry);
      seen += 1;
      if (seen % STRIDE === 0 && slice.due) await slice.rest();
    }
  }
  return 'all';
};

/**
 * Up to this page size, asking for the entries of the page is cheaper than asking for all of a big folder.
 */
const SMALL_PAGE = 1000;

/** Which entries of a folder, and in which order. */
export interface PageRequest {
  readonly wanted: Wanted;
  readonly sortBy: SortOrder;
  readonly foldersPosition: FoldersPosition;
  /** Visible entries before the page. */
  readonly offset: number;
  /** Most entries of the page. */
  readonly limit: number;
  /** Files come with their `etag`, where the store has one that is cheap to ask for. */
  readonly versions: boolean;
}

/** Whether a listing has left out the version of a file. */
export const lacksVersion = ({ kind, etag }: Entry): boolean => kind === 'file' && etag === undefined;

/** The entries of a page, and how many visible ones the folder has. */
export interface Page {
  readonly entries: Entries;
  readonly total: number;
}

/** Gathers the entries of a folder, and gives those of a page in order. */
interface Gathering {
  readonly add: (entry: Entry) => void;
  readonly page: (slice: TimeSlice) => Promise<Entries>;
}

/** Keeps few entries more than those up to the end of the page. */
const gatherFirst = ({ sortBy, foldersPosition, offset, limit }: PageRequest): Gathering => {
  const first = new FirstInOrder(offset + limit, entryOrder(sortBy, foldersPosition));
  return {
    add: (entry) => first.add(entry),
    page: async (slice) => (await first.sorted(slice)).slice(offset),
  };
};

/** More entries than these are kept in columns, which take less room and more time. */
const MANY = 20_000;

/** Keeps all entries. */
const gatherAll = ({ sortBy, foldersPosition, offset, limit }: PageRequest): Gathering => {
  let few: Entry[] = [];
  let table: EntryTable | undefined;
  return {
    add: (entry) => {
      if (table !== undefined) return table.add(entry);
      if (few.push(entry) <= MANY) return;
      table = new EntryTable();
      for (const one of few) table.add(one);
      few = [];
    },
    page: async (slice) => {
      const end = offset + limit;
      if (table === undefined)
        return (await sortPatiently(few, entryOrder(sortBy, foldersPosition), slice)).slice(offset, end);
      const order = orderOf(table.facets, sortBy, foldersPosition);
      const entries = table.entries((await sortNumbers(table.length, order, slice)).subarray(offset, end));
      return entries.length > SMALL_PAGE ? entries : [...entries];
    },
  };
};

/** Up to this end of the page it pays to throw away what cannot be on it. */
const MOST_KEPT = 2000;

const described = async (folder: FolderView, page: Entries, versions: boolean): Promise<Entries> => {
  for (const entry of page) if (!versions || lacksVersion(entry)) return folder.described([...page]);
  return page;
};

/**
 * Reads one page of a folder: filter, then order, then cut. When names alone decide the order, a store that
 * can do so is asked for size and time of the page's entries only. Memory grows with the end of the page for
 * small pages, else by some 60 bytes for each entry of a large folder; before it holds many entries it waits for
 * its slot.
 * @throws NotFoundError, WrongKindError (a file); the signal's reason when it is aborted.
 */
export const readPage = async (
  folder: FolderView,
  request: PageRequest,
  slot: ListingSlot,
  { onOmitted, signal }: { readonly onOmitted: (count: number) => void; readonly signal: AbortSignal },
): Promise<Page> => {
  const { wanted, sortBy, offset, limit, versions } = request;
  const isAskedFor = needsOnlyNames(sortBy) && limit <= SMALL_PAGE && folder.isAskedCheaply;
  const detail = isAskedFor ? 'names' : versions ? 'versions' : 'full';
  const slice = new TimeSlice(signal);
  const large = { from: LARGE, mayGoOn: () => slot.tryTake() };
  for (;;) {
    const gathering = offset + limit <= MOST_KEPT ? gatherFirst(request) : gatherAll(request);
    let total = 0;
    const end = await scanFolder(folder, { wanted, detail, onOmitted, slice, large }, (entry) => {
      total += 1;
      gathering.add(entry);
    });
    if (end === 'stopped') {
      // The store's listing is closed while this one waits, and begins again: the store may be able to keep few
      // of them open.
      await slot.take();
      continue;
    }
    const page = await gathering.page(slice);
    return { entries: isAskedFor || versions ? await described(folder, page, !isAskedFor) : page, total };
  }
};
