import type { Token, Tokenizer, TokenizerMode } from 'parse5';
import type { TimeSlice } from '../../basics/concurrency/time-slice.ts';
import { InvalidParametersError } from '../../errors/errors.ts';
import { importOptional } from '../../errors/optional-package.ts';

export interface TagAttribute {
  /** Without its character references. */
  readonly value: string;
  /** Where the value begins and ends in the text, without quotes. */
  readonly start: number;
  readonly end: number;
  readonly quote: '"' | "'" | '';
}

/** A start tag with its attributes by their names in lower case. */
export interface Tag {
  readonly name: string;
  readonly attributes: ReadonlyMap<string, TagAttribute>;
}

/** Characters of a text: 10 MB and some more. */
const MOST_LENGTH = 16 * 1024 * 1024;
/** So much is parsed between two turns of the event loop: some milliseconds. */
const STRETCH = 64 * 1024;

/** Elements whose content is text, without comments and tags; `script` and `plaintext` have rules of their own. */
const RAW: ReadonlySet<string> = new Set(['style', 'xmp', 'iframe', 'noembed', 'noframes']);
const REPLACEABLE: ReadonlySet<string> = new Set(['textarea', 'title']);
/** Inside them no element's content is raw. */
const FOREIGN: ReadonlySet<string> = new Set(['svg', 'math']);

/** Where the value of an attribute stands. Undefined: it has none. */
const attributeAt = (
  html: string,
  { name, value }: Token.Attribute,
  at: Token.Location | undefined,
): TagAttribute | undefined => {
  if (at === undefined) return undefined;
  const named = at.startOffset + name.length;
  const equals = html.slice(named, at.endOffset).indexOf('=');
  if (equals === -1) return undefined;
  let start = named + equals + 1;
  while (start < at.endOffset && /\s/u.test(html.charAt(start))) start += 1;
  const first = html.charAt(start);
  if (first !== '"' && first !== "'") return { value, start, end: at.endOffset, quote: '' };
  return { value, start: start + 1, end: at.endOffset - 1, quote: first };
};

const tagOf = (html: string, { tagName, attrs, location }: Token.TagToken): Tag => {
  const attributes = new Map<string, TagAttribute>();
  for (const attribute of attrs) {
    const found = attributeAt(html, attribute, location?.attrs?.[attribute.name]);
    if (found !== undefined) attributes.set(attribute.name, found);
  }
  return { name: tagName, attributes };
};

/** Loads the parser at its first use. @throws UnsupportedError without the package parse5 */
export type LoadParser = () => Promise<{
  readonly Tokenizer: typeof Tokenizer;
  readonly TokenizerMode: typeof TokenizerMode;
}>;

export const createParserLoader = (): LoadParser => {
  let parser: ReturnType<LoadParser> | undefined;
  return () => (parser ??= importOptional('Reading the links of a text', 'parse5', () => import('parse5')));
};

/**
 * The start tags of a text that have attributes, as browsers find them, in pieces between which others run.
 * Comments, scripts, styles and the text of `textarea` and `title` hold none; `noscript` holds what readers
 * without scripts see. Linear in the length of the text.
 * @throws InvalidParametersError for too long a text; UnsupportedError without the package parse5
 */
export async function* tagsOf(
  html: string,
  loadParser: LoadParser,
  slice: TimeSlice,
): AsyncGenerator<readonly Tag[]> {
  if (html.length > MOST_LENGTH)
    throw new InvalidParametersError(`html: must have at most ${String(MOST_LENGTH)} characters`);
  const parser = await loadParser();
  let tags: Tag[] = [];
  let foreignDepth = 0;
  const ignore = (): void => undefined;
  const enter = (name: string): void => {
    if (name === 'script') tokenizer.state = parser.TokenizerMode.SCRIPT_DATA;
    else if (name === 'plaintext') tokenizer.state = parser.TokenizerMode.PLAINTEXT;
    else if (RAW.has(name)) tokenizer.state = parser.TokenizerMode.RAWTEXT;
    else if (REPLACEABLE.has(name)) tokenizer.state = parser.TokenizerMode.RCDATA;
  };
  const turnForeign = (step: number): void => {
    foreignDepth = Math.max(0, foreignDepth + step);
    tokenizer.inForeignNode = foreignDepth > 0;
  };
  const tokenizer = new parser.Tokenizer(
    { sourceCodeLocationInfo: true },
    {
      onStartTag: (token) => {
        if (token.attrs.length > 0) tags.push(tagOf(html, token));
        if (FOREIGN.has(token.tagName)) turnForeign(token.selfClosing ? 0 : 1);
        else if (foreignDepth === 0) enter(token.tagName);
      },
      onEndTag: ({ tagName }) => {
        if (FOREIGN.has(tagName)) turnForeign(-1);
      },
      onComment: ignore,
      onDoctype: ignore,
      onEof: ignore,
      onCharacter: ignore,
      onNullCharacter: ignore,
      onWhitespaceCharacter: ignore,
    },
  );
  for (let start = 0; start < html.length; start += STRETCH) {
    if (slice.due) await slice.rest();
    tokenizer.write(html.slice(start, start + STRETCH), start + STRETCH >= html.length);
    if (tags.length > 0) yield tags;
    tags = [];
  }
}
