import { computeStyle } from '../css/cascade.ts';
import type { Located } from '../css/selector.ts';
import { isBlock, sides, type Style } from '../css/style.ts';
import type { ElementNode } from '../html/nodes.ts';
import { placeNames } from './links.ts';
import {
  flatItem,
  insideBlock,
  insideLists,
  listAt,
  paragraphIn,
  topContext,
  type BlockContext,
  type OpenItem,
} from './block-context.ts';
import { BlockStack } from './block-stack.ts';
import { isCounting, locateChildren, type FlowParts } from './flow-parts.ts';
import { boxTable, needsTable } from './framed-box.ts';
import { LineCollector } from './inline-text.ts';
import { linkTarget } from './links.ts';
import { standIn } from './stand-in.ts';
import type { Block, ListPosition, ParagraphBlock, TableBlock } from './model.ts';
import { pictureInline } from './picture-flow.ts';
import { buildTable, type ReadCell } from './table-flow.ts';

/** Converts elements to paragraphs and tables. One builder is used for a page, or for a table cell. */
export class FlowBuilder {
  readonly #parts: FlowParts;
  readonly #stack = new BlockStack();
  #line = new LineCollector();

  constructor(parts: FlowParts) {
    this.#parts = parts;
  }

  /** Adds the content of an element. */
  addContent(located: Located, style: Style, context: BlockContext): void {
    this.#addChildren(located, style, context, undefined);
    this.#endParagraph(context);
  }

  /** The blocks, at least one paragraph. */
  finish(context: BlockContext): readonly Block[] {
    const blocks = this.#stack.finish();
    const marks = this.#line.takeMarks();
    const last = blocks.at(-1);
    // A page and a cell must end with a paragraph.
    if (last?.kind !== 'paragraph') return [...blocks, this.#paragraph(context, marks)];
    return [...blocks.slice(0, -1), { ...last, inlines: [...last.inlines, ...marks] }];
  }

  #addChildren(located: Located, style: Style, context: BlockContext, link: string | undefined): void {
    const elements = locateChildren(located)[Symbol.iterator]();
    for (const child of located.node.children) {
      if (child.kind === 'text') this.#line.addText(child.text, style, link);
      else {
        const { value } = elements.next();
        if (value !== undefined) this.#addElement(value, style, context, link);
      }
    }
  }

  #addElement(found: Located, parent: Style, context: BlockContext, outer: string | undefined): void {
    const located = standIn(found, this.#parts);
    if (located === undefined) return;
    const style = computeStyle(located, parent, this.#parts.rules);
    if (style.display === 'none') return;
    const { tag, attributes } = located.node;
    const link = (tag === 'a' ? linkTarget(attributes.get('href'), this.#parts) : undefined) ?? outer;
    const isBox = isBlock(style) && !/^(?:br|img|svg)$/u.test(tag);
    const continues = this.#line.isCheckbox && /^(?:p|div)$/u.test(tag);
    if (isBox && !continues) this.#endParagraph(context);
    this.#mark(located.node);
    if (tag === 'br') this.#addBreak(style, context);
    else if (tag === 'img' || tag === 'svg') this.#addPicture(located, style, context, link);
    else if (isBox) this.#addBlock(located, style, context, link);
    else this.#addInline(located, style, context, link);
  }

  #addBreak(style: Style, context: BlockContext): void {
    if (!style.breakBefore && !style.breakAfter) {
      this.#line.addBreak();
      return;
    }
    this.#endParagraph(context);
    this.#stack.breakPage();
  }

  #addInline(located: Located, style: Style, context: BlockContext, link: string | undefined): void {
    const [opening, closing] = located.node.tag === 'q' ? quotes(located) : ['', ''];
    this.#line.addText(opening, style, link);
    this.#addChildren(located, style, context, link);
    this.#line.addText(closing, style, link);
  }

  /** Adds bookmarks at an element that links refer to. */
  #mark(node: ElementNode): void {
    if (this.#parts.anchors.size === 0) return;
    const names = placeNames(node).flatMap((place) => {
      const name = this.#parts.anchors.get(place);
      // If several elements have the same name, links refer to the first.
      if (name === undefined || this.#parts.marked.has(name)) return [];
      this.#parts.marked.add(name);
      return [{ kind: 'mark' as const, name }];
    });
    this.#line.addMarks(names);
  }

  #addBlock(located: Located, style: Style, context: BlockContext, link: string | undefined): void {
    if (style.breakBefore) this.#stack.breakPage();
    this.#stack.openBox(style.margin.top);
    const { tag } = located.node;
    if (tag === 'hr') this.#addRule(style, context);
    else if (tag === 'table') this.#addTable(located, style, context);
    else if (link === undefined && needsTable(located.node, style, context))
      this.#addBox(located, style, context);
    else {
      const inner = this.#innerContext(located, style, context);
      const before = this.#stack.last;
      this.#addChildren(located, style, inner, link);
      this.#endParagraph(inner);
      const isItem = inner.item !== undefined && inner.item !== context.item;
      // An empty item shows its marker, and counts.
      if (isItem && this.#stack.last === before) this.#stack.addParagraph(this.#paragraph(inner, []));
    }
    this.#stack.closeBox(style.margin.bottom);
    if (style.breakAfter) this.#stack.breakPage();
  }

  #innerContext(located: Located, style: Style, context: BlockContext): BlockContext {
    const { tag } = located.node;
    if (/^(?:ul|ol|menu|dir)$/u.test(tag)) return this.#insideList(located.node, style, context);
    if (style.display === 'list-item') return this.#insideItem(located, style, context);
    return insideBlock(context, tag, style);
  }

  #insideList(node: ElementNode, style: Style, context: BlockContext): BlockContext {
    // The indent of the markers is set level by level, instead of the padding.
    const inner = insideBlock(context, '', { ...style, padding: { ...style.padding, left: 0, right: 0 } });
    const { attributes, children } = node;
    const countsDown = node.tag === 'ol' && attributes.has('reversed');
    const items = countsDown
      ? children.filter((child) => child.kind === 'element' && child.tag === 'li').length
      : 1;
    return {
      ...insideLists(inner, 1),
      item: undefined,
      list: {
        step: countsDown ? -1 : 1,
        next: integerOf(attributes.get('start')) ?? items,
        written: undefined,
        inner: undefined,
      },
    };
  }

  #insideItem(located: Located, style: Style, context: BlockContext): BlockContext {
    const { depth, type: flatType } = flatItem(located.node);
    const type = flatType ?? style.listType;
    const outer = insideLists(context, depth);
    // The style sheet of Quill indents by padding.
    const padding = flatType === undefined ? style.padding : sides(0);
    const inner = insideBlock(outer, 'li', { ...style, padding });
    const list = listAt(context.list, depth);
    const start = integerOf(located.node.attributes.get('value')) ?? list.next;
    if (flatType === undefined || isCounting(flatType)) list.next = start + list.step;
    if (type === 'none') return { ...inner, item: undefined };
    const level = Math.max(0, outer.listDepth - 1);
    return { ...inner, item: { list, type, start, level, marked: false } };
  }

  /** The position of an item. It starts another list of the document where the last one counts otherwise. */
  #positionOf({ list, type, start, level }: OpenItem): ListPosition {
    const { written } = list;
    const continues = written?.type === type && written.next === start;
    const id = continues ? written.id : this.#parts.lists.open({ type, start, level });
    list.written = { id, type, next: start + 1 };
    return { list: id, level };
  }

  #addRule(style: Style, context: BlockContext): void {
    const color = style.background ?? style.color ?? '808080';
    const bottom = style.border.top ?? style.border.bottom ?? { style: 'solid', width: 0.75, color };
    const inner = insideBlock(context, 'hr', { ...style, padding: sides(0), background: undefined });
    const line = { ...inner, border: { ...sides(undefined), bottom } };
    this.#stack.openBox(6);
    this.#stack.addParagraph(this.#paragraph({ ...line, item: undefined }, []));
    this.#stack.closeBox(6);
  }

  #addTable(located: Located, style: Style, context: BlockContext): void {
    const { captions, table } = buildTable(this.#parts, { located, style }, context, this.#readCell);
    for (const caption of captions) {
      const inner = insideBlock(context, 'caption', caption.style);
      this.#addChildren(caption.located, caption.style, inner, undefined);
      this.#endParagraph(inner);
    }
    if (table !== undefined) this.#appendTable(table, context);
  }

  /** The marker of an item that begins with a table stands above it. */
  #appendTable(table: TableBlock, context: BlockContext): void {
    const empty = (): ParagraphBlock => this.#paragraph(context, []);
    if (context.item?.marked === false) this.#stack.addParagraph(empty());
    this.#stack.addTable(table, empty);
  }

  #addBox(located: Located, style: Style, context: BlockContext): void {
    const table = boxTable(style, context, (width) => this.#readCell(located, style, width));
    this.#appendTable(table, context);
  }

  /** Reads a cell like a page, without the space above its first and below its last paragraph. */
  readonly #readCell: ReadCell = (located, style, width) => {
    const builder = new FlowBuilder(this.#parts);
    const context = topContext(style, width);
    // Links to the table refer to its first cell.
    builder.#line.addMarks(this.#line.takeMarks());
    builder.#mark(located.node);
    builder.addContent(located, style, context);
    return builder.finish(context);
  };

  #addPicture(located: Located, style: Style, context: BlockContext, link: string | undefined): void {
    const picture = this.#parts.pictureOf(located.node);
    if (picture === undefined) {
      this.#line.addText(located.node.attributes.get('alt') ?? '', style, link);
      return;
    }
    if (!style.visible) return;
    const { pageHeight } = this.#parts;
    const inline = pictureInline(picture, located.node, style, { width: context.width, pageHeight, link });
    const standsAlone = style.float === undefined && isBlock(style);
    if (!standsAlone) {
      this.#line.addPicture(inline);
      return;
    }
    this.#endParagraph(context);
    this.#stack.openBox(style.margin.top);
    this.#line.addPicture(inline);
    const align = style.centered ? 'center' : context.style.align;
    this.#endParagraph({ ...context, style: { ...context.style, align } });
    this.#stack.closeBox(style.margin.bottom);
  }

  #endParagraph(context: BlockContext): void {
    if (this.#line.isEmpty) return;
    const inlines = this.#line.finish();
    this.#line = new LineCollector();
    this.#stack.addParagraph(this.#paragraph(context, inlines));
  }

  #paragraph(context: BlockContext, inlines: ParagraphBlock['inlines']): ParagraphBlock {
    const { item } = context;
    const position = item === undefined || item.marked ? undefined : this.#positionOf(item);
    if (item !== undefined) item.marked = true;
    return paragraphIn(context, inlines, position);
  }
}

const integerOf = (text = ''): number | undefined => {
  const value = Number.parseInt(text, 10);
  return Number.isSafeInteger(value) ? value : undefined;
};

/** Quotation marks alternate with the depth. */
const quotes = ({ parent }: Located): readonly [string, string] => {
  let depth = 0;
  for (let at = parent; at !== undefined; at = at.parent) if (at.node.tag === 'q') depth += 1;
  return depth % 2 === 0 ? ['“', '”'] : ['‘', '’'];
};
