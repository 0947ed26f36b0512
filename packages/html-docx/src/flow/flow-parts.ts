import type { Located } from '../css/selector.ts';
import type { StyleRules } from '../css/stylesheet.ts';
import type { ElementNode, HtmlNode } from '../html/nodes.ts';
import type { ListDefinition, Picture } from './model.ts';

/** List types that count. The others show the same mark at every item. */
const COUNTING =
  /decimal|alpha|latin|roman|greek|cjk|hebrew|georgian|armenian|hiragana|katakana|ideographic|hangul/u;

export const isCounting = (type: string): boolean => COUNTING.test(type);

/** The lists of one document. Each list that counts is one of its own, so that it begins where it should. */
export class ListRegistry {
  readonly definitions: ListDefinition[] = [];
  readonly #marks = new Map<string, number>();

  /** The number of a list. Lists of marks that look the same are one. */
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

/** What is shared by all parts of a document. */
export interface FlowParts {
  readonly rules: StyleRules;
  readonly lists: ListRegistry;
  readonly base: string | undefined;
  /** Room for text on a page from top to bottom, in points. */
  readonly pageHeight: number;
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
