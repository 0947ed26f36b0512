import type { Located } from '../css/selector.ts';
import type { StyleRules } from '../css/stylesheet.ts';
import type { ElementNode, HtmlNode } from '../html/nodes.ts';
import type { ListRegistry } from './list-registry.ts';
import type { Picture } from './model.ts';

/** What is shared by all parts of a document. */
export interface FlowParts {
  readonly rules: StyleRules;
  readonly lists: ListRegistry;
  readonly base: string | undefined;
  /** Places that links of the page lead to, by their names, with the names of their bookmarks. */
  readonly anchors: ReadonlyMap<string, string>;
  /** Bookmarks that have got their place. */
  readonly marked: Set<string>;
  /** The picture of an `img` or `svg` element; undefined when there is none to show. */
  readonly pictureOf: (node: ElementNode) => Picture | undefined;
}

const isElement = (node: HtmlNode): node is ElementNode => node.kind === 'element';

/** The children of an element that are elements, with their places. */
export const locateChildren = (located: Located): readonly Located[] => {
  const siblings = located.node.children.filter(isElement);
  return siblings.map((node, index) => ({ node, parent: located, index, siblings }));
};
