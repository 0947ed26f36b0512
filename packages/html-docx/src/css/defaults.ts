import { parseDeclarations, type Declaration } from './declarations.ts';

/** Default styles of elements: the part of the HTML standard's style sheet that applies to paper. */
const RULES: readonly (readonly [tags: string, body: string])[] = [
  [
    'html body address article aside details dialog dd div dl dt fieldset figcaption figure footer form header hgroup legend main ' +
      'nav optgroup option search section summary center p h1 h2 h3 h4 h5 h6 blockquote pre hr ul ol menu dir',
    'display: block',
  ],
  ['p dl', 'margin: 1em 0'],
  ['h1', 'font-size: 2em; font-weight: bold; margin: .67em 0'],
  ['h2', 'font-size: 1.5em; font-weight: bold; margin: .83em 0'],
  ['h3', 'font-size: 1.17em; font-weight: bold; margin: 1em 0'],
  ['h4', 'font-weight: bold; margin: 1.33em 0'],
  ['h5', 'font-size: .83em; font-weight: bold; margin: 1.67em 0'],
  ['h6', 'font-size: .67em; font-weight: bold; margin: 2.33em 0'],
  ['blockquote figure', 'margin: 1em 40px'],
  ['dd', 'margin-left: 40px'],
  ['ul ol menu dir', 'margin: 1em 0'],
  ['ul menu dir', 'list-style-type: disc'],
  ['ol', 'list-style-type: decimal'],
  ['li', 'display: list-item'],
  [
    'pre xmp listing plaintext',
    'display: block; white-space: pre; font-family: monospace; font-size: .9em; margin: 1em 0',
  ],
  ['code kbd samp tt', 'font-family: monospace; font-size: .9em'],
  ['b strong th dt', 'font-weight: bold'],
  ['i em cite var dfn address', 'font-style: italic'],
  ['u ins', 'text-decoration: underline'],
  ['s strike del', 'text-decoration: line-through'],
  ['mark', 'background-color: yellow'],
  ['small', 'font-size: smaller'],
  ['big', 'font-size: larger'],
  ['sub', 'vertical-align: sub; font-size: smaller'],
  ['sup', 'vertical-align: super; font-size: smaller'],
  ['center', 'text-align: -webkit-center'],
  ['table', 'display: table; text-indent: 0'],
  ['caption', 'display: table-caption; text-align: center'],
  ['thead', 'display: table-header-group'],
  ['tbody', 'display: table-row-group'],
  ['tfoot', 'display: table-footer-group'],
  ['tr', 'display: table-row'],
  ['td th', 'display: table-cell; padding: 1.5pt 5pt; vertical-align: middle'],
  ['th', 'text-align: center'],
  ['col', 'display: table-column'],
  ['colgroup', 'display: table-column-group'],
  ['head noframes noembed', 'display: none'],
  ['rt', 'font-size: 50%'],
];

const byTag = new Map<string, readonly Declaration[]>();
for (const [tags, body] of RULES) {
  const declarations = parseDeclarations(body);
  for (const tag of tags.split(' ')) byTag.set(tag, [...(byTag.get(tag) ?? []), ...declarations]);
}

export const defaultDeclarations = (tag: string): readonly Declaration[] => byTag.get(tag) ?? [];
