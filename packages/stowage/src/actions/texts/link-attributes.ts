export interface TagAttribute {
  /** Value with its character references decoded. */
  readonly value: string;
  /** Offsets of the value in the text, without quotes. */
  readonly start: number;
  readonly end: number;
  readonly quote: '"' | "'" | '';
}

/** A start tag with its attributes by their names in lower case. */
export interface Tag {
  readonly name: string;
  readonly attributes: ReadonlyMap<string, TagAttribute>;
}

type Reading = 'url' | 'srcset' | 'css' | 'refresh';

const tags = (names: string): ReadonlySet<string> => new Set(names.split(' '));

/** Attributes that link to files, and their elements. */
const ATTRIBUTES: ReadonlyMap<string, ReadonlySet<string>> = new Map([
  ['background', tags('body table tbody td tfoot th thead tr')],
  ['content', tags('meta')],
  ['data', tags('object')],
  ['href', tags('a area feimage image link use')],
  ['imagesrcset', tags('link')],
  ['poster', tags('video')],
  ['src', tags('audio embed iframe image img input source track video')],
  ['srcset', tags('img source')],
  ['xlink:href', tags('a feimage image use')],
]);

/** Undefined for an attribute without links. Scripts that load pictures late use `data-src` and the like. */
const readingOf = (tag: string, name: string): Reading | undefined => {
  if (name === 'style') return 'css';
  if (ATTRIBUTES.get(name)?.has(tag) !== true && !name.startsWith('data-')) return undefined;
  if (name === 'content') return 'refresh';
  return name.endsWith('srcset') ? 'srcset' : 'url';
};

/** Longer values are skipped: they are embedded pictures. */
const MOST_UNITS = 64 * 1024;

interface Piece {
  readonly start: number;
  readonly end: number;
}

const BLANKS = /\s*/uy;
const BLANKS_AND_COMMAS = /[\s,]*/uy;
const ADDRESS = /\S*/uy;
const DESCRIPTORS = /(?:[^,(]|\([^)]*\)?)*/uy;

/** The end of the match of a sticky expression at a position; an empty match is possible. */
const after = (text: string, from: number, sticky: RegExp): number => {
  sticky.lastIndex = from;
  return from + (sticky.exec(text)?.[0].length ?? 0);
};

/** The addresses of a `srcset`, split as browsers do. */
const candidatesOf = (text: string): Piece[] => {
  const pieces: Piece[] = [];
  for (let position = 0; ;) {
    const start = after(text, position, BLANKS_AND_COMMAS);
    if (start === text.length) return pieces;
    const next = after(text, start, ADDRESS);
    let end = next;
    while (text[end - 1] === ',') end -= 1;
    pieces.push({ start, end });
    // A comma at the end of the URL ends the candidate; otherwise its descriptors follow.
    position = end < next ? next : after(text, next, DESCRIPTORS);
  }
};

/** The delay before the address of `<meta http-equiv="refresh">`; nothing before that of a picture. */
const DELAY = /^\s*(?:\d[\d.]*[\s;,]*(?:url\s*=\s*)?)?(["']?)/iu;

const CSS_URL = /(url\(\s*)(?:"([^"\\]*)"|'([^'\\]*)'|([^\s"'()\\]+))\s*\)/giu;

const piecesOf = (text: string, reading: Reading): Piece[] => {
  if (reading === 'srcset') return candidatesOf(text);
  if (reading === 'css')
    return [...text.matchAll(CSS_URL)].map(
      ({ index, 1: before = '', 2: double, 3: single, 4: bare = '' }) => {
        const quoted = double ?? single;
        const start = index + before.length + (quoted === undefined ? 0 : 1);
        return { start, end: start + (quoted ?? bare).length };
      },
    );
  if (reading === 'refresh') {
    const [{ length: start } = '', quote = ''] = DELAY.exec(text) ?? [];
    const end = quote === '' ? -1 : text.indexOf(quote, start);
    return [{ start, end: end === -1 ? text.trimEnd().length : end }];
  }
  return [{ start: after(text, 0, BLANKS), end: text.trimEnd().length }];
};

const slice = (text: string, { start, end }: Piece): string => text.slice(start, end);

export interface Edit extends Piece {
  readonly text: string;
}

const applied = (text: string, edits: readonly Edit[]): string => {
  const parts: string[] = [];
  let position = 0;
  for (const { start, end, text: other } of edits) {
    parts.push(text.slice(position, start), other);
    position = end;
  }
  return parts.join('') + text.slice(position);
};

/** Escapes a text for an attribute value; harmless with any quotes, and where no tag is parsed. */
const escaped = (text: string, quote: TagAttribute['quote']): string =>
  text.replaceAll(quote === '' ? /[&<>"'`\s]/gu : /[&<>"'`]/gu, (unit) =>
    unit === '&' ? '&amp;' : `&#${String(unit.charCodeAt(0))};`,
  );

/** Escapes the characters of a link that would end a `url()`, whatever its quotes. */
const inCss = (url: string): string =>
  url.replaceAll(/['()]/gu, (unit) => `%${unit.charCodeAt(0).toString(16)}`);

export interface LinkAttribute extends TagAttribute {
  readonly reading: Reading;
  readonly pieces: readonly Piece[];
}

/** The attributes of a tag that contain links, in the order of the text, regardless of their targets. */
export const linkAttributesOf = ({ name: tag, attributes }: Tag): readonly LinkAttribute[] => {
  const found: LinkAttribute[] = [];
  for (const [name, attribute] of attributes) {
    const reading = readingOf(tag, name);
    const { value } = attribute;
    if (reading !== undefined && value.length <= MOST_UNITS)
      found.push({ ...attribute, reading, pieces: piecesOf(value, reading) });
  }
  return found;
};

export const linksOf = ({ value, pieces }: LinkAttribute): readonly string[] =>
  pieces.map((piece) => slice(value, piece));

const AMPERSAND = /&(?:amp|#0*38|#x0*26);/iuy;
/** Text that parsers replace by other characters: references and line ends. */
const REFERENCE = /&(?:#\d+|#x[\da-f]+|[a-z][a-z\d]*);?|\r\n?/iuy;

/** Where each unit of a value, and its end, is in the text; undefined where references obscure that. */
const offsetsOf = (raw: string, value: string): readonly number[] | undefined => {
  const offsets = [0];
  let at = 0;
  for (const unit of value.split('')) {
    const end = unit === '&' ? after(raw, at, AMPERSAND) : at;
    const next = end === at && raw[at] === unit ? at + 1 : Math.max(end, after(raw, at, REFERENCE));
    if (next === at) return undefined;
    at = next;
    offsets.push(at);
  }
  return at === raw.length ? offsets : undefined;
};

/** Replaces links in one attribute. All else keeps every byte. */
export const editAttribute = (
  html: string,
  { value, start, end, quote, pieces, reading }: LinkAttribute,
  addressOf: (url: string) => string,
): readonly Edit[] => {
  const edits = pieces.flatMap((piece) => {
    const old = slice(value, piece);
    const text = addressOf(old);
    return text === old ? [] : [{ ...piece, text: reading === 'css' ? inCss(text) : text }];
  });
  if (edits.length === 0) return [];
  const offsets = offsetsOf(html.slice(start, end), value);
  if (offsets === undefined) return [{ start, end, text: escaped(applied(value, edits), quote) }];
  const at = (index: number): number => start + (offsets[index] ?? 0);
  return edits.map((edit) => ({ start: at(edit.start), end: at(edit.end), text: escaped(edit.text, quote) }));
};

/** Inserts attributes after an existing one, with the same quotes. */
export const addAttributes = (
  { end, quote }: TagAttribute,
  added: Readonly<Record<string, string>>,
): readonly Edit[] => {
  const at = end + quote.length;
  const text = Object.entries(added)
    .map(([name, value]) => ` ${name}=${quote}${escaped(value, quote)}${quote}`)
    .join('');
  return text === '' ? [] : [{ start: at, end: at, text }];
};

/** Applies edits to a text; they must not overlap, and may come in any order. */
export const edited = (html: string, edits: readonly Edit[]): string =>
  applied(
    html,
    [...edits].sort((one, other) => one.start - other.start),
  );
