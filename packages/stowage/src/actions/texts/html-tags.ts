import type { Token, Tokenizer, TokenizerMode } from 'parse5';
import type { TimeSlice } from '../../basics/concurrency/time-slice.ts';
import { InvalidParametersError } from '../../errors/errors.ts';
import { importOptional } from '../../errors/optional-package.ts';
import type { Tag, TagAttribute } from './link-attributes.ts';

/** Maximum length of a text in characters: 10 MB and a margin. */
const MOST_LENGTH = 16 * 1024 * 1024;
/** Characters that are parsed before yielding to the event loop: some milliseconds. */
const STRETCH = 64 * 1024;

/** Elements of raw text without comments and tags; `script` and `plaintext` have their own rules. */
const RAW: ReadonlySet<string> = new Set(['style', 'xmp', 'iframe', 'noembed', 'noframes']);
const REPLACEABLE: ReadonlySet<string> = new Set(['textarea', 'title']);
/** Inside these no element has raw content. */
const FOREIGN: ReadonlySet<string> = new Set(['svg', 'math']);

/** Position of an attribute's value; undefined without one. */
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

export const loadParser: LoadParser = () =>
  importOptional('Reading the links of a text', 'parse5', () => import('parse5'));

/**
 * The start tags of a text that have attributes, as browsers parse them; yields to the event loop in between.
 * Comments, scripts, styles and the text of `textarea` and `title` contain no tags; the content of `noscript`
 * is parsed as for readers without scripts. Linear in the length of the text.
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
