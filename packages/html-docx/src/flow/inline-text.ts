import type { Style } from '../css/style.ts';
import type { Inline, MarkInline, PictureInline, TextFormat, TextInline } from './model.ts';

/** What letters in an element look like. */
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

/** The content of one paragraph as it comes in, with white space collapsed as CSS wants it. */
export class LineCollector {
  readonly #inlines: Inline[] = [];
  /** Places that wait for something to stand at. */
  readonly #marks: MarkInline[] = [];
  /** True where a blank would be the first of its line or the second of two. */
  #afterBlank = true;

  get isEmpty(): boolean {
    return this.#inlines.length === 0;
  }

  /** Adds text of an element. */
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

  /** Notes that links lead to this paragraph. No content by itself. */
  addMarks(marks: readonly MarkInline[]): void {
    this.#marks.push(...marks);
  }

  /** Gives the places away that have been noted. */
  takeMarks(): readonly MarkInline[] {
    return this.#marks.splice(0);
  }

  addBreak(): void {
    this.#trimEnd();
    this.#inlines.push({ kind: 'break' });
    this.#afterBlank = true;
  }

  /**
   * Adds a picture. One that text flows around has no place in the line, so blanks around it are neighbours.
   */
  addPicture(picture: PictureInline): void {
    this.#inlines.push(picture);
    if (picture.float === undefined) this.#afterBlank = false;
  }

  /**
   * What has come in, after the places to which links lead. A line break at the very end only ends the line,
   * so it goes; blanks there are not seen either.
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

  /** Takes away a collapsed blank at the end of a line. Kept ones (`pre`) are no longer than they were. */
  #trimEnd(): void {
    const last = this.#inlines.at(-1);
    if (!this.#afterBlank || last?.kind !== 'text') return;
    this.#inlines.pop();
    const trimmed: TextInline = { ...last, text: last.text.replace(/ $/u, '') };
    if (trimmed.text !== '') this.#inlines.push(trimmed);
  }
}
