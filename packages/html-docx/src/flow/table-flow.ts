import { pointsOf, type Length } from '../css/length.ts';
import type { Located } from '../css/selector.ts';
import type { Style } from '../css/style.ts';
import type { BlockContext } from './block-context.ts';
import { columnWidths, type WidthWish } from './column-widths.ts';
import { contentWidth } from './content-width.ts';
import type { FlowParts } from './flow-parts.ts';
import type { Block, TableBlock, TableCell } from './model.ts';
import { withFittingPictures } from './picture-flow.ts';
import { readGrid, type Styled, type TableGrid } from './table-grid.ts';

/** Reads the content of a cell of this width in points. */
export type ReadCell = (located: Located, style: Style, width: number) => readonly Block[];

/** A table, with its captions, which precede it. */
export interface BuiltTable {
  readonly captions: readonly Styled[];
  /** Undefined without cells. */
  readonly table: TableBlock | undefined;
}

const horizontalPadding = ({ padding }: Style): number => padding.left + padding.right;

const verticalAlign = (value: string): TableCell['verticalAlign'] => {
  if (value === 'bottom') return 'bottom';
  return value === 'middle' || value === 'center' ? 'center' : 'top';
};

/** As in browsers, the specified width of a cell is that of its content. */
const outerWidth = (width: Length | undefined, style: Style): Length | undefined =>
  width !== undefined && 'points' in width ? { points: width.points + horizontalPadding(style) } : width;

const wishesOf = (grid: TableGrid, contents: readonly (readonly Block[])[]): readonly WidthWish[] => [
  ...grid.columns.map(({ column, style }) => ({
    column,
    span: 1,
    content: { min: 0, max: 0 },
    width: style.width,
  })),
  ...grid.cells.map(({ column, columnSpan, style }, index) => {
    const { min, max } = contentWidth(contents[index] ?? []);
    const padding = horizontalPadding(style) + 1;
    return {
      column,
      span: columnSpan,
      content: { min: min + padding, max: max + padding },
      width: outerWidth(style.width, style),
    };
  }),
];

const alignOf = (style: Style): TableBlock['align'] => {
  if (style.centered) return 'center';
  if (style.float !== undefined) return style.float;
  const { align, movesTables, rtl } = style;
  if (movesTables && (align === 'left' || align === 'center' || align === 'right')) return align;
  return rtl ? 'right' : 'left';
};

/** Merges cells at the same position (beyond the last column). */
const mergeCells = (cells: readonly TableCell[]): readonly TableCell[] => {
  const byPlace = new Map<string, TableCell & { readonly blocks: Block[] }>();
  for (const cell of cells) {
    const key = `${cell.row}:${cell.column}`;
    const known = byPlace.get(key);
    if (known === undefined) byPlace.set(key, { ...cell, blocks: [...cell.blocks] });
    else for (const block of cell.blocks) known.blocks.push(block);
  }
  return [...byPlace.values()];
};

/** Maximum height of an empty row, in points. */
const MAX_ROW = 600;

export const buildTable = (
  parts: FlowParts,
  { located, style }: Styled,
  context: BlockContext,
  readCell: ReadCell,
): BuiltTable => {
  const grid = readGrid(parts, { located, style });
  if (grid.cells.length === 0) return { captions: grid.captions, table: undefined };
  const room = context.width;
  const contents = grid.cells.map((cell) => {
    const width = (pointsOf(cell.style.width, room) ?? room) - horizontalPadding(cell.style);
    return readCell(cell.located, cell.style, Math.max(24, width));
  });
  const widths = columnWidths(grid.columnCount, wishesOf(grid, contents), { width: style.width, room });
  const cells = grid.cells.map((cell, index): TableCell => {
    const { row, column, rowSpan, columnSpan, background } = cell;
    const width = widths.slice(column, column + columnSpan).reduce((sum, one) => sum + one, 0);
    return {
      row,
      column,
      rowSpan,
      columnSpan,
      background: background ?? style.background,
      border: cell.style.border,
      padding: cell.style.padding,
      verticalAlign: verticalAlign(cell.style.verticalAlign),
      blocks: withFittingPictures(contents[index] ?? [], Math.max(12, width - horizontalPadding(cell.style))),
    };
  });
  const table: TableBlock = {
    kind: 'table',
    rows: grid.rows.map((row) => {
      const height = pointsOf(row.style.height);
      const shown = height && Math.min(height, MAX_ROW, 0.9 * parts.pageHeight);
      return { isHeader: row.isHeader, splits: false, height: shown };
    }),
    cells: mergeCells(cells),
    columnWidths: widths,
    border: style.border,
    align: alignOf(style),
    rtl: style.rtl,
    indentStart: context.indentStart,
  };
  return { captions: grid.captions, table };
};
