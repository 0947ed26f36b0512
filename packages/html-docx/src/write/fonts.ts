import { valueIn } from '../value-in.ts';

/** The default font, also used for generic families. */
export const DEFAULT_FONT = 'Arial';

const GENERIC: Readonly<Record<string, string>> = {
  serif: 'Times New Roman',
  'sans-serif': DEFAULT_FONT,
  monospace: 'Courier New',
  cursive: 'Comic Sans MS',
  fantasy: 'Impact',
  'system-ui': DEFAULT_FONT,
  'ui-sans-serif': DEFAULT_FONT,
  'ui-serif': 'Times New Roman',
  'ui-monospace': 'Courier New',
  '-apple-system': DEFAULT_FONT,
  blinkmacsystemfont: DEFAULT_FONT,
};

/** Maximum length of a font name in Word. */
const MAX_NAME = 31;

/** The font for a CSS `font-family` list: its first name, since the reader's fonts are unknown. */
export const fontName = (family: string | undefined): string => {
  for (const part of (family ?? '').split(',')) {
    const name = part
      .trim()
      .replaceAll(/^["']|["']$/gu, '')
      .trim();
    const generic = valueIn(GENERIC, name.toLowerCase());
    if (generic !== undefined) return generic;
    if (/^[\p{L}\p{N}][\p{L}\p{N} ._+&-]*$/u.test(name) && name.length <= MAX_NAME) return name;
  }
  return DEFAULT_FONT;
};

const KANA = /[\u3040-\u30ff\u31f0-\u31ff\uff66-\uff9f]/u;
const HANGUL = /[\u1100-\u11ff\u3130-\u318f\uac00-\ud7af]/u;
const IDEOGRAPHS = /[\u2e80-\u9fff\uf900-\ufaff\u{20000}-\u{3ffff}]/u;

interface EastAsian {
  readonly font: string;
  readonly lang: string;
}

const CHINESE: EastAsian = { font: 'Microsoft YaHei', lang: 'zh-CN' };
const TAIWANESE: EastAsian = { font: 'Microsoft JhengHei', lang: 'zh-TW' };
const JAPANESE: EastAsian = { font: 'Yu Gothic', lang: 'ja-JP' };
const KOREAN: EastAsian = { font: 'Malgun Gothic', lang: 'ko-KR' };

/**
 * Font and language for East Asian characters, by the declared language, else by the script of the text.
 * Undefined for text without them. The same character looks different in the four languages.
 */
export const eastAsian = (text: string, lang: string | undefined): EastAsian | undefined => {
  if (!IDEOGRAPHS.test(text) && !KANA.test(text) && !HANGUL.test(text)) return undefined;
  const declared = lang?.toLowerCase() ?? '';
  if (declared.startsWith('ja')) return JAPANESE;
  if (declared.startsWith('ko')) return KOREAN;
  if (/^zh-(?:tw|hk|mo|hant)/u.test(declared)) return TAIWANESE;
  if (declared.startsWith('zh')) return CHINESE;
  if (KANA.test(text)) return JAPANESE;
  return HANGUL.test(text) ? KOREAN : CHINESE;
};
