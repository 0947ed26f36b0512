// Letters of scripts that run from right to left: Hebrew, Arabic, Syriac, Thaana, N'Ko and their kin.
const RIGHT = /[\u0590-\u08ff\ufb1d-\ufdff\ufe70-\ufefc\u{10800}-\u{10fff}\u{1e800}-\u{1efff}]/u;
const LEFT = /\p{L}/u;

/** `neutral`: blanks, digits, signs. */
export type LetterDirection = 'right' | 'left' | 'neutral';

export const directionOf = (char: string): LetterDirection => {
  if (RIGHT.test(char)) return 'right';
  return LEFT.test(char) ? 'left' : 'neutral';
};

/** Whether any letter of a text runs from right to left. */
export const hasRightToLeft = (text: string): boolean => RIGHT.test(text);
