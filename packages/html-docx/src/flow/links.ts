import type { ElementNode } from '../html/nodes.ts';
import type { FlowParts } from './flow-parts.ts';

/** Maximum number of bookmarks; pages that are read have fewer. */
const MAX_ANCHORS = 5000;

/** An element and all elements in it, in document order. */
export const elementsOf = function* (root: ElementNode): Generator<ElementNode> {
  const open = [root];
  for (let node = open.pop(); node !== undefined; node = open.pop()) {
    yield node;
    for (const child of node.children.toReversed()) if (child.kind === 'element') open.push(child);
  }
};

/** The fragment of a link inside the page; undefined for all other links. */
const fragmentOf = (href: string | undefined): string | undefined => {
  const text = href?.trim() ?? '';
  if (!text.startsWith('#') || text === '#') return undefined;
  try {
    return decodeURIComponent(text.slice(1));
  } catch {
    return text.slice(1);
  }
};

/** The names by which links refer to an element. */
export const placeNames = ({ tag, attributes }: ElementNode): readonly string[] =>
  [attributes.get('id'), tag === 'a' ? attributes.get('name') : undefined].flatMap((name) => name || []);

/**
 * Targets of links inside a page, each with the name of its bookmark: Word allows only letters and digits, at
 * most 40, and ignores case.
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

/** Office programs may report files with longer links as damaged. */
const MAX_LINK = 2079;

const SCHEMES: ReadonlySet<string> = new Set(['http:', 'https:', 'mailto:', 'tel:', 'ftp:']);

/**
 * The link for a document: absolute, with a scheme that opens a page, mail or telephone; or `#` and the name
 * of a bookmark. Undefined for everything else (`javascript:`, `file:`, missing targets, relative URLs
 * without a base, too long ones).
 */
export const linkTarget = (
  href: string | undefined,
  { base, anchors }: Pick<FlowParts, 'base' | 'anchors'>,
): string | undefined => {
  if (href === undefined || href.trim() === '') return undefined;
  if (href.trim().startsWith('#')) {
    const bookmark = anchors.get(fragmentOf(href) ?? '');
    return bookmark === undefined ? undefined : `#${bookmark}`;
  }
  const link = externalLink(href.trim(), base) ?? protocolRelative(href.trim());
  return link !== undefined && link.length <= MAX_LINK ? link : undefined;
};

const externalLink = (href: string, base = ''): string | undefined => {
  const page = base.startsWith('http') ? base : 'relative:/';
  const url = URL.canParse(href, page) ? new URL(href, page) : undefined;
  return url !== undefined && SCHEMES.has(url.protocol) ? url.href : undefined;
};

const protocolRelative = (href: string): string | undefined =>
  href.startsWith('//') && URL.canParse(`https:${href}`) ? new URL(`https:${href}`).href : undefined;
