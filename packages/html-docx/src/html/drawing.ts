import { html as names, type DefaultTreeAdapterTypes } from 'parse5';
import { escapeXml } from '../xml-text.ts';

type Element = DefaultTreeAdapterTypes.Element;
type Parent = DefaultTreeAdapterTypes.ParentNode;

/** Deeper elements are left out: drawings do not need them, and SVG parsers have limits of their own. */
const MAX_DEPTH = 100;
const XML_NAME = /^[A-Za-z_][\w.-]*$/u;

const attributesOf = ({ attrs }: Element): string =>
  attrs
    .filter(({ name, prefix }) => XML_NAME.test(name) && (prefix ?? '') !== 'xmlns' && name !== 'xmlns')
    .map(({ name, prefix, value }) => ` ${prefix ? `${prefix}:` : ''}${name}="${escapeXml(value)}"`)
    .join('');

const isDrawn = (node: Parent['childNodes'][number]): node is Element =>
  'tagName' in node && node.namespaceURI === names.NS.SVG && XML_NAME.test(node.tagName);

const contentOf = (parent: Parent, depth: number): string =>
  parent.childNodes
    .map((node) => {
      if (node.nodeName === '#text' && 'value' in node) return escapeXml(node.value);
      if (!isDrawn(node) || depth > MAX_DEPTH) return '';
      return `<${node.tagName}${attributesOf(node)}>${contentOf(node, depth + 1)}</${node.tagName}>`;
    })
    .join('');

/** Serializes an `svg` element of a page as an SVG file: XML, with the namespaces that HTML omits. */
export const drawingFile = (svg: Element): string =>
  `<svg xmlns="${names.NS.SVG}" xmlns:xlink="${names.NS.XLINK}"${attributesOf(svg)}>${contentOf(svg, 1)}</svg>`;
