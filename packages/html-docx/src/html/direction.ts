import type { ElementNode, HtmlNode } from './nodes.ts';

// Letters of right-to-left scripts: Hebrew, Arabic, Syriac, Thaana, N'Ko and related ones.
const RIGHT = /[\u0590-\u08ff\ufb1d-\ufdff\ufe70-\ufefc\u{10800}-\u{10fff}\u{1e800}-\u{1efff}]/u;
const LEFT = /\p{L}/u;

/** `neutral`: blanks, digits, punctuation. */
export type LetterDirection = 'right' | 'left' | 'neutral';

export const directionOf = (char: string): LetterDirection => {
  if (RIGHT.test(char)) return 'right';
  return LEFT.test(char) ? 'left' : 'neutral';
};

/** Whether a text contains right-to-left letters. */
export const hasRightToLeft = (text: string): boolean => RIGHT.test(text);

/** Limits of the search for the first letter; beyond them the direction is undetermined. */
const MAX_CHARACTERS = 10_000;
const MAX_NODES = 10_000;

/**
 * Resolves `dir="auto"` of an element: the direction of its first letter, ignoring parts with a direction of
 * their own.
 * @see https://html.spec.whatwg.org/#the-dir-attribute
 */
export const autoDirection = (element: ElementNode): 'rtl' | 'ltr' => {
  const open: HtmlNode[] = element.children.toReversed();
  let characters = MAX_CHARACTERS;
  let nodes = MAX_NODES;
  for (let node = open.pop(); node !== undefined && characters > 0 && nodes > 0; node = open.pop()) {
    nodes -= 1;
    if (node.kind === 'element') {
      if (node.tag === 'bdi' || node.attributes.has('dir')) continue;
      for (const child of node.children.toReversed()) open.push(child);
      continue;
    }
    for (const char of node.text.slice(0, characters)) {
      const direction = directionOf(char);
      if (direction !== 'neutral') return direction === 'right' ? 'rtl' : 'ltr';
    }
    characters -= node.text.length;
  }
  return 'ltr';
};
