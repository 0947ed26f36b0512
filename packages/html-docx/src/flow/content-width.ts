import type { Block, Inline, TextInline } from './model.ts';

/** Minimum and preferred width of content, in points. */
export interface WidthRange {
  readonly min: number;
  readonly max: number;
}

/** Scripts without blanks, whose characters are square and allow a line break anywhere. */
const WIDE =
  /[\u1100-\u115f\u2e80-\u9fff\ua960-\ua97f\uac00-\ud7ff\uf900-\ufaff\ufe30-\ufe4f\uff00-\uff60\u{1f300}-\u{1faff}\u{20000}-\u{3ffff}]/u;

/** Approximate width of a letter relative to the font size, rather too wide. */
const letterWidth = (letter: string, bold: boolean): number => {
  if (WIDE.test(letter)) return 1.02;
  if (/[ilj.,:;|!'’ ]/u.test(letter)) return 0.31;
  if (/[A-Zmw@%\u0590-\u06ff]/u.test(letter)) return 0.76;
  return bold ? 0.62 : 0.57;
};

interface Measure {
  min: number;
  max: number;
  line: number;
  word: number;
}

const measureText = ({ text, format }: TextInline, measure: Measure): void => {
  for (const letter of text) {
    const width = letterWidth(letter, format.bold) * format.size;
    measure.line += width;
    measure.word = /\s/u.test(letter) ? 0 : WIDE.test(letter) ? width : measure.word + width;
    measure.min = Math.max(measure.min, measure.word);
  }
  measure.max = Math.max(measure.max, measure.line);
};

const measureInline = (inline: Inline, measure: Measure): void => {
  if (inline.kind === 'text') measureText(inline, measure);
  else if (inline.kind === 'break') {
    measure.line = 0;
    measure.word = 0;
  } else if (inline.kind === 'picture') {
    measure.line += inline.width;
    // A picture can shrink, but only to a limit.
    measure.min = Math.max(measure.min, Math.min(inline.width, 48));
    measure.max = Math.max(measure.max, measure.line);
  }
};

/**
 * Estimates the width of blocks: font metrics are not available, and word processors break the lines
 * themselves.
 */
export const contentWidth = (blocks: readonly Block[]): WidthRange => {
  const range = { min: 0, max: 0 };
  for (const block of blocks) {
    const measure: Measure = { min: 0, max: 0, line: 0, word: 0 };
    let indent = 0;
    if (block.kind === 'paragraph') {
      indent = block.format.indentStart + block.format.indentEnd;
      for (const inline of block.inlines) measureInline(inline, measure);
    } else {
      measure.max = block.columnWidths.reduce((sum, width) => sum + width, 0);
      measure.min = measure.max / 2;
    }
    range.min = Math.max(range.min, measure.min + indent);
    range.max = Math.max(range.max, measure.max + indent);
  }
  return range;
};
