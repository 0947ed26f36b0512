import type { Compare } from '../../basics/concurrency/patient-sort.ts';
import type { SortOrder } from '../../config/settings/values.ts';
import type { Entry } from '../../storage/entry.ts';

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
