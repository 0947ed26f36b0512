import type { Readable } from 'node:stream';
import type { SaxesTagNS } from 'saxes';
import { TypeNotAllowedError } from '../../errors/errors.ts';
import { createStrictParser, parseXml, SVG_NAMESPACE, XLINK_NAMESPACE, xmlBudget } from './strict-xml.ts';

/** Elements of these draw, link and run scripts in browsers, wherever they stand in a document. */
const ACTIVE_NAMESPACES = new Set([
  SVG_NAMESPACE,
  'http://www.w3.org/1999/xhtml',
  'http://www.w3.org/1998/Math/MathML',
]);
const SCRIPT_URL = /^[\s\p{Cc}]*(?:java|vb|live)script:/iu;
/**
 * What may stand inside a document type without giving elements other content or attributes, one after the
 * other.
 */
const HARMLESS_DECLARATION =
  /\s+|<!--[\s\S]*?-->|<!ELEMENT\s[^<>%]*>|<!ENTITY\s+[\w.:-]+\s+(?:"[^"&<%]*"|'[^'&<%]*')\s*>/guy;
/**
 * Of a file of any size: elements, and bytes without a tag, which the parser keeps. Data may have pictures in
 * its text.
 */
const LIMITS = { items: 20_000_000, bytes: 64 * 1024 * 1024 };

const notAllowed = (): TypeNotAllowedError =>
  new TypeNotAllowedError('XML files that browsers show as a page are not allowed.');

/** @throws TypeNotAllowedError when declarations inside the document could hide elements or namespaces */
const checkDoctype = (text: string): void => {
  const open = text.indexOf('[');
  if (open < 0) return;
  const declarations = text.slice(open + 1, text.lastIndexOf(']'));
  // Up to the first that is not harmless, and never from within one: each character is looked at once.
  let end = 0;
  for (const [declaration] of declarations.matchAll(HARMLESS_DECLARATION)) end += declaration.length;
  if (end < declarations.length) throw notAllowed();
};

const isActive = ({ uri, attributes }: SaxesTagNS): boolean =>
  ACTIVE_NAMESPACES.has(uri) ||
  Object.values(attributes).some(
    (given) => given.uri === XLINK_NAMESPACE && given.local === 'href' && SCRIPT_URL.test(given.value),
  );

/**
 * Finds out what an XML file is: a drawing, or data. The stream is destroyed on every way out.
 * @throws TypeNotAllowedError for pages (XHTML, or drawings inside of something else) and for data with a
 *   style sheet, which browsers show and run; BrokenImageError for malformed XML, of which browsers show the
 *   part before the mistake
 */
export const checkXml = async (content: Readable): Promise<'drawing' | 'data'> => {
  let isDrawing = false;
  let isRoot = true;
  const budget = xmlBudget(LIMITS);
  const parser = createStrictParser(budget, { doctype: checkDoctype });
  parser.on('processinginstruction', ({ target }) => {
    if (target.toLowerCase() === 'xml-stylesheet') throw notAllowed();
  });
  parser.on('opentag', (tag) => {
    if (isRoot) isDrawing = tag.uri === SVG_NAMESPACE && tag.local === 'svg';
    isRoot = false;
    if (!isDrawing && isActive(tag)) throw notAllowed();
  });
  await parseXml(parser, budget, content as AsyncIterable<Buffer>);
  return isDrawing ? 'drawing' : 'data';
};
