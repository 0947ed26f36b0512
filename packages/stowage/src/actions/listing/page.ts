import { LARGE, type ListingSlot } from './large-listings.ts';
import { type Compare, FirstInOrder, TimeSlice } from '../../basics/concurrency/time-slice.ts';
import type { SortOrder } from '../../config/settings/values.ts';
import type { Entry } from '../../storage/entry.ts';
import type { FolderView, Wanted } from '../../view/folder-view.ts';

/** Where folders stand: `default` among the files, `top` before them, `bottom` after them. */
export const foldersPositions = ['default', 'top', 'bottom'] as const;
export type FoldersPosition = (typeof foldersPositions)[number];

/** Orders texts by their UTF-16 code units: the same on every machine, whatever its language. */
export const compareText = (left: string, right: string): number =>
  left < right ? -1 : left === right ? 0 : 1;

const byName: Compare<Entry> = (left, right) => compareText(left.name, right.name);

/** What the store does not report (a folder's size, for one) counts as less than everything else. */
const numberOf = (value: number | undefined): number => value ?? -Infinity;

const compareNumber = (left: number | undefined, right: number | undefined): number => {
  const [a, b] = [numberOf(left), numberOf(right)];
  return a === b ? 0 : a < b ? -1 : 1;
};

const byTime: Compare<Entry> = (left, right) => compareNumber(left.modifiedAt, right.modifiedAt);
const bySize: Compare<Entry> = (left, right) => compareNumber(left.size, right.size);

/**
 * Entries that are equal in what is asked for stand in ascending order of their names, in both directions.
 */
const thenByName =
  (compare: Compare<Entry>): Compare<Entry> =>
  (left, right) =>
    compare(left, right) || byName(left, right);

const reversed =
  (compare: Compare<Entry>): Compare<Entry> =>
  (left, right) =>
    compare(right, left);

const orders: Readonly<Record<SortOrder, Compare<Entry>>> = {
  'name-asc': byName,
  'name-desc': reversed(byName),
  'changed-asc': thenByName(byTime),
  'changed-desc': thenByName(reversed(byTime)),
  'size-asc': thenByName(bySize),
  'size-desc': thenByName(reversed(bySize)),
};

/** The order of a listing. Folders in a block of their own keep the same order inside it. */
export const entryOrder = (sortBy: SortOrder, position: FoldersPosition): Compare<Entry> => {
  const order = orders[sortBy];
  if (position === 'default') return order;
  const first = position === 'top' ? 'folder' : 'file';
  return (left, right) => (left.kind === right.kind ? order(left, right) : left.kind === first ? -1 : 1);
};

/** Whether names and kinds alone decide the order. */
export const needsOnlyNames = (sortBy: SortOrder): boolean => sortBy === 'name-asc' || sortBy === 'name-desc';

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
  readonly entries: readonly Entry[];
  readonly total: number;
}

/**
 * Reads one page of a folder: filter, then order, then cut. When names alone decide the order, a store that
 * can do so is asked for size and time of the page's entries only. Memory grows with the end of the page for
 * small pages, else with the folder; before it holds many entries it waits for its slot.
 * @throws NotFoundError, WrongKindError (a file); the signal's reason when it is aborted.
 */
export const readPage = async (
  folder: FolderView,
  { wanted, sortBy, foldersPosition, offset, limit, versions }: PageRequest,
  slot: ListingSlot,
  { onOmitted, signal }: { readonly onOmitted: (count: number) => void; readonly signal: AbortSignal },
): Promise<Page> => {
  const isAskedFor = needsOnlyNames(sortBy) && limit <= SMALL_PAGE && folder.isAskedCheaply;
  const detail = isAskedFor ? 'names' : versions ? 'versions' : 'full';
  const slice = new TimeSlice(signal);
  const large = { from: LARGE, mayGoOn: () => slot.tryTake() };
  const read = async (): Promise<{ first: FirstInOrder<Entry>; total: number } | undefined> => {
    const first = new FirstInOrder(offset + limit, entryOrder(sortBy, foldersPosition));
    let total = 0;
    const end = await scanFolder(folder, { wanted, detail, onOmitted, slice, large }, (entry) => {
      total += 1;
      first.add(entry);
    });
    return end === 'all' ? { first, total } : undefined;
  };
  let found = await read();
  // The store's listing is closed while this one waits, and begins again: the store may be able to keep few
  // of them open.
  while (found === undefined) {
    await slot.take();
    found = await read();
  }
  const { first, total } = found;
  const page = (await first.sorted(slice)).slice(offset);
  const isPartial = isAskedFor || (versions && page.some(lacksVersion));
  return { entries: isPartial ? await folder.described(page) : page, total };
};
