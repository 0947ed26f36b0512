import type { Block, ParagraphBlock } from './model.ts';

/**
 * The blocks of a page or cell as they come in, with the margins between them collapsed as CSS wants it: the
 * space between two paragraphs is the largest of all margins that meet there, however many boxes end and
 * begin.
 */
export class BlockStack {
  readonly #blocks: Block[] = [];
  #above = 0;
  #below = 0;
  #breakPending = false;

  /** A box begins: its upper margin counts for what comes first in it. */
  openBox(marginTop: number): void {
    this.#above = Math.max(this.#above, marginTop);
  }

  /** A box ends. */
  closeBox(marginBottom: number): void {
    this.#below = Math.max(this.#below, marginBottom);
  }

  /** What comes next begins on a new page. */
  breakPage(): void {
    this.#breakPending = this.#blocks.length > 0 || this.#breakPending;
  }

  /** Adds a paragraph. Its own space is set here. */
  addParagraph(paragraph: ParagraphBlock): void {
    const previous = this.#blocks.at(-1);
    const gap = this.#settle();
    if (previous?.kind === 'paragraph') paragraph.before = Math.max(0, gap - previous.after);
    // After a table, which has no space of its own.
    else if (previous !== undefined) paragraph.before = gap;
    this.#blocks.push(this.#onNewPage(paragraph));
  }

  addTable(table: Block, spacer: () => ParagraphBlock): void {
    // Two tables that touch would become one; a page break needs a paragraph to stand in.
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

  /** Gives the lower margins that have met to the paragraph above, and returns the whole gap. */
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
