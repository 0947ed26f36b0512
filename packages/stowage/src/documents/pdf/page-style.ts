import { DocumentLimitError } from '../../errors/errors.ts';
import {
  alignments,
  isSizeChosen,
  leavesRoom,
  pageSizeOf,
  type LinePart,
  type Margins,
  type PageLine,
  type PageSetup,
} from '../page-setup.ts';

/** Default margin: 15 mm. */
export const MARGIN = (15 * 72) / 25.4;
/** Font size of headers and footers, in points. */
const LETTER = 9;
const LINE = 1.3 * LETTER;
/** Distance between a header or footer and both the paper edge and the text. */
const GAP = 11;
/** Width of the narrowest paper that a document may choose and on which a long line still fits: A6. */
const NARROW = (105 * 72) / 25.4;
/** Maximum length of the document's title in a line, in characters. */
const MAX_TITLE = 200;

/** Properties of the loaded document that its lines depend on. */
export interface LoadedFacts {
  readonly title: string;
  /** Whether `@page` rules of the document may choose the paper size. */
  readonly mayChooseSize: boolean;
}

/** Escapes everything but letters and digits, so that no text can end the CSS string. */
const quoted = (text: string): string => {
  const chars = [...text].map((char) =>
    /[\p{L}\p{Nd}]/u.test(char) ? char : `\\${(char.codePointAt(0) ?? 0).toString(16)} `,
  );
  return `"${chars.join('')}"`;
};

const shortened = (title: string): string => [...title].slice(0, MAX_TITLE).join('');

const contentOf = (part: LinePart, title: string): string => {
  if (typeof part === 'string') return quoted(part);
  return part.field === 'title' ? quoted(shortened(title)) : `counter(${part.field})`;
};

/** Estimates the number of lines, rather too high: without font metrics, and with unbroken words. */
const linesOf = ({ parts }: PageLine, title: string, width: number): number => {
  const text = parts
    .map((part) => (typeof part === 'string' ? part : part.field === 'title' ? shortened(title) : '00000'))
    .join('');
  const letters = [...text].reduce((sum, char) => sum + (char < '\u1100' ? 0.75 : 1.02), 0);
  const length = letters * LETTER;
  return length <= width ? 1 : Math.ceil((1.2 * length) / width);
};

const important = (declarations: Readonly<Record<string, string>>): string =>
  Object.entries(declarations)
    .map(([property, value]) => `${property}: ${value} !important`)
    .join('; ');

const APPEARANCE = {
  font: `${LETTER}pt/${LINE}pt sans-serif`,
  color: '#000',
  background: 'none',
  border: 'none',
  margin: '0',
  padding: '0',
  'white-space': 'normal',
  'overflow-wrap': 'anywhere',
  'unicode-bidi': 'plaintext',
  'vertical-align': 'middle',
};

/** The margin boxes at one edge: ours contains the line, and the document's own beside it are cleared. */
const boxesOf = (edge: 'top' | 'bottom', line: PageLine | undefined, title: string): string => {
  if (line === undefined) return '';
  const content = line.parts.map((part) => contentOf(part, title)).join(' ');
  return alignments
    .map((align) => {
      const isOurs = align === line.align;
      const style = isOurs ? { content, ...APPEARANCE, 'text-align': align } : { content: 'none' };
      return `@${edge}-${align} { ${important(style)} }`;
    })
    .join(' ');
};

/** In a layer, so that every rule of the document overrides it. Otherwise long lines are cut off. */
const FITTING = '@layer { html { overflow-wrap: break-word } pre { white-space: pre-wrap } }';

const ownMargin = ({ margin }: PageSetup): Margins =>
  margin ?? { top: MARGIN, right: MARGIN, bottom: MARGIN, left: MARGIN };

/** Width between the margins in points, unless the document chooses another. */
export const textWidth = (setup: PageSetup): number => {
  const { left, right } = ownMargin(setup);
  return Math.max(1, pageSizeOf(setup).width - left - right);
};

/** Enlarges margins where a header or footer needs more space. */
const grownMargins = (setup: PageSetup, { title, mayChooseSize }: LoadedFacts): Margins => {
  const margin = ownMargin(setup);
  const size = pageSizeOf(setup);
  const width = (isSizeChosen(setup) || !mayChooseSize ? size.width : NARROW) - margin.left - margin.right;
  const needed = (line: PageLine | undefined): number =>
    line === undefined ? 0 : linesOf(line, title, Math.max(width, LETTER)) * LINE + 2 * GAP;
  const grown = {
    ...margin,
    top: Math.max(margin.top, needed(setup.header)),
    bottom: Math.max(margin.bottom, needed(setup.footer)),
  };
  if (leavesRoom(size, grown)) return grown;
  throw new DocumentLimitError('The margins, header and footer leave no room for the text.');
};

/**
 * CSS rules: for the requested pages, which override the document's own, and for the lines, which do not.
 * @throws DocumentLimitError when header and footer leave no room for text
 */
export const pageStyle = (setup: PageSetup, facts: LoadedFacts): string => {
  const { header, footer, margin } = setup;
  const rules: string[] = [];
  if (isSizeChosen(setup)) {
    const { width, height } = pageSizeOf(setup);
    rules.push(important({ size: `${width}pt ${height}pt` }));
  }
  if (margin !== undefined || header !== undefined || footer !== undefined) {
    const { top, right, bottom, left } = grownMargins(setup, facts);
    rules.push(important({ margin: [top, right, bottom, left].map((side) => `${side}pt`).join(' ') }));
  }
  if (rules.length === 0) return FITTING;
  const boxes = [boxesOf('top', header, facts.title), boxesOf('bottom', footer, facts.title)];
  return `${FITTING} @page { ${rules.join('; ')}; ${boxes.join(' ')} }`;
};
