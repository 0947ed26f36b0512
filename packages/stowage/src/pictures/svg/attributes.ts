import { cleanStyleAttribute, isHarmlessValue } from './css.ts';
import { XLINK_NAMESPACE, XML_NAMESPACE } from './strict-xml.ts';
import { ANIMATED_VALUES, ANIMATIONS, PLAIN, PRESENTATION } from './vocabulary.ts';

/** An attribute as the parser gives it. */
export interface SvgAttribute {
  readonly uri: string;
  readonly local: string;
  readonly value: string;
}

const FRAGMENT = /^\s*#[^\s"'<>\\]+\s*$/u;
const EMBEDDED_PICTURE = /^\s*data:image\/(?:png|jpe?g|gif|webp|avif|bmp);base64,[\w+/=\s]*$/iu;
/** Elements that show a picture; all others may refer to their own document only. */
const PICTURES = new Set(['image', 'feImage']);

/** What no plain value needs, however it is spread over blanks and control characters. */
const SUSPICIOUS = /(?:java|vb|live)script:|data:|url\(|expression\(|@import|-moz-binding|\\/iu;
// Browsers ignore them inside URLs.
const IGNORED = /[\u0000-\u0020\u007f-\u00a0\u00ad\u200b-\u200f\ufeff]+/gu;

/** Numbers, names and keywords, and lists of them: most of a large drawing. */
const INNOCENT = /^[\w\s.,;#%+-]*$/u;
/** Of all other values. */
const MAX_LENGTH = 64 * 1024;

const isPlain = (value: string): boolean =>
  INNOCENT.test(value) || (value.length <= MAX_LENGTH && !SUSPICIOUS.test(value.replaceAll(IGNORED, '')));

const cleanReference = (element: string, value: string): string | undefined => {
  if (FRAGMENT.test(value)) return value.trim();
  return PICTURES.has(element) && EMBEDDED_PICTURE.test(value) ? value.trim() : undefined;
};

/** What an animation may change: no references, styles or handlers. */
const isAnimatable = (name: string): boolean =>
  (PRESENTATION.has(name) || PLAIN.has(name)) && !/^(?:attributename|id|class|type)$/iu.test(name);

const isHarmlessPart = (part: string): boolean => isHarmlessValue(part) || /^[\w\s.,+\-:#%()]*$/u.test(part);

const isHarmlessAnimation = (value: string): boolean =>
  INNOCENT.test(value) ||
  (isPlain(value.replaceAll(/url\(\s*#[\w.:-]+\s*\)/giu, '')) && value.split(';').every(isHarmlessPart));

const cleanOwn = (
  element: string,
  name: string,
  value: string,
  onRemoved: () => void,
): string | undefined => {
  if (name === 'href') return cleanReference(element, value);
  if (name === 'style') return cleanStyleAttribute(value, onRemoved) || undefined;
  if (PRESENTATION.has(name)) return isHarmlessValue(value) ? value : undefined;
  if (!PLAIN.has(name)) return undefined;
  if (ANIMATIONS.has(element) && ANIMATED_VALUES.has(name))
    return isHarmlessAnimation(value) ? value : undefined;
  if (name === 'attributeName' && !isAnimatable(value.trim())) return undefined;
  return isPlain(value) ? value : undefined;
};

/**
 * The attribute as it may stay, with the name that it is written under; undefined when it must go.
 * `onRemoved` is called when a part of its value goes.
 */
export const cleanAttribute = (
  element: string,
  { uri, local, value }: SvgAttribute,
  onRemoved: () => void,
): { readonly name: string; readonly value: string } | undefined => {
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

/**
 * Whether an animation still says what it changes. Without, it would change what the element around it is
 * linked to.
 */
export const isCompleteAnimation = (element: string, names: readonly string[]): boolean =>
  !ANIMATIONS.has(element) || element === 'animateTransform' || names.includes('attributeName');
