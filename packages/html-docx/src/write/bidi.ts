import { directionOf, hasRightToLeft, type LetterDirection } from '../html/direction.ts';

/** Text of a single direction. */
export interface DirectedText {
  readonly text: string;
  readonly rtl: boolean;
}

/**
 * Splits text where its direction changes, because Word has one direction (and with it one of two sets of
 * fonts) per run. Neutral characters get the direction of the letters around them if these agree, else that
 * of the paragraph.
 */
export const splitByDirection = (text: string, rtlParagraph: boolean): readonly DirectedText[] => {
  if (!hasRightToLeft(text)) return [{ text, rtl: false }];
  const base: LetterDirection = rtlParagraph ? 'right' : 'left';
  const parts: { text: string; rtl: boolean }[] = [];
  const push = (piece: string, direction: LetterDirection): void => {
    const rtl = direction === 'right';
    const last = parts.at(-1);
    if (last?.rtl === rtl) last.text += piece;
    else if (piece !== '') parts.push({ text: piece, rtl });
  };
  let before: LetterDirection = base;
  let waiting = '';
  for (const char of text) {
    const direction = directionOf(char);
    if (direction === 'neutral') {
      waiting += char;
      continue;
    }
    push(waiting, before === direction ? direction : base);
    push(char, direction);
    waiting = '';
    before = direction;
  }
  push(waiting, base);
  return parts;
};
