import { html as names, type DefaultTreeAdapterTypes } from 'parse5';
import type { ElementNode } from './nodes.ts';

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

/** Visible text of a formula, select or textarea, as a text element. Undefined for all other elements. */
export const contentOfControl = (element: Element): ElementNode | undefined => {
  if (element.namespaceURI === names.NS.MATHML)
    return element.tagName === 'math' ? withText(element, textOf(element)) : undefined;
  if (element.tagName === 'select') return withText(element, chosenOf(element));
  return element.tagName === 'textarea'
    ? withText(element, textOf(element), 'white-space:pre-wrap')
    : undefined;
};
