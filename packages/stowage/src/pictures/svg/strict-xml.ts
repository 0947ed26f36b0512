import type { Readable } from 'node:stream';
import { setImmediate as yieldToLoop } from 'node:timers/promises';
import { SaxesParser, type SaxesTagNS } from 'saxes';
import { ParseBudget } from '../../basics/content/parse-budget.ts';
import { BrokenImageError, orUndefined, TypeNotAllowedError } from '../../errors/errors.ts';

export const SVG_NAMESPACE = 'http://www.w3.org/2000/svg';
export const XLINK_NAMESPACE = 'http://www.w3.org/1999/xlink';
export const XML_NAMESPACE = 'http://www.w3.org/XML/1998/namespace';

type XmlParser = SaxesParser<{ xmlns: true }>;

/** Bytes that are parsed before yielding to the event loop: some milliseconds of work. */
const BYTES_PER_SLICE = 32 * 1024;
/** The parser collects all attributes of an element, and processes them synchronously. */
const MAX_ATTRIBUTES = 1000;

/** Deeper documents are attacks on their readers. The cost of each tag grows with the number of open ones. */
const MAX_DEPTH = 256;
/** Programs write some hundred characters. */
const MAX_DOCTYPE_LENGTH = 16 * 1024;

const MAX_ENTITIES = 32;
const MAX_ENTITY_LENGTH = 256;
/** Maximum number of characters from all uses of a document's own entities. */
const MAX_EXPANSION = 64 * 1024;
const ENTITY = /<!ENTITY\s+([\w.:-]+)\s+(?:"([^"&<%]*)"|'([^'&<%]*)')\s*>/gu;

export const malformed = (detail: string): BrokenImageError =>
  new BrokenImageError({ message: 'The file is malformed XML.', detail });

/** Budget of a document: elements, and bytes without a start or end tag, which the parser buffers. */
export const xmlBudget = (limits: { readonly items: number; readonly bytes: number }): ParseBudget =>
  new ParseBudget({ ...limits, depth: MAX_DEPTH }, (limit) => malformed(`too much of it: ${limit}`));

/** Declares entities that stand for plain text: Illustrator uses them for namespaces. */
const declareEntities = (parser: XmlParser, doctype: string): void => {
  let left = MAX_EXPANSION;
  let count = 0;
  for (const [, name = '', double, single] of doctype.matchAll(ENTITY)) {
    const value = double ?? single ?? '';
    count += 1;
    if (count > MAX_ENTITIES || value.length > MAX_ENTITY_LENGTH) return;
    if (name in parser.ENTITIES) continue;
    Object.defineProperty(parser.ENTITIES, name, {
      get: () => {
        left -= value.length;
        if (left < 0) throw malformed('entities stand for too much text');
        return value;
      },
    });
  }
};

interface StrictHandlers {
  /** Called with the document type, if there is one. */
  readonly doctype?: (text: string) => void;
  readonly closetag?: (tag: SaxesTagNS) => void;
}

/**
 * A parser that rejects documents that are not well-formed, exceed the budget or have elements with very many
 * attributes. Entities of the document are known only if they stand for short plain text.
 */
export const createStrictParser = (budget: ParseBudget, handlers: StrictHandlers = {}): XmlParser => {
  const parser: XmlParser = new SaxesParser({ xmlns: true });
  let attributes = 0;
  parser.on('error', (error) => {
    throw malformed(error.message);
  });
  parser.on('doctype', (text) => {
    if (text.length > MAX_DOCTYPE_LENGTH) throw malformed('a document type that is too long');
    handlers.doctype?.(text);
    declareEntities(parser, text);
  });
  // Called before the parser resolves the namespaces of the element.
  parser.on('opentagstart', () => {
    attributes = 0;
    budget.spendItems();
    budget.enter();
    budget.freeBytes();
  });
  parser.on('closetag', (tag) => {
    budget.leave();
    budget.freeBytes();
    handlers.closetag?.(tag);
  });
  // Called while the tag is being parsed, before the parser processes all attributes together.
  parser.on('attribute', () => {
    attributes += 1;
    if (attributes > MAX_ATTRIBUTES) throw malformed('an element of too many attributes');
  });
  return parser;
};

const DECLARED = /^<\?xml[^>]*?\sencoding\s*=\s*["']([\w.:-]+)["']/u;
/** Bytes that may contain a byte order mark, or the declaration of the encoding. */
const HEAD_BYTES = 256;

/** @throws RangeError for an unknown encoding */
const encodingOf = (head: Buffer): string => {
  if (head[0] === 0xff && head[1] === 0xfe) return 'utf-16le';
  if (head[0] === 0xfe && head[1] === 0xff) return 'utf-16be';
  if (head[0] === 0xef && head[1] === 0xbb && head[2] === 0xbf) return 'utf-8';
  const declared = DECLARED.exec(head.toString('latin1', 0, HEAD_BYTES))?.[1] ?? 'utf-8';
  const { encoding } = new TextDecoder(declared);
  // A declaration in single bytes is not in UTF-16: .NET declares that in files of any encoding.
  return encoding.startsWith('utf-16') ? 'utf-8' : encoding;
};

/**
 * Decodes the beginning of a document by its byte order mark or declared encoding, else as UTF-8. A truncated
 * character at the end is dropped. Undefined for unknown encodings and invalid bytes.
 */
export const textOf = (beginning: Buffer): string | undefined =>
  orUndefined(() =>
    new TextDecoder(encodingOf(beginning), { fatal: true }).decode(beginning, { stream: true }),
  );

const unreadable = (cause: unknown): BrokenImageError =>
  new BrokenImageError({ message: 'The text of the XML file could not be read.', cause });

/** Splits content into portions; the first one contains the whole head. */
async function* portions(content: AsyncIterable<Buffer> | Iterable<Buffer>): AsyncGenerator<Buffer> {
  let head: Buffer = Buffer.alloc(0);
  let hasHead = false;
  for await (const chunk of content) {
    const bytes: Buffer = hasHead ? chunk : Buffer.concat([head, chunk]);
    if (bytes.length < HEAD_BYTES && !hasHead) {
      head = bytes;
      continue;
    }
    hasHead = true;
    for (let at = 0; at < bytes.length; at += BYTES_PER_SLICE) yield bytes.subarray(at, at + BYTES_PER_SLICE);
  }
  if (!hasHead) yield head;
}

/**
 * Parses a whole document by its byte order mark or declared encoding, else as UTF-8. Yields to the event
 * loop. `budget` is that of the parser.
 * @throws BrokenImageError for unknown encodings, invalid bytes, and content that the parser rejects
 */
export const parseXml = async (
  parser: XmlParser,
  budget: ParseBudget,
  content: AsyncIterable<Buffer> | Iterable<Buffer>,
): Promise<void> => {
  let decoder: InstanceType<typeof TextDecoder> | undefined;
  const decode = (bytes: Buffer, isLast: boolean): string => {
    try {
      decoder ??= new TextDecoder(encodingOf(bytes), { fatal: true });
      return decoder.decode(bytes, { stream: !isLast });
    } catch (error) {
      throw unreadable(error);
    }
  };
  for await (const bytes of portions(content)) {
    budget.spendBytes(bytes.length);
    parser.write(decode(bytes, false));
    await yieldToLoop();
  }
  parser.write(decode(Buffer.alloc(0), true));
  parser.close();
};

/** Elements of these namespaces draw, link and run scripts in browsers, anywhere in a document. */
const ACTIVE_NAMESPACES = new Set([
  SVG_NAMESPACE,
  'http://www.w3.org/1999/xhtml',
  'http://www.w3.org/1998/Math/MathML',
]);
const SCRIPT_URL = /^[\s\p{Cc}]*(?:java|vb|live)script:/iu;
/** Declarations that do not change the content or attributes of elements, matched consecutively. */
const HARMLESS_DECLARATION =
  /\s+|<!--[\s\S]*?-->|<!ELEMENT\s[^<>%]*>|<!ENTITY\s+[\w.:-]+\s+(?:"[^"&<%]*"|'[^'&<%]*')\s*>/guy;
/** Budget of a file of any size: elements, and buffered bytes without a tag, such as pictures as text. */
const LIMITS = { items: 20_000_000, bytes: 64 * 1024 * 1024 };

const notAllowed = (): TypeNotAllowedError =>
  new TypeNotAllowedError('XML files that browsers show as a page are not allowed.');

/** @throws TypeNotAllowedError when declarations inside the document could hide elements or namespaces */
const checkDoctype = (text: string): void => {
  const open = text.indexOf('[');
  if (open < 0) return;
  const declarations = text.slice(open + 1, text.lastIndexOf(']'));
  // Up to the first declaration that is not harmless, and never from within one: each character is matched
  // once.
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
 * Determines whether an XML file is a drawing or data. The stream is destroyed in every case.
 * @throws TypeNotAllowedError for pages (XHTML, or drawings inside other elements) and for data with a style
 *   sheet, which browsers show and run; BrokenImageError for malformed XML, of which browsers show the part
 *   before the error
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
