import type { SaxesTagNS } from 'saxes';
import type { About } from '../../storage/about/about.ts';
import { createStrictParser, XML_NAMESPACE, xmlBudget } from '../svg/strict-xml.ts';

/** Longer packets contain the history of a file, or pictures. */
const MOST_BYTES = 256 * 1024;
const LIMITS = { items: 20_000, bytes: MOST_BYTES };

const RDF = 'http://www.w3.org/1999/02/22-rdf-syntax-ns#';
const DC = 'http://purl.org/dc/elements/1.1/';

const PROPERTIES: ReadonlyMap<string, Exclude<keyof About, 'focalPoint'>> = new Map([
  [`${DC}title`, 'title'],
  [`${DC}description`, 'caption'],
  [`${DC}subject`, 'tags'],
  ['http://ns.adobe.com/photoshop/1.0/Credit', 'credit'],
  ['http://iptc.org/std/Iptc4xmpCore/1.0/xmlns/AltTextAccessibility', 'alt'],
]);

type Texts = { [Field in Exclude<keyof About, 'focalPoint' | 'tags'>]?: string | undefined } & {
  tags?: string[];
};

/**
 * Levels of elements, from `rdf:RDF` on: descriptions of the picture, and their properties. Deeper elements
 * describe other resources, such as the pictures of which it is composed.
 */
const [DESCRIPTION, PROPERTY] = [2, 3];

interface Value {
  readonly isDefault: boolean;
  text: string;
}

class Reader {
  readonly texts: Texts = {};
  #level = 0;
  #property: keyof Texts | undefined;
  /** Levels inside of the property. */
  #depth = 0;
  #values: Value[] = [];
  /** Text of the property itself, outside of items. */
  #own: Value = { isDefault: false, text: '' };
  #item: Value | undefined;

  open({ uri, local, attributes }: SaxesTagNS): void {
    if (this.#property !== undefined) {
      this.#depth += 1;
      if (uri !== RDF || local !== 'li') return;
      const isDefault = Object.values(attributes).some(
        (one) => one.uri === XML_NAMESPACE && one.local === 'lang' && one.value === 'x-default',
      );
      this.#values.push((this.#item = { isDefault, text: '' }));
      return;
    }
    if (this.#level > 0 || (uri === RDF && local === 'RDF')) this.#level += 1;
    if (this.#level === PROPERTY) this.#property = PROPERTIES.get(uri + local);
    if (this.#level !== DESCRIPTION) return;
    for (const attribute of Object.values(attributes)) {
      const property = PROPERTIES.get(attribute.uri + attribute.local);
      if (property !== undefined) this.#say(property, [attribute.value]);
    }
  }

  text(text: string): void {
    if (this.#property !== undefined) (this.#item ?? this.#own).text += text;
  }

  close(): void {
    if (this.#depth > 0) {
      this.#depth -= 1;
      // Items contain only text; text after one does not belong to it.
      if (this.#depth <= 1) this.#item = undefined;
      return;
    }
    if (this.#level > 0) this.#level -= 1;
    if (this.#property === undefined) return;
    const values = this.#values.length === 0 ? [this.#own] : this.#values;
    const ordered = [
      ...values.filter(({ isDefault }) => isDefault),
      ...values.filter((one) => !one.isDefault),
    ];
    this.#say(
      this.#property,
      ordered.map(({ text }) => text),
    );
    this.#property = undefined;
    this.#values = [];
    this.#own = { isDefault: false, text: '' };
  }

  #say(property: keyof Texts, all: readonly string[]): void {
    // Programs write empty properties, and an empty default beside a text in one language.
    const values = all.filter((text) => text.trim() !== '');
    if (values.length === 0) return;
    if (property === 'tags') this.texts.tags ??= values;
    else this.texts[property] ??= values[0];
  }
}

/** Descriptive texts in an XMP packet. Empty if it is malformed, or very long. */
export const xmpTexts = (packet: Buffer): Texts => {
  if (packet.length > MOST_BYTES) return {};
  const reader = new Reader();
  const budget = xmlBudget(LIMITS);
  try {
    const parser = createStrictParser(budget, { closetag: () => reader.close() });
    parser.on('opentag', (tag) => reader.open(tag));
    parser.on('text', (text) => reader.text(text));
    parser.on('cdata', (text) => reader.text(text));
    parser.write(packet.toString('utf8').replaceAll('\0', '').trim()).close();
    return reader.texts;
  } catch {
    return {};
  }
};
