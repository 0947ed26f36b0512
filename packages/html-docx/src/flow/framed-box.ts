import type { Style } from '../css/style.ts';
import type { ElementNode } from '../html/nodes.ts';
import type { BlockContext } from './block-context.ts';
import type { Block, TableBlock } from './model.ts';
import { withFittingPictures } from './picture-flow.ts';

/** Elements with an indent of their own. */
const INDENTED = /^(?:ul|ol|menu|dir|dl|table|blockquote)$/u;

const holdsIndented = ({ children }: ElementNode): boolean =>
  children.some((child) => child.kind === 'element' && (INDENTED.test(child.tag) || holdsIndented(child)));

/**
 * Whether the border of a box would be split into several frames: word processors join frames only of
 * paragraphs with equal indents. Boxes in lists stay paragraphs, which the list numbers.
 */
export const needsTable = (node: ElementNode, { border }: Style, { listDepth }: BlockContext): boolean =>
  listDepth === 0 && Object.values(border).some((side) => side !== undefined) && holdsIndented(node);

/** A box with a border as a table of one cell, with the content that `read` returns for the inner width. */
export const boxTable = (
  { margin, padding, border, background, rtl }: Style,
  { width: room, indentStart }: BlockContext,
  read: (width: number) => readonly Block[],
): TableBlock => {
  const [left, right] = [Math.max(0, margin.left), Math.max(0, margin.right)];
  const width = Math.max(36, room - left - right);
  const inner = Math.max(24, width - padding.left - padding.right);
  const cell = { row: 0, column: 0, rowSpan: 1, columnSpan: 1, verticalAlign: 'top' } as const;
  return {
    kind: 'table',
    rows: [{ isHeader: false, splits: true, height: undefined }],
    cells: [{ ...cell, background, border, padding, blocks: withFittingPictures(read(inner), inner) }],
    columnWidths: [width],
    border,
    align: rtl ? 'right' : 'left',
    rtl,
    indentStart: indentStart + (rtl ? right : left),
  };
};
