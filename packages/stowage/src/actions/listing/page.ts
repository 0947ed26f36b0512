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

/** Position of folders: `default` among the files, `top` before them, `bottom` after them. */
export const foldersPositions = ['default', 'top', 'bottom'] as const;
export type FoldersPosition = (typeof foldersPositions)[number];

/** Compares texts by UTF-16 code units: the same result on every machine and in every locale. */
export const compareText = (left: string, right: string): number =>
  left < right ? -1 : left === right ? 0 : 1;

const ofEntries: Facets<Entry> = {
  compareNames: (left, right) => compareText(left.name, right.name),
  size: ({ size }) => size ?? -Infinity,
  time: ({ modifiedAt }) => modifiedAt ?? -Infinity,
  isFolder: ({ kind }) => kind === 'folder',
};

/** Compares by a number. Ties are in ascending order of names, in both directions. */
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

/** The order of a listing. A separate block of folders has the same order. */
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

export const entryOrder = (sortBy: SortOrder, position: FoldersPosition): Compare<Entry> =>
  orderOf(ofEntries, sortBy, position);

/** Whether the order depends only on names and kinds. */
const needsOnlyNames = (sortBy: SortOrder): boolean => sortBy === 'name-asc' || sortBy === 'name-desc';

/** Entries between two checks of the time slice. */
const STRIDE = 256;

export interface Scan {
  readonly wanted: Wanted | 'folders';
  readonly detail: 'names' | 'full' | 'versions';
  readonly onOmitted: (count: number) => void;
  readonly slice: TimeSlice;
  /** Called once more than `from` entries are shown: false stops the scan. */
  readonly large?: { readonly from: number; readonly mayGoOn: () => boolean } | undefined;
}

/**
 * Calls `visit` with every visible entry of a folder, in the store's order and in short time slices; opens no
 * files and retains no entries.
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

/** Up to this page size, it is cheaper to read details for the page than for all of a large folder. */
const SMALL_PAGE = 1000;

export interface PageRequest {
  readonly wanted: Wanted;
  readonly sortBy: SortOrder;
  readonly foldersPosition: FoldersPosition;
  /** Visible entries before the page. */
  readonly offset: number;
  readonly limit: number;
  /** Whether files need their `etag`, where it is cheap for the store. */
  readonly versions: boolean;
}

/** Whether a listing omitted the version of a file. */
export const lacksVersion = ({ kind, etag }: Entry): boolean => kind === 'file' && etag === undefined;

/** The entries of a page, and the number of visible entries in the folder. */
export interface Page {
  readonly entries: Entries;
  readonly total: number;
}

interface Gathering {
  readonly add: (entry: Entry) => void;
  readonly page: (slice: TimeSlice) => Promise<Entries>;
}

/** Retains few entries more than those up to the end of the page. */
const gatherFirst = ({ sortBy, foldersPosition, offset, limit }: PageRequest): Gathering => {
  const first = new FirstInOrder(offset + limit, entryOrder(sortBy, foldersPosition));
  return {
    add: (entry) => first.add(entry),
    page: async (slice) => (await first.sorted(slice)).slice(offset),
  };
};

/** Above this number entries are stored in columns, which take less memory and more time. */
const MANY = 20_000;
/** Initial capacity of their columns: they grow only in folders of a million entries. */
const ROWS = 1024 * 1024;

const gatherAll = ({ sortBy, foldersPosition, offset, limit }: PageRequest): Gathering => {
  let few: Entry[] = [];
  let table: EntryTable | undefined;
  return {
    add: (entry) => {
      if (table !== undefined) return table.add(entry);
      if (few.push(entry) <= MANY) return;
      table = new EntryTable(ROWS);
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

/** Up to this end of the page, it pays to discard entries that cannot be on it. */
const MOST_KEPT = 2000;

const described = async (folder: FolderView, page: Entries, versions: boolean): Promise<Entries> => {
  for (const entry of page) if (!versions || lacksVersion(entry)) return folder.described([...page]);
  return page;
};

/**
 * Reads one page of a folder: filter, sort, slice. When names alone decide the order, a store that supports
 * it is asked for size and time of the page's entries only. Memory grows with the end of the page for small
 * pages, else by some 60 bytes for each entry of a large folder; before it holds many entries it waits for
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
      // The store's listing is closed during the wait and restarted after it: a store may support few open
      // listings.
      await slot.take();
      continue;
    }
    const page = await gathering.page(slice);
    return { entries: isAskedFor || versions ? await described(folder, page, !isAskedFor) : page, total };
  }
};
