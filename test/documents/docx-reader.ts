import { unzipSync } from 'fflate';
import { SaxesParser } from 'saxes';

/** An element of a part, its text in `text`. Names keep their prefixes. */
export interface Xml {
  readonly name: string;
  readonly attributes: Readonly<Record<string, string>>;
  readonly children: Xml[];
  text: string;
}

/** Parses a part strictly: one that is not well-formed fails. */
const parseXml = (source: string): Xml => {
  const root: Xml = { name: '', attributes: {}, children: [], text: '' };
  const open = [root];
  const parser = new SaxesParser();
  parser.on('opentag', ({ name, attributes }) => {
    const element: Xml = { name, attributes, children: [], text: '' };
    open.at(-1)?.children.push(element);
    open.push(element);
  });
  parser.on('text', (text) => {
    const element = open.at(-1);
    if (element !== undefined) element.text += text;
  });
  parser.on('closetag', () => open.pop());
  parser.on('error', (error) => {
    throw error;
  });
  parser.write(source).close();
  return root;
};

/** All elements of a name below an element, in their order. */
export const all = (xml: Xml, name: string): Xml[] =>
  xml.children.flatMap((child) => [...(child.name === name ? [child] : []), ...all(child, name)]);

/** The first of them; an empty element when there is none, so that expectations fail on values. */
export const first = (xml: Xml, name: string): Xml =>
  all(xml, name)[0] ?? { name: 'none', attributes: {}, children: [], text: '' };

/** What an element shows as text: tabs and line breaks included. */
export const textIn = (xml: Xml): string => {
  if (xml.name === 'w:t') return xml.text;
  if (xml.name === 'w:tab' && xml.children.length === 0 && Object.keys(xml.attributes).length === 0)
    return '\t';
  if (xml.name === 'w:br') return '\n';
  return xml.children.map(textIn).join('');
};

/** A DOCX file, opened. */
export interface Docx {
  readonly body: Xml;
  /** Paragraphs of the page itself, without those in tables. */
  readonly paragraphs: readonly Xml[];
  readonly tables: readonly Xml[];
  readonly numbering: Xml;
  /** Targets of links by their ids. */
  readonly links: ReadonlyMap<string, string>;
  readonly media: ReadonlyMap<string, Uint8Array>;
  readonly core: Xml;
  /** Empty when there is none. */
  readonly header: Xml;
  readonly footer: Xml;
}

/** Opens a DOCX file; every part must be well-formed. */
export const readDocx = (bytes: Uint8Array): Docx => {
  const files = unzipSync(bytes);
  const part = (name: string): Xml => parseXml(Buffer.from(files[name] ?? []).toString('utf8'));
  const optional = (name: string): Xml =>
    name in files ? part(name) : { name: '', attributes: {}, children: [], text: '' };
  for (const name of Object.keys(files)) if (/\.(?:xml|rels)$/u.test(name)) part(name);
  const body = first(part('word/document.xml'), 'w:body');
  const relations = all(part('word/_rels/document.xml.rels'), 'Relationship');
  return {
    body,
    paragraphs: body.children.filter(({ name }) => name === 'w:p'),
    tables: body.children.filter(({ name }) => name === 'w:tbl'),
    numbering: part('word/numbering.xml'),
    links: new Map(relations.map(({ attributes }) => [attributes['Id'] ?? '', attributes['Target'] ?? ''])),
    media: new Map(Object.entries(files).filter(([name]) => name.startsWith('word/media/'))),
    core: part('docProps/core.xml'),
    header: optional('word/header1.xml'),
    footer: optional('word/footer1.xml'),
  };
};

/** The value of a property: `w:val` of an element, or true when it is there without one. */
export const valueOf = (xml: Xml, name: string, attribute = 'w:val'): string | boolean | undefined => {
  const [found] = all(xml, name);
  return found === undefined ? undefined : (found.attributes[attribute] ?? true);
};
