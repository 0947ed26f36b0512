import { computeStyle } from '../css/cascade.ts';
import type { Located } from '../css/selector.ts';
import type { Style } from '../css/style.ts';
import { locateChildren, type FlowParts } from './flow-parts.ts';

/** Limit of Word. Cells beyond it are moved into the last column. */
const MAX_COLUMNS = 63;

/** An element of a table with its style. */
export interface Styled {
  readonly located: Located;
  readonly style: Style;
}

/** A cell without its content. */
export interface GridCell extends Styled {
  readonly row: number;
  readonly column: number;
  readonly rowSpan: number;
  readonly columnSpan: number;
  /** Background of its row, or of the section. */
  readonly background: string | undefined;
}

export interface GridRow {
  readonly style: Style;
  readonly isHeader: boolean;
}

export interface GridColumn {
  readonly column: number;
  readonly style: Style;
}

/** Positions of the cells of a table. */
export interface TableGrid {
  readonly captions: readonly Styled[];
  readonly columns: readonly GridColumn[];
  readonly rows: readonly GridRow[];
  readonly cells: readonly GridCell[];
  readonly columnCount: number;
}

const spanOf = (located: Located, name: string): number => {
  const span = Number.parseInt(located.node.attributes.get(name) ?? '1', 10);
  return Number.isSafeInteger(span) && span >= 0 ? span : 1;
};

interface Section extends Styled {
  readonly rows: readonly Styled[];
  readonly kind: number;
}

/** Heads come first and feet last, in any source order. */
const SECTIONS: Readonly<Record<string, number>> = { thead: 0, tbody: 1, tfoot: 2 };

const endRow = (cell: GridCell | undefined): number => (cell === undefined ? 0 : cell.row + cell.rowSpan);

/** Places the cells of one section into the grid. `lowest[column]` is the last cell of a column so far. */
const placeSection = (
  { rows, style, kind }: Section,
  children: (parent: Styled) => readonly Styled[],
  grid: { readonly rows: GridRow[]; readonly cells: GridCell[]; readonly lowest: GridCell[] },
): void => {
  const end = grid.rows.length + rows.length;
  const isFree = (column: number, row: number): boolean => endRow(grid.lowest[column]) <= row;
  for (const row of rows) {
    const at = grid.rows.push({ style: row.style, isHeader: kind === 0 }) - 1;
    let column = 0;
    for (const cell of children(row).filter(({ located }) => /^t[dh]$/u.test(located.node.tag))) {
      while (!isFree(column, at)) column += 1;
      const start = Math.min(column, MAX_COLUMNS - 1);
      const covering = grid.lowest[start];
      if (covering !== undefined && !isFree(start, at)) {
        // Beyond the last column, below a cell that reaches into this row: its content continues that cell.
        grid.cells.push({ ...covering, ...cell });
        continue;
      }
      const rowSpan = Math.min(spanOf(cell.located, 'rowspan') || end, end - at);
      let columnSpan = 1;
      const wanted = Math.min(Math.max(1, spanOf(cell.located, 'colspan')), MAX_COLUMNS - start);
      while (columnSpan < wanted && isFree(start + columnSpan, at)) columnSpan += 1;
      const background = cell.style.background ?? row.style.background ?? style.background;
      const placed = { ...cell, row: at, column: start, rowSpan, columnSpan, background };
      grid.cells.push(placed);
      for (let index = start; index < start + columnSpan; index += 1) grid.lowest[index] = placed;
      column = start + columnSpan;
    }
  }
};

/** Parses the structure of a table element. */
export const readGrid = (parts: FlowParts, table: Styled): TableGrid => {
  const children = ({ located, style }: Styled): readonly Styled[] =>
    locateChildren(located)
      .map((child) => ({ located: child, style: computeStyle(child, style, parts.rules) }))
      .filter((child) => child.style.display !== 'none');
  const own = children(table);
  const withTag = (styled: readonly Styled[], tag: string) =>
    styled.filter(({ located }) => located.node.tag === tag);

  const columns: GridColumn[] = [];
  let column = 0;
  const groups = own.filter(({ located }) => /^col(?:group)?$/u.test(located.node.tag));
  for (const group of groups.flatMap((one) => (children(one).length > 0 ? children(one) : [one]))) {
    const end = Math.min(column + (spanOf(group.located, 'span') || 1), MAX_COLUMNS);
    // A width is that of each column.
    for (; column < end; column += 1) columns.push({ column, style: group.style });
  }

  const sections = own
    .filter(({ located }) => Object.hasOwn(SECTIONS, located.node.tag))
    .map((section) => ({
      ...section,
      rows: withTag(children(section), 'tr'),
      kind: SECTIONS[section.located.node.tag] ?? 1,
    }));
  const grid = { rows: [], cells: [] as GridCell[], lowest: [] as GridCell[] };
  for (const section of sections.toSorted((one, two) => one.kind - two.kind)) {
    placeSection(section, children, grid);
  }
  const columnCount = grid.cells.reduce((most, cell) => Math.max(most, cell.column + cell.columnSpan), 0);
  return { captions: withTag(own, 'caption'), columns, rows: grid.rows, cells: grid.cells, columnCount };
};
