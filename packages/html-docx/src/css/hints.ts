import { autoDirection } from '../html/direction.ts';
import type { Located } from './selector.ts';
import { valueIn } from '../value-in.ts';

/** Sizes 1 to 7 of `<font size>`. */
const FONT_SIZES = ['10px', '13px', '16px', '18px', '24px', '32px', '48px'];

const fontSize = (text: string): string | undefined => {
  const match = /^\s*([+-]?)(\d+)/u.exec(text);
  if (match === null) return undefined;
  const number = Number(match[2]);
  const size = match[1] === '' ? number : 3 + (match[1] === '-' ? -number : number);
  return FONT_SIZES[Math.min(7, Math.max(1, size)) - 1];
};

const LIST_TYPES: Readonly<Record<string, string>> = {
  '1': 'decimal',
  a: 'lower-alpha',
  A: 'upper-alpha',
  i: 'lower-roman',
  I: 'upper-roman',
};

/** Declarations for a cell from attributes of its table. */
const cellHints = (cell: Located): string[] => {
  let table: Located | undefined = cell.parent;
  while (table !== undefined && table.node.tag !== 'table') table = table.parent;
  const number = (name: string): number => Number.parseFloat(table?.node.attributes.get(name) ?? '');
  const hints: string[] = [];
  // `border` without a number counts as 1.
  if (table?.node.attributes.get('border') === '' || number('border') > 0) {
    hints.push('border:1px solid #808080');
  }
  if (number('cellpadding') >= 0) hints.push(`padding:${number('cellpadding')}px`);
  return hints;
};

/** Bullets by the depth of a list. */
const MARKS = ['disc', 'circle', 'square'];

/** Nested lists have no margins, and other bullets. */
const listHints = (list: Located): string[] => {
  let depth = 0;
  for (let at = list.parent; at !== undefined; at = at.parent) if (/^[uo]l$/u.test(at.node.tag)) depth += 1;
  const hints = depth === 0 ? [] : ['margin:0'];
  return list.node.tag === 'ul'
    ? [...hints, `list-style-type:${MARKS[Math.min(depth, 2)] ?? 'disc'}`]
    : hints;
};

/** Elements with width and height attributes. */
const SIZED: ReadonlySet<string> = new Set([
  'table',
  'td',
  'th',
  'col',
  'colgroup',
  'img',
  'svg',
  'hr',
  'tr',
]);
/** Elements that `align` moves as a whole; in others it aligns the text. */
const MOVED: Readonly<Record<string, (align: string) => string>> = {
  table: (align) => (align === 'center' ? 'margin-left:auto;margin-right:auto' : `float:${align}`),
  hr: () => '',
  img: (align) => (/^(?:left|right)$/u.test(align) ? `float:${align}` : `vertical-align:${align}`),
};

/**
 * Converts attributes such as `align`, `bgcolor` and `<font>` to declarations. They have a lower priority
 * than any style sheet. `;` is removed from values, so that an attribute cannot contain several declarations.
 */
export const presentationHints = (located: Located): string => {
  const { tag, attributes } = located.node;
  const hints: string[] = tag === 'td' || tag === 'th' ? cellHints(located) : [];
  const hint = (name: string, declare: (value: string) => string | undefined): void => {
    const value = attributes.get(name)?.replaceAll(/[;{}]/gu, '').trim();
    const declared = value === undefined || value === '' ? undefined : declare(value);
    if (declared !== undefined) hints.push(declared);
  };
  hint('align', (value) => {
    const align = value.toLowerCase().replace(/^middle$/u, 'center');
    return Object.hasOwn(MOVED, tag) ? MOVED[tag]?.(align) : `text-align:-webkit-${align}`;
  });
  hint('valign', (value) => `vertical-align:${value}`);
  hint('bgcolor', (value) => `background-color:${value}`);
  hint('dir', (value) => {
    const direction = value.toLowerCase();
    return `direction:${direction === 'auto' ? autoDirection(located.node) : direction}`;
  });
  if (attributes.has('nowrap')) hints.push('white-space:nowrap');
  if (attributes.has('hidden')) hints.push('display:none');
  if (tag === 'a' && attributes.has('href')) hints.push('color:#0563c1;text-decoration:underline');
  if (tag === 'font') {
    hint('color', (value) => `color:${value}`);
    hint('face', (value) => `font-family:${value}`);
    hint('size', (value) => {
      const size = fontSize(value);
      return size && `font-size:${size}`;
    });
  }
  if (tag === 'ul' || tag === 'ol') hints.push(...listHints(located));
  if (tag === 'ol' || tag === 'ul' || tag === 'li') {
    hint('type', (value) => {
      const type =
        valueIn(LIST_TYPES, value) ?? /^(?:disc|circle|square|none)$/u.exec(value.toLowerCase())?.[0];
      return type && `list-style-type:${type}`;
    });
  }
  if (SIZED.has(tag)) {
    hint('width', (value) => `width:${value}`);
    hint('height', (value) => `height:${value}`);
  }
  return hints.join(';');
};
