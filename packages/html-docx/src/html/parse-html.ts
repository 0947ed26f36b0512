import {
  defaultTreeAdapter,
  html as names,
  parse,
  type DefaultTreeAdapterTypes,
  type TreeAdapter,
} from 'parse5';
import { isForPaper } from '../css/stylesheet.ts';
import { withoutInvalid } from '../xml-text.ts';
import { autoDirection } from './direction.ts';
import { drawingFile } from './drawing.ts';
import { contentOfControl } from './controls.ts';
import type { ElementNode, HtmlDocument, HtmlNode, SheetReference } from './nodes.ts';

/** A page has too many parts or is nested too deeply. The message may be shown to its author. */
export class DocxLimitError extends Error {
  override readonly name = 'DocxLimitError';
}

type Types = DefaultTreeAdapterTypes.DefaultTreeAdapterMap;

const MAX_NODES = 300_000;
/** Maximum nesting while parsing. */
const MAX_OPEN = 10_000;
/**
 * Deeper elements are replaced by their content: the difference is not visible, and walks of the tree need
 * little stack.
 */
const MAX_DEPTH = 150;

/** Elements without readable content. */
const SKIPPED: ReadonlySet<string> = new Set([
  'script',
  'style',
  'link',
  'meta',
  'base',
  'title',
  'template',
  'frame',
  'frameset',
  'object',
  'embed',
  'applet',
  'canvas',
  'datalist',
  'map',
]);

type Attributes = Types['element']['attrs'];

const cleaned = (attributes: Attributes): Attributes =>
  attributes.map((attribute) => ({ ...attribute, value: withoutInvalid(attribute.value) }));

/**
 * A tree adapter that rejects trees that are too large or too deep, and removes characters that the document
 * cannot contain.
 */
const boundedAdapter = (): TreeAdapter<Types> => {
  let nodes = 0;
  let open = 0;
  const count = (): void => {
    nodes += 1;
    if (nodes > MAX_NODES) throw new DocxLimitError('The document has too many parts.');
  };
  return {
    ...defaultTreeAdapter,
    createElement: (tag, namespace, attributes) => {
      count();
      return defaultTreeAdapter.createElement(tag, namespace, cleaned(attributes));
    },
    adoptAttributes: (recipient, attributes) => {
      defaultTreeAdapter.adoptAttributes(recipient, cleaned(attributes));
    },
    insertText: (parent, text) => {
      const last = parent.childNodes.at(-1);
      // Adjacent texts are joined.
      if (last === undefined || !defaultTreeAdapter.isTextNode(last)) count();
      defaultTreeAdapter.insertText(parent, withoutInvalid(text));
    },
    insertTextBefore: (parent, text, reference) => {
      defaultTreeAdapter.insertTextBefore(parent, withoutInvalid(text), reference);
    },
    onItemPush: () => {
      open += 1;
      if (open > MAX_OPEN) throw new DocxLimitError('The document is nested too deeply.');
    },
    onItemPop: () => {
      open -= 1;
    },
  };
};

type Parsed = Types['node'];

interface Draft {
  readonly source: Types['parentNode'];
  readonly children: HtmlNode[];
  readonly depth: number;
}

const attributesOf = (element: Types['element']): ReadonlyMap<string, string> =>
  new Map(element.attrs.map(({ name, value }) => [name, value]));

const classOf = (element: Types['element']): string | undefined =>
  element.attrs.find(({ name }) => name === 'class')?.value;

const textOf = (parent: Types['parentNode']): string =>
  parent.childNodes.map((child) => ('value' in child ? child.value : '')).join('');

const isElement = (node: Parsed): node is Types['element'] => 'tagName' in node;

/** Properties of the page from its head and from misplaced elements. */
interface PageFacts {
  title: string | undefined;
  base: string | undefined;
  readonly sheets: SheetReference[];
}

const noteFacts = (element: Types['element'], facts: PageFacts): void => {
  const attributes = attributesOf(element);
  const href = attributes.get('href')?.trim();
  const isForPrint = isForPaper(attributes.get('media') ?? '');
  switch (element.tagName) {
    case 'title':
      facts.title ??= textOf(element).trim() || undefined;
      break;
    case 'base':
      facts.base ??= href;
      break;
    case 'style':
      if (isForPrint) facts.sheets.push({ text: textOf(element) });
      break;
    case 'link':
      if (isForPrint && href && /(?:^|\s)stylesheet(?:\s|$)/iu.test(attributes.get('rel') ?? ''))
        facts.sheets.push({ href });
      break;
  }
};

/** Copies the needed nodes without recursion: the parsed tree may be as deep as the parser allows. */
const copyTree = (root: Types['parentNode'], facts: PageFacts): readonly HtmlNode[] => {
  const top: HtmlNode[] = [];
  const open: Draft[] = [{ source: root, children: top, depth: 0 }];
  // Children are visited in order: each entry is the next child of an open node.
  const positions = [0];
  for (let draft = open.at(-1); draft !== undefined; draft = open.at(-1)) {
    const position = positions.at(-1) ?? 0;
    const node = draft.source.childNodes[position];
    if (node === undefined) {
      open.pop();
      positions.pop();
      continue;
    }
    positions[positions.length - 1] = position + 1;
    if ('value' in node) draft.children.push({ kind: 'text', text: node.value });
    else if (isElement(node)) {
      noteFacts(node, facts);
      // KaTeX writes each formula twice: as MathML, and as boxes that mean nothing without its style sheet.
      if (position > 0 && classOf(node) === 'katex-html') continue;
      const shown = contentOfControl(node);
      if (shown !== undefined) {
        draft.children.push(shown);
        continue;
      }
      if (node.tagName === 'svg') draft.children.push(drawingOf(node));
      if (SKIPPED.has(node.tagName) || node.namespaceURI !== names.NS.HTML) continue;
      open.push(draftOf(node, draft));
      positions.push(0);
    }
  }
  return top;
};

/** Replaces an inline drawing by a picture with a data URL. */
const drawingOf = (svg: Types['element']): ElementNode => {
  const source = `data:image/svg+xml;base64,${Buffer.from(drawingFile(svg)).toString('base64')}`;
  return {
    kind: 'element',
    tag: 'svg',
    attributes: new Map([...attributesOf(svg), ['src', source]]),
    children: [],
  };
};

const draftOf = (node: Types['element'], { children, depth }: Draft): Draft => {
  if (depth >= MAX_DEPTH) return { source: node, children, depth };
  const own: HtmlNode[] = [];
  children.push({ kind: 'element', tag: node.tagName, attributes: attributesOf(node), children: own });
  return { source: node, children: own, depth: depth + 1 };
};

const findElement = (nodes: readonly HtmlNode[], tag: string): ElementNode | undefined =>
  nodes.find((node): node is ElementNode => node.kind === 'element' && node.tag === tag);

/**
 * Parses a page, or a fragment, as browsers do.
 * @throws DocxLimitError when it has too many parts or is nested too deeply
 */
export const parseHtml = (text: string): HtmlDocument => {
  const tree = parse<Types>(text, { treeAdapter: boundedAdapter(), scriptingEnabled: false });
  const facts: PageFacts = { title: undefined, base: undefined, sheets: [] };
  const html = findElement(copyTree(tree, facts), 'html');
  const body = findElement(html?.children ?? [], 'body');
  const empty: ElementNode = { kind: 'element', tag: 'body', attributes: new Map(), children: [] };
  const direction = html?.attributes.get('dir')?.toLowerCase();
  const rtl = direction === 'rtl' || (direction === 'auto' && autoDirection(body ?? empty) === 'rtl');
  return { ...facts, body: body ?? empty, lang: html?.attributes.get('lang'), rtl };
};
