import { cleanStyleAttribute, isHarmlessValue } from './css.ts';
import { XLINK_NAMESPACE, XML_NAMESPACE } from './strict-xml.ts';

const words = (text: string): ReadonlySet<string> => new Set(text.trim().split(/\s+/u));

/**
 * Elements that draw, describe or animate. Whatever is not named here goes with all that it holds: scripts,
 * foreign objects, media.
 */
export const ELEMENTS = words(`
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

/** Attributes that hold numbers, keywords, paths, names or text, and can load nothing. */
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

/**
 * Elements that change attributes of others in time. What they may change is limited like the attributes
 * themselves.
 */
const ANIMATIONS = words('animate animateTransform set');

const ANIMATED_VALUES = words('from to by values');

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
