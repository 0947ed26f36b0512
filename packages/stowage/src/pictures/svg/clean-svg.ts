import type { SaxesTagNS } from 'saxes';
import { BrokenImageError } from '../../errors/errors.ts';
import { cleanInThread } from '../metadata/clean.ts';
import { escapeXml } from '../kept/icon.ts';
import { cleanAttribute, ELEMENTS, isCompleteAnimation, type SvgAttribute } from './attributes.ts';
import { cleanStyleSheet } from './css.ts';
import {
  createStrictParser,
  malformed,
  parseXml,
  SVG_NAMESPACE,
  XLINK_NAMESPACE,
  xmlBudget,
} from './strict-xml.ts';

/** Larger files are refused: cleaning needs the whole file. */
export const MAX_SVG_BYTES = 8 * 1024 * 1024;

/** An SVG file that has been cleaned. */
export interface CleanedSvg {
  readonly content: Buffer;
  /**
   * Whether anything was removed that a browser would have drawn or run. Comments and the data of drawing
   * programs do not count.
   */
  readonly isReduced: boolean;
}

/** A file of the allowed size has fewer elements. */
const MAX_ELEMENTS = MAX_SVG_BYTES / 4;
const XHTML_NAMESPACE = 'http://www.w3.org/1999/xhtml';

/** Whether an element may draw or run something, unlike the data of drawing programs. */
const isVisible = ({ uri, local }: SaxesTagNS): boolean =>
  uri === XHTML_NAMESPACE || ((uri === SVG_NAMESPACE || uri === '') && local !== 'metadata');

class CleanWriter {
  readonly #parts: string[] = [];
  #isReduced = false;
  #depth = 0;
  /** Depth of the element that is left out with all that it holds. */
  #leftOut: number | undefined;
  #css: string[] | undefined;
  /** The last start tag still lacks its end: an element without content becomes `<a/>`. */
  #isOpen = false;

  open(tag: SaxesTagNS): void {
    this.#depth += 1;
    const { local } = tag;
    // Files written by hand often name no namespace at all.
    const isSvg = tag.uri === SVG_NAMESPACE || tag.uri === '';
    if (this.#depth === 1 && !(isSvg && local === 'svg')) throw malformed('the root is not an svg element');
    if (this.#leftOut !== undefined) return;
    const attributes = Object.values(tag.attributes).flatMap((given) => this.#cleanAttribute(local, given));
    const names = attributes.map(({ name }) => name);
    const isInside = this.#css !== undefined;
    if (!isSvg || !ELEMENTS.has(local) || isInside || !isCompleteAnimation(local, names)) {
      this.#leftOut = this.#depth;
      this.#isReduced ||= isVisible(tag);
      return;
    }
    this.#endTag();
    this.#parts.push(`<${local}`);
    if (this.#depth === 1) {
      this.#parts.push(` xmlns="${SVG_NAMESPACE}" xmlns:xlink="${XLINK_NAMESPACE}"`);
    }
    for (const { name, value } of attributes) this.#parts.push(` ${name}="${escapeXml(value)}"`);
    this.#isOpen = true;
    if (local === 'style') this.#css = [];
  }

  close(tag: SaxesTagNS): void {
    const depth = this.#depth;
    this.#depth -= 1;
    if (this.#leftOut !== undefined) {
      if (this.#leftOut === depth) this.#leftOut = undefined;
      return;
    }
    if (this.#css !== undefined) {
      const css = cleanStyleSheet(this.#css.join(''), this.#reduce);
      this.#css = undefined;
      this.text(css);
    }
    if (this.#isOpen) this.#parts.push('/>');
    else this.#parts.push(`</${tag.local}>`);
    this.#isOpen = false;
  }

  text(text: string): void {
    if (this.#leftOut !== undefined || this.#depth === 0 || text === '') return;
    if (this.#css !== undefined) {
      this.#css.push(text);
      return;
    }
    this.#endTag();
    this.#parts.push(escapeXml(text));
  }

  result(): CleanedSvg {
    return { content: Buffer.from(`${this.#parts.join('')}\n`), isReduced: this.#isReduced };
  }

  readonly #reduce = (): void => {
    this.#isReduced = true;
  };

  #cleanAttribute(element: string, given: SvgAttribute): { name: string; value: string }[] {
    const cleaned = cleanAttribute(element, given, this.#reduce);
    if (cleaned !== undefined) return [cleaned];
    const { uri, local } = given;
    if ((uri === '' && !local.startsWith('data-')) || uri === XLINK_NAMESPACE)
      this.#isReduced ||= local !== 'type';
    return [];
  }

  #endTag(): void {
    if (this.#isOpen) this.#parts.push('>');
    this.#isOpen = false;
  }
}

/**
 * Writes an SVG file anew with nothing but what draws: a strict parser reads it, and only listed elements and
 * attributes with harmless values are written. Scripts, handlers, foreign objects, references to anything but
 * the same document (pictures: embedded raster data), CSS that loads or runs something, comments, processing
 * instructions and the document type are left out. The result is UTF-8.
 *
 * Why not a sanitiser for HTML: DOMPurify works on a DOM, and jsdom, the one that it supports, needs a newer
 * Node than ours and brings twenty packages; references to other hosts and CSS it leaves to hooks.
 * sanitize-html reads HTML: it repairs broken XML instead of refusing it and knows no namespaces. A list of
 * what may stay over a strict XML parser is less code than the hooks would be.
 *
 * Memory: some times the size of the file, which is at most MAX_SVG_BYTES. Gives way to other work between
 * portions.
 * @throws BrokenImageError when it is malformed, too large, or not SVG
 */
export const cleanSvg = async (bytes: Buffer): Promise<CleanedSvg> => {
  if (bytes.length > MAX_SVG_BYTES) throw new BrokenImageError('The SVG file is too large.');
  const writer = new CleanWriter();
  const budget = xmlBudget({ items: MAX_ELEMENTS, bytes: MAX_SVG_BYTES });
  const parser = createStrictParser(budget, { closetag: (tag) => writer.close(tag) });
  parser.on('opentag', (tag) => writer.open(tag));
  parser.on('text', (content) => writer.text(content));
  parser.on('cdata', (content) => writer.text(content));
  await parseXml(parser, budget, [bytes]);
  return writer.result();
};

/** Most drawings are smaller. A style sheet is cleaned in one go. */
const MAX_BYTES_NOW = 256 * 1024;

/**
 * Cleans an SVG file, a large one in a thread.
 * @throws BrokenImageError when it is malformed, too large, or not SVG; the signal's reason
 */
export const cleanDrawing = async (file: Buffer, signal: AbortSignal): Promise<CleanedSvg> => {
  if (file.length <= MAX_BYTES_NOW || file.length > MAX_SVG_BYTES) return cleanSvg(file);
  const answer = await cleanInThread({ kind: 'drawing', file }, signal);
  if (answer.result !== 'cleaned') throw new BrokenImageError({ detail: 'not cleaned' });
  return { content: Buffer.from(answer.bytes.buffer), isReduced: answer.isReduced };
};
