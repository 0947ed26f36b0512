import type { SaxesTagNS } from 'saxes';
import { BrokenImageError } from '../../errors/errors.ts';
import { cleanInThread } from '../metadata/clean.ts';
import { escapeXml } from '../kept/icon.ts';
import { cleanStyleSheet, cleanStyleAttribute, isHarmlessValue } from './css.ts';
import {
  createStrictParser,
  malformed,
  parseXml,
  SVG_NAMESPACE,
  XLINK_NAMESPACE,
  xmlBudget,
  XML_NAMESPACE,
} from './strict-xml.ts';

const words = (text: string): ReadonlySet<string> => new Set(text.trim().split(/\s+/u));

/** Elements that draw, describe or animate. All others are removed with their content. */
const ELEMENTS = words(`
  svg g defs symbol use a switch view title desc
  path rect circle ellipse line polyline polygon image text tspan textPath
  linearGradient radialGradient stop pattern marker mask clipPath style
  filter feBlend feColorMatrix feComponentTransfer feComposite feConvolveMatrix feDiffuseLighting feDisplacementMap
  feDistantLight feDropShadow feFlood feFuncA feFuncB feFuncG feFuncR feGaussianBlur feImage feMerge feMergeNode
  feMorphology feOffset fePointLight feSpecularLighting feSpotLight feTile feTurbulence
  animate animateMotion animateTransform set mpath
`);

/** Attributes whose value is CSS. */
const PRESENTATION = words(`
  alignment-baseline baseline-shift clip clip-path clip-rule color color-interpolation color-interpolation-filters
  color-rendering cursor direction display dominant-baseline enable-background fill fill-opacity fill-rule filter
  flood-color flood-opacity font-family font-feature-settings font-kerning font-size font-size-adjust font-stretch
  font-style font-variant font-variation-settings font-weight glyph-orientation-horizontal
  glyph-orientation-vertical image-rendering isolation kerning letter-spacing lighting-color marker marker-end
  marker-mid marker-start mask mask-type mix-blend-mode opacity overflow paint-order pointer-events shape-rendering
  stop-color stop-opacity stroke stroke-dasharray stroke-dashoffset stroke-linecap stroke-linejoin
  stroke-miterlimit stroke-opacity stroke-width text-anchor text-decoration text-overflow text-rendering
  transform-box transform-origin unicode-bidi vector-effect visibility white-space word-spacing writing-mode
`);

/** Attributes with numbers, keywords, paths, names or text, which cannot load anything. */
const PLAIN = words(`
  accumulate additive amplitude aria-describedby aria-hidden aria-label aria-labelledby aria-roledescription
  attributeName attributeType azimuth baseFrequency baseProfile begin bias by calcMode class clipPathUnits
  contentScriptType contentStyleType cx cy d diffuseConstant divisor dur dx dy edgeMode elevation end exponent
  filterRes filterUnits focusable fr from fx fy gradientTransform gradientUnits height id in in2 intercept
  k1 k2 k3 k4 kernelMatrix kernelUnitLength keyPoints keySplines keyTimes lang lengthAdjust limitingConeAngle
  markerHeight markerUnits markerWidth maskContentUnits maskUnits max media method min mode numOctaves offset
  operator order orient origin path pathLength patternContentUnits patternTransform patternUnits points
  pointsAtX pointsAtY pointsAtZ preserveAlpha preserveAspectRatio primitiveUnits r radius refX refY repeatCount
  repeatDur requiredFeatures restart result role rotate rx ry scale seed side slope spacing specularConstant
  specularExponent spreadMethod startOffset stdDeviation stitchTiles surfaceScale systemLanguage tabindex
  tableValues targetX targetY textLength to transform type values version viewBox viewTarget width x x1 x2
  xChannelSelector y y1 y2 yChannelSelector z zoomAndPan
`);

/** Elements that animate attributes of others; these attributes are limited as if they were set. */
const ANIMATIONS = words('animate animateTransform set');

const ANIMATED_VALUES = words('from to by values');

interface SvgAttribute {
  readonly uri: string;
  readonly local: string;
  readonly value: string;
}

const FRAGMENT = /^\s*#[^\s"'<>\\]+\s*$/u;
/** Photoshop writes `img` instead of `image`, and browsers show it. */
const EMBEDDED_PICTURE = /^\s*data:(?:image|img)\/(?:png|jpe?g|gif|webp|avif|bmp);base64,[\w+/=\s]*$/iu;
/** Elements that show a picture; all others may refer only to the same document. */
const PICTURES = new Set(['image', 'feImage']);

/** Text that plain values do not need, even if blanks and control characters are inserted. */
const SUSPICIOUS = /(?:java|vb|live)script:|data:|url\(|expression\(|@import|-moz-binding|\\/iu;
// Browsers ignore them inside URLs.
const IGNORED = /[\u0000-\u0020\u007f-\u00a0\u00ad\u200b-\u200f\ufeff]+/gu;

/** Numbers, names and keywords, and lists of them: most of a large drawing. */
const INNOCENT = /^[\w\s.,;#%+-]*$/u;
/** Maximum length of other values. */
const MAX_LENGTH = 64 * 1024;

const isPlain = (value: string): boolean =>
  INNOCENT.test(value) || (value.length <= MAX_LENGTH && !SUSPICIOUS.test(value.replaceAll(IGNORED, '')));

const cleanReference = (element: string, value: string): string | undefined => {
  if (FRAGMENT.test(value)) return value.trim();
  return PICTURES.has(element) && EMBEDDED_PICTURE.test(value) ? value.trim() : undefined;
};

/** Attributes that may be animated: no references, styles or handlers. */
const isAnimatable = (name: string): boolean =>
  (PRESENTATION.has(name) || PLAIN.has(name)) && !/^(?:attributename|id|class|type)$/iu.test(name);

const isHarmlessPart = (part: string): boolean => isHarmlessValue(part) || /^[\w\s.,+\-:#%()]*$/u.test(part);

const isHarmlessAnimation = (value: string): boolean =>
  INNOCENT.test(value) ||
  (isPlain(value.replaceAll(/url\(\s*#[\w.:-]+\s*\)/giu, '')) && value.split(';').every(isHarmlessPart));

const cleanOwn = (element: string, name: string, value: string, onRemoved: () => void) => {
  if (name === 'href') return cleanReference(element, value);
  if (name === 'style') return cleanStyleAttribute(value, onRemoved) || undefined;
  if (PRESENTATION.has(name)) return isHarmlessValue(value) ? value : undefined;
  if (!PLAIN.has(name)) return undefined;
  if (ANIMATIONS.has(element) && ANIMATED_VALUES.has(name))
    return isHarmlessAnimation(value) ? value : undefined;
  if (name === 'attributeName' && !isAnimatable(value.trim())) return undefined;
  return isPlain(value) ? value : undefined;
};

/** The cleaned attribute with its name; undefined when removed. `onRemoved`: a part was removed. */
const cleanAttribute = (element: string, { uri, local, value }: SvgAttribute, onRemoved: () => void) => {
  if (uri === '') {
    const cleaned = cleanOwn(element, local, value, onRemoved);
    return cleaned === undefined ? undefined : { name: local, value: cleaned };
  }
  if (uri === XLINK_NAMESPACE && local === 'href') {
    const cleaned = cleanReference(element, value);
    return cleaned === undefined ? undefined : { name: 'xlink:href', value: cleaned };
  }
  const isXml = uri === XML_NAMESPACE && (local === 'space' || local === 'lang') && /^[\w-]*$/u.test(value);
  return isXml ? { name: `xml:${local}`, value } : undefined;
};

/** Whether an animation still names its attribute: else it would change the surrounding link. */
const isCompleteAnimation = (element: string, names: readonly string[]): boolean =>
  !ANIMATIONS.has(element) || element === 'animateTransform' || names.includes('attributeName');

/** Larger files are rejected: cleaning needs the whole file. */
export const MAX_SVG_BYTES = 8 * 1024 * 1024;

export interface CleanedSvg {
  readonly content: Buffer;
  /** Whether anything was removed that a browser would have drawn or run; not comments and the like. */
  readonly isReduced: boolean;
}

/** A file of the allowed size has fewer elements. */
const MAX_ELEMENTS = MAX_SVG_BYTES / 4;
const XHTML_NAMESPACE = 'http://www.w3.org/1999/xhtml';

/** Whether an element may draw or run something, unlike data of drawing programs. */
const isVisible = ({ uri, local }: SaxesTagNS): boolean =>
  uri === XHTML_NAMESPACE || ((uri === SVG_NAMESPACE || uri === '') && local !== 'metadata');

class CleanWriter {
  readonly #parts: string[] = [];
  #isReduced = false;
  #depth = 0;
  /** Depth of the element that is being removed with its content. */
  #leftOut: number | undefined;
  #css: string[] | undefined;
  /** The last start tag is not closed yet: an element without content becomes `<a/>`. */
  #isOpen = false;

  open(tag: SaxesTagNS): void {
    this.#depth += 1;
    const { local } = tag;
    // Handwritten files often have no namespace.
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
 * Rewrites an SVG file with only its drawing: a strict parser reads it, and only listed elements and
 * attributes with harmless values are written. Scripts, handlers, foreign objects, references outside of the
 * document (except embedded raster pictures), CSS that loads or runs something, comments, processing
 * instructions and the document type are removed. The result is UTF-8.
 *
 * Why not a sanitiser for HTML: DOMPurify works on a DOM, and jsdom, the one that it supports, needs a newer
 * Node than ours and adds twenty packages; it leaves references to other hosts and CSS to hooks.
 * sanitize-html parses HTML: it repairs broken XML instead of rejecting it, and ignores namespaces. An
 * allowlist with a strict XML parser is less code than the hooks would be.
 *
 * Memory: several times the size of the file, which is at most MAX_SVG_BYTES. Yields to the event loop.
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

/** Most drawings are smaller. A style sheet is cleaned synchronously. */
const MAX_BYTES_NOW = 256 * 1024;

/** Cleans an SVG file, a large one in a thread. @throws BrokenImageError; the signal's reason */
export const cleanDrawing = async (file: Buffer, signal: AbortSignal): Promise<CleanedSvg> => {
  if (file.length <= MAX_BYTES_NOW || file.length > MAX_SVG_BYTES) return cleanSvg(file);
  const outcome = await cleanInThread({ kind: 'drawing', file }, signal);
  if (outcome.result !== 'cleaned') throw new BrokenImageError({ detail: 'not cleaned' });
  return { content: Buffer.from(outcome.bytes.buffer), isReduced: outcome.isReduced };
};
