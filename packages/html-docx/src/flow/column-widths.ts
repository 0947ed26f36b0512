import type { Length } from '../css/length.ts';
import { pointsOf } from '../css/length.ts';
import type { WidthRange } from './content-width.ts';

/** Required width of a cell, or a `col` element, for the columns that it spans. */
export interface WidthWish {
  readonly column: number;
  readonly span: number;
  readonly content: WidthRange;
  readonly width: Length | undefined;
}

interface Column {
  min: number;
  max: number;
  points: number | undefined;
  percent: number | undefined;
}

const MIN_COLUMN = 8;

const applyWish = (columns: readonly Column[], wish: WidthWish): void => {
  const covered = columns.slice(wish.column, wish.column + wish.span);
  const share = 1 / Math.max(1, covered.length);
  for (const column of covered) {
    column.min = Math.max(column.min, wish.content.min * share);
    column.max = Math.max(column.max, wish.content.max * share);
    if (wish.width === undefined) continue;
    if ('percent' in wish.width) column.percent ??= wish.width.percent * share;
    else column.points ??= wish.width.points * share;
  }
};

const sum = (values: readonly number[]): number => values.reduce((total, value) => total + value, 0);

/**
 * Distributes `room` among columns: each gets at least the width of its longest word if possible, then its
 * preferred width, then a proportional share of the rest.
 */
const share = (columns: readonly Column[], room: number): readonly number[] => {
  const min = sum(columns.map((column) => column.min));
  const max = sum(columns.map((column) => column.max));
  if (room <= min) return columns.map((column) => (room * column.min) / min);
  if (room >= max) return columns.map((column) => (room * column.max) / max);
  const spare = (room - min) / (max - min);
  return columns.map((column) => column.min + spare * (column.max - column.min));
};

/**
 * The widths of a table's columns in points, similar to the layout of browsers: explicit widths first, the
 * rest by content; limited to the available room, and as narrow as possible if the table has no width.
 */
export const columnWidths = (
  count: number,
  wishes: readonly WidthWish[],
  table: { readonly width: Length | undefined; readonly room: number },
): readonly number[] => {
  const columns: Column[] = Array.from({ length: count }, () => ({
    min: MIN_COLUMN,
    max: MIN_COLUMN,
    points: undefined,
    percent: undefined,
  }));
  // Single columns first: cells that span several ones only add to them.
  for (const wish of wishes.toSorted((one, two) => one.span - two.span)) applyWish(columns, wish);

  const given = pointsOf(table.width, table.room);
  const percents = sum(columns.map(({ percent }) => percent ?? 0));
  const natural = sum(columns.map(({ points, max }) => points ?? max));
  const target = Math.min(table.room, Math.max(1, given ?? (percents > 0 ? table.room : natural)));
  const fixed = columns.map(({ points, percent }) =>
    percent === undefined ? points : (percent / Math.max(100, percents)) * target,
  );
  const open = columns.filter((_column, index) => fixed[index] === undefined);
  const openRoom = Math.max(target - sum(fixed.map((width) => width ?? 0)), open.length * MIN_COLUMN);
  const shares = share(open, openRoom)[Symbol.iterator]();
  const widths = fixed.map((width) => Math.max(MIN_COLUMN, width ?? shares.next().value ?? MIN_COLUMN));
  const scale = sum(widths) > target || given !== undefined ? target / sum(widths) : 1;
  return widths.map((width) => width * scale);
};
