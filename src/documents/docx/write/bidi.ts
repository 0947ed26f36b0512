// Letters of scripts that run from right to left: Hebrew, Arabic, Syriac, Thaana, N'Ko and their kin.
const RIGHT = /[\u0590-\u08ff\ufb1d-\ufdff\ufe70-\ufefc\u{10800}-\u{10fff}\u{1e800}-\u{1efff}]/u;
const LEFT = /\p{L}/u;

/** A stretch of text of one direction. */
export interface DirectedText {
  readonly text: string;
  readonly rtl: boolean;
}

type Direction = 'right' | 'left' | 'neutral';

const directionOf = (char: string): Direction => {
  if (RIGHT.test(char)) return 'right';
  return LEFT.test(char) ? 'left' : 'neutral';
};

/**
 * Splits text where its direction changes, because Word keeps one direction (and with it one of two sets of fonts) per run. Blanks,
 * digits and signs go with the letters around them where these agree, else with the paragraph.
 */
export const splitByDirection = (text: string, rtlParagraph: boolean): readonly DirectedText[] => {
  if (!RIGHT.test(text)) return [{ text, rtl: false }];
  const base: Direction = rtlParagraph ? 'right' : 'left';
  const parts: { text: string; rtl: boolean }[] = [];
  const push = (piece: string, direction: Direction): void => {
    const rtl = direction === 'right';
    const last = parts.at(-1);
    if (last?.rtl === rtl) last.text += piece;
    else if (piece !== '') parts.push({ text: piece, rtl });
  };
  let before: Direction = base;
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
