import { initialStyle } from '../css/style.ts';
import { withoutInvalid } from '../xml-text.ts';
import { paragraphIn, topContext } from './block-context.ts';
import { textFormat } from './inline-text.ts';
import type { Inline, ParagraphBlock } from './model.ts';

/** A header or footer: text, and fields for page number, number of pages and title. */
export interface PageLine {
  readonly parts: readonly (string | { readonly field: 'page' | 'pages' | 'title' })[];
  readonly align: 'left' | 'center' | 'right';
}

/** Font size in points. */
const SIZE = 9;
/** Space above and below, in points. */
const SPACE = 8;
/** Maximum length of the title in characters. */
const MAX_TITLE = 200;

/** Height of a one-line header or footer with its distances, in points. */
export const TAKEN = 48;

/** The paragraph of a header or footer. */
export const pageLine = ({ parts, align }: PageLine, title = ''): ParagraphBlock => {
  const format = { ...textFormat(initialStyle), size: SIZE };
  const inline = (part: PageLine['parts'][number]): Inline => {
    if (typeof part !== 'string' && part.field !== 'title') return { kind: 'number', of: part.field, format };
    const text = typeof part === 'string' ? part : [...title].slice(0, MAX_TITLE).join('');
    return { kind: 'text', text: withoutInvalid(text.replaceAll(/\s+/gu, ' ')), format, link: undefined };
  };
  const context = topContext({ ...initialStyle, align }, 0);
  return { ...paragraphIn(context, parts.map(inline)), before: SPACE, after: SPACE };
};
