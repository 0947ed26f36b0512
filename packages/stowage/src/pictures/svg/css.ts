/** Functions that only compute; others (`url`, `src`, `image-set`, …) could load or run something. */
const FUNCTIONS = new Set(
  (
    'rgb rgba hsl hsla hwb lab lch oklab oklch color color-mix light-dark calc min max clamp var ' +
    'matrix matrix3d translate translatex translatey translatez translate3d scale scalex scaley scalez scale3d ' +
    'rotate rotatex rotatey rotatez rotate3d skew skewx skewy perspective cubic-bezier steps linear ' +
    'blur brightness contrast drop-shadow grayscale hue-rotate invert opacity saturate sepia ' +
    'path inset circle ellipse polygon rect not and or'
  ).split(' '),
);
const FORBIDDEN_PROPERTY = /^(?:behavior|-ms-behavior|-moz-binding|src)$/iu;

const PROPERTY = /^-{0,2}[a-z][\w-]*$/iu;
/**
 * The allowed rest of a value without its strings and local references: no `:`, `;`, `{`, `@`, `<`, `&` or
 * backslash. Office writes the names of fonts in the language of its user: `font-family="メイリオ"`.
 */
const VALUE = /^[\w\p{L}\p{M}\p{N}\s#%.,()+\-*/!]*$/u;
const STRING = /"[^"\\\n\r\f<&]*"|'[^'\\\n\r\f<&]*'/gu;
/** Illustrator writes names in the language of its user: `url(#Безымянный_градиент_2)`. */
const LOCAL_REFERENCE = /url\(\s*(["']?)#[\w.:\p{L}\p{M}\p{N}-]+\1\s*\)/giu;
const EMBEDDED_FONT =
  /url\(\s*(["']?)data:(?:font\/[\w.+-]+|application\/(?:x-)?font-[\w.+-]+)(?:;[\w=-]+)*;base64,[\w+/=]*\1\s*\)|format\(\s*["'][\w-]+["']\s*\)/giu;
const FUNCTION = /(?<![\w\p{L}\p{M}\p{N}-])([\w\p{L}\p{M}\p{N}-]+)\s*\(/gu;
/** Patterns of rules. Strings in selectors contain only words: others are not needed. */
const SELECTOR =
  /^(?:[\w\p{L}\p{M}\p{N}\s#.,:>+~*()|^$=%-]|\[[\w\s^$*~|=-]*(?:"[\w\s.-]*"\s*|'[\w\s.-]*'\s*)?\])+$/u;
const CONDITION = /^@(?:media|supports)\b[\w\s():.,/<>=-]*$/iu;
const KEYFRAMES = /^@(?:-webkit-|-moz-)?keyframes\s+[\w-]+$/iu;
const IMPORT = /@import\b/iu;
const FONT_FACE = /^@font-face$/iu;

/** Programs do not write longer ones; they are attacks on their reader. */
const MAX_VALUE_LENGTH = 16 * 1024;
const MAX_PRELUDE_LENGTH = 16 * 1024;
const MAX_ATTRIBUTE_LENGTH = 64 * 1024;
/** Maximum length of a style sheet without its embedded fonts. */
const MAX_SHEET_LENGTH = 256 * 1024;

const SCRIPT_URL = /(?:java|vb|live)script\s*:/iu;

const hasOnlyKnownFunctions = (text: string): boolean =>
  [...text.matchAll(FUNCTION)].every(([, name = '']) => FUNCTIONS.has(name.toLowerCase()));

const isBalanced = (text: string): boolean => {
  let depth = 0;
  for (const char of text) {
    if (char === '(') depth += 1;
    if (char === ')') depth -= 1;
    if (depth < 0) return false;
  }
  return depth === 0;
};

/** Whether a CSS value is harmless: only local references, nothing that loads or runs. */
export const isHarmlessValue = (value: string): boolean => {
  if (value.length > MAX_VALUE_LENGTH || SCRIPT_URL.test(value)) return false;
  const rest = value.replaceAll(LOCAL_REFERENCE, ' ').replaceAll(STRING, ' ');
  return VALUE.test(rest) && isBalanced(rest) && hasOnlyKnownFunctions(rest);
};

/** Comments are removed before both checking and writing, so that both see the same text. */
const withoutComments = (css: string): string =>
  css.replaceAll(/\/\*[\s\S]*?(?:\*\/|$)/gu, ' ').replaceAll(/<!--|-->/gu, ' ');

/** Splits at semicolons outside of strings and parentheses, as in data URLs. */
const splitDeclarations = (css: string): string[] => {
  const declarations: string[] = [];
  let start = 0;
  let depth = 0;
  let quote: string | undefined;
  for (let at = 0; at < css.length; at += 1) {
    const char = css.charAt(at);
    if (quote !== undefined) {
      if (char === quote || char === '\n') quote = undefined;
    } else if (char === '"' || char === "'") quote = char;
    else if (char === '(') depth += 1;
    else if (char === ')') depth = Math.max(0, depth - 1);
    else if (char === ';' && depth === 0) {
      declarations.push(css.slice(start, at));
      start = at + 1;
    }
  }
  return [...declarations, css.slice(start)];
};

const cleanDeclaration = (text: string, isFont: boolean): string | undefined => {
  const colon = text.indexOf(':');
  const property = text.slice(0, colon).trim();
  const value = text.slice(colon + 1).trim();
  if (colon < 0 || !PROPERTY.test(property) || value === '') return undefined;
  const isFontSource = isFont && property.toLowerCase() === 'src';
  if (!isFontSource && FORBIDDEN_PROPERTY.test(property)) return undefined;
  const checked = isFontSource ? value.replaceAll(EMBEDDED_FONT, ' ') : value;
  return isHarmlessValue(checked) ? `${property}:${value}` : undefined;
};

type OnRemoved = () => void;

const cleanBlock = (css: string, isFont: boolean, onRemoved: OnRemoved): string =>
  splitDeclarations(css)
    .flatMap((declaration) => {
      const cleaned = cleanDeclaration(declaration, isFont);
      if (cleaned === undefined && declaration.trim() !== '') onRemoved();
      return cleaned ?? [];
    })
    .join(';');

/** Cleans the declarations of a `style` attribute, one by one; empty when nothing harmless is left. */
export const cleanStyleAttribute = (css: string, onRemoved: OnRemoved): string =>
  css.length > MAX_ATTRIBUTE_LENGTH ? '' : cleanBlock(withoutComments(css), false, onRemoved);

interface Rule {
  readonly prelude: string;
  readonly body: string;
  /** Offset after the rule. */
  readonly end: number;
}

/** The next rule with braces, after statements that end at a semicolon. Undefined at the end. */
const nextRule = (css: string, start: number): Rule | undefined => {
  let from = start;
  for (let at = start; at < css.length; at += 1) {
    const char = css[at];
    if (char === ';' || char === '}') from = at + 1;
    if (char !== '{') continue;
    let depth = 1;
    let end = at + 1;
    for (; end < css.length && depth > 0; end += 1) {
      if (css[end] === '{') depth += 1;
      if (css[end] === '}') depth -= 1;
    }
    const body = css.slice(at + 1, depth === 0 ? end - 1 : end);
    return { prelude: css.slice(from, at).trim(), body, end };
  }
  return undefined;
};

const MAX_NESTING = 4;

const cleanRule = ({ prelude, body }: Rule, nesting: number, onRemoved: OnRemoved): string => {
  const isShort = prelude.length <= MAX_PRELUDE_LENGTH;
  const isGroup = isShort && (CONDITION.test(prelude) || KEYFRAMES.test(prelude));
  const isFont = isShort && FONT_FACE.test(prelude);
  const isKnown = isGroup ? nesting < MAX_NESTING : isFont || (isShort && SELECTOR.test(prelude));
  if (!isKnown) {
    onRemoved();
    return '';
  }
  const inside = isGroup ? cleanRules(body, nesting + 1, onRemoved) : cleanBlock(body, isFont, onRemoved);
  return inside === '' ? '' : `${prelude}{${inside}}`;
};

const cleanRules = (css: string, nesting: number, onRemoved: OnRemoved): string => {
  const rules: string[] = [];
  for (let rule = nextRule(css, 0); rule !== undefined; rule = nextRule(css, rule.end)) {
    rules.push(cleanRule(rule, nesting, onRemoved));
  }
  return rules.filter((text) => text !== '').join('\n');
};

/**
 * Cleans a style sheet: rules with selectors, `@media`, `@supports`, `@keyframes` and `@font-face` with
 * embedded fonts stay, declaration by declaration; imports, other at-rules and everything that could load or
 * run something are removed. The result contains only parts that match allowlists of characters and
 * functions, so disguises do not matter. Sheets, values and selectors that are larger than programs write are
 * removed too.
 */
export const cleanStyleSheet = (css: string, onRemoved: OnRemoved): string => {
  const text = withoutComments(css);
  if (IMPORT.test(text)) onRemoved();
  if (text.replaceAll(EMBEDDED_FONT, '').length <= MAX_SHEET_LENGTH) return cleanRules(text, 0, onRemoved);
  onRemoved();
  return '';
};
