import type { Compare } from '../../basics/concurrency/time-slice.ts';
import type { SortOrder } from '../../config/settings/values.ts';
import type { Entry } from '../../storage/entry.ts';

/** Where folders stand: `default` among the files, `top` before them, `bottom` after them. */
export const foldersPositions = ['default', 'top', 'bottom'] as const;
export type FoldersPosition = (typeof foldersPositions)[number];

/** Orders texts by their UTF-16 code units: the same on every machine, whatever its language. */
export const compareText = (left: string, right: string): number =>
  left < right ? -1 : left === right ? 0 : 1;

/** What orders compare of items; a number that the store does not report is less than everything else. */
export interface Facets<Item> {
  readonly compareNames: Compare<Item>;
  readonly size: (item: Item) => number;
  readonly time: (item: Item) => number;
  readonly isFolder: (item: Item) => boolean;
}

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
export const orderOf = <Item>(
  facets: Facets<Item>,
  sortBy: SortOrder,
  position: FoldersPosition,
): Compare<Item> => {
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
export const needsOnlyNames = (sortBy: SortOrder): boolean => sortBy === 'name-asc' || sortBy === 'name-desc';
