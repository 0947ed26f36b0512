import type { ListDefinition } from './model.ts';

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
