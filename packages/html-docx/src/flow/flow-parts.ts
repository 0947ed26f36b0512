import type { Located } from '../css/selector.ts';
import type { StyleRules } from '../css/stylesheet.ts';
import type { ElementNode, HtmlNode } from '../html/nodes.ts';
import type { ListDefinition, Picture } from './model.ts';

/** List types with the same bullet for every item. All others count, unknown ones too, as in browsers. */
const BULLETS = /^(?:disc|circle|square|disclosure-open|disclosure-closed|initial|["'].*)$/u;

export const isCounting = (type: string): boolean => !BULLETS.test(type);

/**
 * The lists of one document. Each numbered list has its own definition, so that it starts at its own number.
 */
export class ListRegistry {
  readonly definitions: ListDefinition[] = [];
  readonly #marks = new Map<string, number>();

  /** Returns the id of a list. Bulleted lists that look the same share one. */
  open(definition: ListDefinition): number {
    if (isCounting(definition.type)) return this.#add(definition);
    const key = `${definition.type} ${definition.level}`;
    const known = this.#marks.get(key) ?? this.#add(definition);
    this.#marks.set(key, known);
    return known;
  }

  #add(definition: ListDefinition): number {
    return this.definitions.push(definition) - 1;
  }
}

/** Shared by all parts of a document. */
export interface FlowParts {
  readonly rules: StyleRules;
  readonly lists: ListRegistry;
  readonly base: string | undefined;
  /** Height of the text area of a page, in points. */
  readonly pageHeight: number;
  /** Targets of links inside the page, by name, with the names of their bookmarks. */
  readonly anchors: ReadonlyMap<string, string>;
  /** Bookmarks that have been added. */
  readonly marked: Set<string>;
  /** The picture of an `img` or `svg` element; undefined without one. */
  readonly pictureOf: (node: ElementNode) => Picture | undefined;
}

const isElement = (node: HtmlNode): node is ElementNode => node.kind === 'element';

/** The child elements of an element, with their positions. */
export const locateChildren = (located: Located): readonly Located[] => {
  const siblings = located.node.children.filter(isElement);
  return siblings.map((node, index) => ({ node, parent: located, index, siblings }));
};
