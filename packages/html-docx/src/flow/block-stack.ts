import type { Block, ParagraphBlock } from './model.ts';

/**
 * Collects the blocks of a page or cell, and collapses the margins between them as in CSS: the space between
 * two paragraphs is the largest of all margins between them, however many boxes end and begin there.
 */
export class BlockStack {
  readonly #blocks: Block[] = [];
  #above = 0;
  #below = 0;
  #breakPending = false;

  /** Starts a box: its upper margin applies before its first content. */
  openBox(marginTop: number): void {
    this.#above = Math.max(this.#above, marginTop);
  }

  closeBox(marginBottom: number): void {
    this.#below = Math.max(this.#below, marginBottom);
  }

  /** The next block starts on a new page. */
  breakPage(): void {
    this.#breakPending = this.#blocks.length > 0 || this.#breakPending;
  }

  /** Adds a paragraph, and sets its spacing. */
  addParagraph(paragraph: ParagraphBlock): void {
    const previous = this.#blocks.at(-1);
    const gap = this.#settle();
    if (previous?.kind === 'paragraph') paragraph.before = Math.max(0, gap - previous.after);
    // After a table, which has no spacing.
    else if (previous !== undefined) paragraph.before = gap;
    this.#blocks.push(this.#onNewPage(paragraph));
  }

  addTable(table: Block, spacer: () => ParagraphBlock): void {
    // Word would join two adjacent tables; a page break needs a paragraph.
    if (this.#blocks.at(-1)?.kind === 'table' || this.#breakPending) {
      this.#blocks.push(this.#onNewPage(spacer()));
    }
    this.#settle();
    this.#blocks.push(table);
  }

  get last(): Block | undefined {
    return this.#blocks.at(-1);
  }

  finish(): readonly Block[] {
    return this.#blocks;
  }

  /** Assigns collapsed lower margins to the previous paragraph, and returns the whole gap. */
  #settle(): number {
    const previous = this.#blocks.at(-1);
    const gap = Math.max(this.#above, this.#below);
    if (previous?.kind === 'paragraph') previous.after = this.#below;
    this.#above = 0;
    this.#below = 0;
    return gap;
  }

  #onNewPage(paragraph: ParagraphBlock): ParagraphBlock {
    if (!this.#breakPending) return paragraph;
    this.#breakPending = false;
    return { ...paragraph, format: { ...paragraph.format, pageBreakBefore: true } };
  }
}
