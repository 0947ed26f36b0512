import { Paragraph, Table, TableCell, TableRow, type ITableCellOptions } from 'docx';
import { type Border, type Sides, sidesOf } from '../css/style.ts';
import type { Block, TableBlock, TableCell as Cell } from '../flow/model.ts';
import { paragraph } from './paragraph.ts';
import { borderOptions, noBorder, twips } from './units.ts';

/** Borders of a cell; missing sides are left to its neighbours and to the table's border. */
const cellBorders = (border: Sides<Border | undefined>): NonNullable<ITableCellOptions['borders']> =>
  Object.fromEntries(
    Object.entries(border).flatMap(([side, line]: [string, Border | undefined]) =>
      line === undefined ? [] : [[side, borderOptions(line)]],
    ),
  );

/** Writes blocks: paragraphs and tables, which may be nested. */
export const writeBlocks = (blocks: readonly Block[]): (Paragraph | Table)[] =>
  blocks.map((block) => (block.kind === 'paragraph' ? paragraph(block) : writeTable(block)));

const writeCell = (cell: Cell, widths: readonly number[]): TableCell => {
  const width = widths.slice(cell.column, cell.column + cell.columnSpan).reduce((sum, one) => sum + one, 0);
  return new TableCell({
    children: writeBlocks(cell.blocks),
    width: { size: twips(width), type: 'dxa' },
    margins: { ...sidesOf((side) => twips(cell.padding[side])), marginUnitType: 'dxa' },
    borders: cellBorders(cell.border),
    verticalAlign: cell.verticalAlign,
    ...(cell.rowSpan > 1 ? { rowSpan: cell.rowSpan } : {}),
    ...(cell.columnSpan > 1 ? { columnSpan: cell.columnSpan } : {}),
    ...(cell.background === undefined
      ? {}
      : { shading: { type: 'clear' as const, color: 'auto', fill: cell.background } }),
  });
};

const emptyCell = (width: number): TableCell =>
  new TableCell({ children: [new Paragraph({})], width: { size: twips(width), type: 'dxa' } });

/** The cells of every row, with empty ones for holes in the grid: Word requires a complete grid. */
const fillRows = ({ rows, cells, columnWidths }: TableBlock): TableCell[][] => {
  const byPlace = new Map(cells.map((cell) => [`${cell.row}:${cell.column}`, cell]));
  const takenUntil: number[] = columnWidths.map(() => 0);
  return rows.map((_row, row) => {
    const written: TableCell[] = [];
    for (let column = 0; column < columnWidths.length;) {
      const cell = byPlace.get(`${row}:${column}`);
      if (cell !== undefined) {
        written.push(writeCell(cell, columnWidths));
        for (let covered = 0; covered < cell.columnSpan; covered += 1) {
          takenUntil[column + covered] = row + cell.rowSpan;
        }
      } else if ((takenUntil[column] ?? 0) <= row) written.push(emptyCell(columnWidths[column] ?? 0));
      column += cell?.columnSpan ?? 1;
    }
    return written;
  });
};

/** Undefined for the start edge; `end` is the opposite one, in either direction. */
const tableAlignment = ({ align, rtl }: TableBlock): 'center' | 'end' | undefined => {
  if (align === 'center') return 'center';
  return align === (rtl ? 'right' : 'left') ? undefined : 'end';
};

const writeTable = (block: TableBlock): Table => {
  const { border, columnWidths, rows } = block;
  const align = tableAlignment(block);
  return new Table({
    rows: fillRows(block).map((children, index) => {
      const height = rows[index]?.height;
      return new TableRow({
        children,
        cantSplit: rows[index]?.splits !== true,
        ...(rows[index]?.isHeader === true ? { tableHeader: true } : {}),
        ...(height === undefined ? {} : { height: { value: twips(height), rule: 'atLeast' } }),
      });
    }),
    width: { size: twips(columnWidths.reduce((sum, width) => sum + width, 0)), type: 'dxa' },
    columnWidths: columnWidths.map(twips),
    layout: 'autofit',
    ...(align === undefined ? {} : { alignment: align }),
    ...(block.indentStart > 0 && block.align === 'left'
      ? { indent: { size: twips(block.indentStart), type: 'dxa' as const } }
      : {}),
    ...(block.rtl ? { visuallyRightToLeft: true } : {}),
    borders: {
      ...sidesOf((side) => (border[side] === undefined ? noBorder : borderOptions(border[side]))),
      insideHorizontal: noBorder,
      insideVertical: noBorder,
    },
  });
};
