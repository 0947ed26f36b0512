import { html as names, type DefaultTreeAdapterTypes } from 'parse5';
import { valueIn } from '../value-in.ts';
import type { ElementNode, HtmlNode } from './nodes.ts';

type Element = DefaultTreeAdapterTypes.Element;
type Parent = DefaultTreeAdapterTypes.ParentNode;

const isElement = (node: Parent['childNodes'][number]): node is Element => 'tagName' in node;

/** Annotations of a formula in other languages, such as LaTeX: they would repeat its text. */
const ANNOTATIONS: ReadonlySet<string> = new Set(['annotation', 'annotation-xml']);

/** All descendant elements and texts, in document order. */
function* partsOf(parent: Parent): Generator<Parent['childNodes'][number], void, undefined> {
  const open = [...parent.childNodes].reverse();
  for (let node = open.pop(); node !== undefined; node = open.pop()) {
    yield node;
    if (isElement(node) && !ANNOTATIONS.has(node.tagName)) open.push(...[...node.childNodes].reverse());
  }
}

const textOf = (parent: Parent): string => {
  let text = '';
  for (const node of partsOf(parent)) if (node.nodeName === '#text' && 'value' in node) text += node.value;
  return text;
};

const hasAttribute = ({ attrs }: Element, name: string): boolean => attrs.some((one) => one.name === name);

/** Visible value of a select element: the first option when none is selected, unless several may be. */
const chosenOf = (select: Element): string => {
  const options = [...partsOf(select)].filter(isElement).filter(({ tagName }) => tagName === 'option');
  const selected = options.filter((option) => hasAttribute(option, 'selected'));
  const isMultiple = hasAttribute(select, 'multiple');
  const chosen = isMultiple ? selected : [selected.at(-1) ?? options[0]].filter((one) => one !== undefined);
  return chosen.map((option) => textOf(option).trim()).join(', ');
};

const withText = (element: Element, text: string, style = ''): ElementNode => {
  const own = element.attrs.map(({ name, value }) => [name, value] as const);
  const attributes = new Map(own);
  if (style !== '') attributes.set('style', `${style};${attributes.get('style') ?? ''}`);
  return { kind: 'element', tag: 'span', attributes, children: [{ kind: 'text', text }] };
};

/** Deeper parts of formulas are read as plain text. */
const MAX_FORMULA_DEPTH = 40;

const plain = (text: string): HtmlNode => ({ kind: 'text', text });

/** Brackets where a fraction or root has more than one sign or number. */
const bracketed = (nodes: readonly HtmlNode[]): readonly HtmlNode[] => {
  const [first, ...others] = nodes;
  const isSingle = others.length === 0 && first?.kind === 'text' && /^(?:[\d.,]+|.?)$/u.test(first.text);
  return isSingle ? nodes : [plain('('), ...nodes, plain(')')];
};

/** What the parts of an element after its first one are. */
const SCRIPTS: Readonly<Record<string, readonly ('sub' | 'sup')[]>> = {
  msup: ['sup'],
  mover: ['sup'],
  msub: ['sub'],
  munder: ['sub'],
  msubsup: ['sub', 'sup'],
  munderover: ['sub', 'sup'],
};

const script = (tag: 'sub' | 'sup', children: readonly HtmlNode[] = []): ElementNode => ({
  kind: 'element',
  tag,
  attributes: new Map(),
  children,
});

/**
 * The parts of a formula in one line: sub- and superscripts stay, fractions become `1/2`, roots `√2`. Without
 * that ½ would read as 12.
 */
const formulaParts = (element: Element, depth = 0): readonly HtmlNode[] => {
  const parts = element.childNodes.filter(isElement).filter(({ tagName }) => !ANNOTATIONS.has(tagName));
  const holdsText = element.childNodes.some((child) => 'value' in child && child.value.trim() !== '');
  // Blanks beside text count only if they do not break.
  if (parts.length === 0 || holdsText || depth > MAX_FORMULA_DEPTH)
    return [
      plain(
        textOf(element)
          .split(/[ \t\n\f\r]+/u)
          .filter((word) => word !== '')
          .join(' '),
      ),
    ];
  const read = parts.map((part) => formulaParts(part, depth + 1));
  const [base = [], one = []] = read;
  const joined = (separator: string): readonly HtmlNode[] =>
    read.flatMap((part, index) => (index === 0 ? part : [plain(separator), ...part]));
  switch (element.tagName) {
    case 'mfrac':
      return [...bracketed(base), plain('/'), ...bracketed(one)];
    case 'msqrt':
      return [plain('√'), ...bracketed(read.flat())];
    case 'mroot':
      return [script('sup', one), plain('√'), ...bracketed(base)];
    case 'mtr':
      return joined(' ');
    case 'mtable':
      return joined('; ');
    default: {
      const scripts = valueIn(SCRIPTS, element.tagName);
      if (scripts === undefined) return read.flat();
      return [...base, ...scripts.map((tag, index) => script(tag, read[index + 1]))];
    }
  }
};

/** Visible text of a formula, select or textarea, as a text element. Undefined for all other elements. */
export const contentOfControl = (element: Element): ElementNode | undefined => {
  if (element.namespaceURI === names.NS.MATHML)
    return element.tagName === 'math'
      ? { ...withText(element, ''), children: formulaParts(element) }
      : undefined;
  if (element.tagName === 'select') return withText(element, chosenOf(element));
  return element.tagName === 'textarea'
    ? withText(element, textOf(element), 'white-space:pre-wrap')
    : undefined;
};
