import type { ElementNode } from '../html/nodes.ts';

/** More places than any page has that people read. */
const MAX_ANCHORS = 5000;

const elementsOf = function* (root: ElementNode): Generator<ElementNode> {
  const open = [root];
  for (let node = open.pop(); node !== undefined; node = open.pop()) {
    yield node;
    for (const child of node.children.toReversed()) if (child.kind === 'element') open.push(child);
  }
};

/** The name of the place inside a page that a link leads to; undefined for all other links. */
export const fragmentOf = (href: string | undefined): string | undefined => {
  const text = href?.trim() ?? '';
  if (!text.startsWith('#') || text === '#') return undefined;
  try {
    return decodeURIComponent(text.slice(1));
  } catch {
    return text.slice(1);
  }
};

/** The names by which links find an element. */
export const placeNames = ({ tag, attributes }: ElementNode): readonly string[] =>
  [attributes.get('id'), tag === 'a' ? attributes.get('name') : undefined].flatMap((name) => name || []);

/**
 * The places of a page that its own links lead to, each with the name of its bookmark: Word takes letters and digits only, at most 40, and
 * does not tell capitals from small letters.
 */
export const readAnchors = (body: ElementNode): ReadonlyMap<string, string> => {
  const wanted = new Set<string>();
  for (const { tag, attributes } of elementsOf(body)) {
    const fragment = tag === 'a' ? fragmentOf(attributes.get('href')) : undefined;
    if (fragment !== undefined) wanted.add(fragment);
  }
  const anchors = new Map<string, string>();
  if (wanted.size === 0) return anchors;
  for (const element of elementsOf(body)) {
    for (const name of placeNames(element)) {
      const isNew = wanted.has(name) && !anchors.has(name) && anchors.size < MAX_ANCHORS;
      if (isNew) anchors.set(name, `place_${anchors.size + 1}`);
    }
  }
  return anchors;
};
