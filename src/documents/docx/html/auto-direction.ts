import { directionOf } from './letter-direction.ts';
import type { ElementNode, HtmlNode } from './nodes.ts';

/** Who has written so much without a letter has no direction. */
const MAX_CHARACTERS = 10_000;
const MAX_NODES = 10_000;

/**
 * What `dir="auto"` means for an element: the direction of its first letter, where parts with a direction of their own do not count.
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
