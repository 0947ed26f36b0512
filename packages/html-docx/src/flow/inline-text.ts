import type { Style } from '../css/style.ts';
import type { Inline, MarkInline, PictureInline, TextFormat, TextInline } from './model.ts';

export const textFormat = (style: Style): TextFormat => ({
  size: style.fontSize,
  family: style.fontFamily,
  color: style.color,
  background: style.textBackground,
  bold: style.bold,
  italic: style.italic,
  underline: style.underline,
  strike: style.strike,
  smallCaps: style.smallCaps,
  caps: style.transform === 'uppercase',
  script: style.script,
  spacing: style.letterSpacing,
  lang: style.lang,
});

const transformed = (text: string, transform: string): string => {
  if (transform === 'lowercase') return text.toLowerCase();
  if (transform === 'capitalize')
    return text.replaceAll(/(?<![\p{L}\p{N}'’])\p{Ll}/gu, (letter) => letter.toUpperCase());
  return text;
};

/** Collects the content of one paragraph, and collapses white space as in CSS. */
export class LineCollector {
  readonly #inlines: Inline[] = [];
  /** Bookmarks that are not yet in a paragraph. */
  readonly #marks: MarkInline[] = [];
  /** True at the start of a line and after a blank: another blank is collapsed. */
  #afterBlank = true;

  get isEmpty(): boolean {
    return this.#inlines.length === 0;
  }

  /** Whether the line is only a checkbox: editors put it before the block with its text. */
  get isCheckbox(): boolean {
    const [first] = this.#inlines;
    return this.#inlines.length === 1 && first?.kind === 'text' && /^[☑☐] $/u.test(first.text);
  }

  addText(raw: string, style: Style, link: string | undefined): void {
    const text = transformed(raw, style.transform);
    const keepsLines = /^pre/u.test(style.whiteSpace);
    const lines = keepsLines ? text.replaceAll(/\r\n?/gu, '\n').split('\n') : [text];
    const keepsBlanks = keepsLines && style.whiteSpace !== 'pre-line';
    for (const [index, line] of lines.entries()) {
      if (index > 0) this.addBreak();
      this.#addLine(keepsBlanks ? line : this.#collapsed(line), style, link);
    }
  }

  /** Adds bookmarks to this paragraph. They are not content. */
  addMarks(marks: readonly MarkInline[]): void {
    this.#marks.push(...marks);
  }

  /** Returns and removes the pending bookmarks. */
  takeMarks(): readonly MarkInline[] {
    return this.#marks.splice(0);
  }

  addBreak(): void {
    this.#trimEnd();
    this.#inlines.push({ kind: 'break' });
    this.#afterBlank = true;
  }

  /** Adds a picture. A floating one is not part of the line, so blanks around it collapse. */
  addPicture(picture: PictureInline): void {
    this.#inlines.push(picture);
    if (picture.float === undefined) this.#afterBlank = false;
  }

  /**
   * The collected content, with its bookmarks first. A line break or blank at the very end is removed: it
   * only ends the line.
   */
  finish(): readonly Inline[] {
    this.#trimEnd();
    if (this.#inlines.at(-1)?.kind === 'break') this.#inlines.pop();
    return [...this.#marks, ...this.#inlines];
  }

  #collapsed(line: string): string {
    const text = line.replaceAll(/[ \t\n\r\f]+/gu, ' ');
    return this.#afterBlank && text.startsWith(' ') ? text.slice(1) : text;
  }

  #addLine(text: string, style: Style, link: string | undefined): void {
    if (text === '' || !style.visible) return;
    this.#inlines.push({ kind: 'text', text, format: textFormat(style), link });
    this.#afterBlank = text.endsWith(' ') && !/^pre/u.test(style.whiteSpace);
  }

  /** Removes a collapsed blank at the end of a line. Preserved blanks (`pre`) stay. */
  #trimEnd(): void {
    const last = this.#inlines.at(-1);
    if (!this.#afterBlank || last?.kind !== 'text') return;
    this.#inlines.pop();
    const trimmed: TextInline = { ...last, text: last.text.replace(/ $/u, '') };
    if (trimmed.text !== '') this.#inlines.push(trimmed);
  }
}
