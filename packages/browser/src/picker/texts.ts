import { englishTexts } from './texts/english.ts';

export { englishTexts };

/** Texts by plural categories of the language; `other` always exists. */
export type Plural = Readonly<Partial<Record<Intl.LDMLPluralRule, string>>> & { readonly other: string };

type English = typeof englishTexts;

/** The texts of one language: names in braces are placeholders, and counted texts have plural forms. */
export type Texts = {
  readonly [Key in keyof English]: English[Key] extends { readonly other: string }
    ? Plural
    : Readonly<English[Key]>;
};

/** Set by the build: true in the script for pages without a bundler. */
declare const IS_GLOBAL: boolean;

/** The element of that script: other languages are loaded from the same folder. */
const script = typeof document === 'undefined' ? null : document.currentScript;

const imports: Readonly<Record<string, () => Promise<{ readonly default: Texts }>>> = IS_GLOBAL
  ? {}
  : {
      ar: () => import('./texts/ar.json', { with: { type: 'json' } }),
      de: () => import('./texts/de.json', { with: { type: 'json' } }),
      es: () => import('./texts/es.json', { with: { type: 'json' } }),
      fr: () => import('./texts/fr.json', { with: { type: 'json' } }),
      it: () => import('./texts/it.json', { with: { type: 'json' } }),
      ja: () => import('./texts/ja.json', { with: { type: 'json' } }),
      nl: () => import('./texts/nl.json', { with: { type: 'json' } }),
      pl: () => import('./texts/pl.json', { with: { type: 'json' } }),
      pt: () => import('./texts/pt.json', { with: { type: 'json' } }),
      ru: () => import('./texts/ru.json', { with: { type: 'json' } }),
      zh: () => import('./texts/zh.json', { with: { type: 'json' } }),
    };

const fetched = async (language: string): Promise<Texts | undefined> => {
  if (!(script instanceof HTMLScriptElement) || language === 'en') return undefined;
  const response = await fetch(new URL(`texts/${language}.json`, script.src));
  return response.ok ? ((await response.json()) as Texts) : undefined;
};

/**
 * The texts for a language tag (`de-AT`, `zh_cn`); English if the language does not exist or cannot be
 * loaded.
 */
export const loadTexts = async (tag: string): Promise<Texts> => {
  const language = tag.toLowerCase().split(/[-_]/u, 1)[0] ?? '';
  try {
    const found = IS_GLOBAL ? await fetched(language) : (await imports[language]?.())?.default;
    return found ?? englishTexts;
  } catch {
    return englishTexts;
  }
};

/** The given language, else that of the page, else of the browser; English on servers. */
export const languageFor = (wanted: string | null | undefined): string => {
  if (typeof wanted === 'string' && wanted !== '' && wanted !== 'auto') return wanted;
  if (typeof document === 'undefined') return 'en';
  return document.documentElement.lang || navigator.language || 'en';
};

/**
 * Replaces `{names}` by values. File names are isolated: their direction may differ from that of the text.
 */
export const fill = (text: string, values: Readonly<Record<string, string | number>>): string =>
  text.replaceAll(/\{(\w+)\}/gu, (whole, name: string) => {
    const value = values[name];
    if (value === undefined) return whole;
    return typeof value === 'number' || /^[\d\s.,\u066b\u066c\u0660-\u0669]*$/u.test(value)
      ? String(value)
      : `\u2068${value}\u2069`;
  });

/** The plural form of a text for a number, which also replaces `{count}`. */
export const counted = (
  { locale }: Pick<Texts, 'locale'>,
  forms: Plural,
  count: number,
  values: Readonly<Record<string, string | number>> = {},
): string => {
  const text = forms[new Intl.PluralRules(locale).select(count)] ?? forms.other;
  return fill(text, { ...values, count: new Intl.NumberFormat(locale).format(count) });
};

/** A readable size, in the units of listings: 1 KB is 1,024 bytes. */
export const humanSize = ({ locale }: Pick<Texts, 'locale'>, bytes: number): string => {
  const units = ['B', 'KB', 'MB', 'GB', 'TB'];
  const power = Math.min(units.length - 1, bytes < 1 ? 0 : Math.floor(Math.log2(bytes) / 10));
  const value = bytes / 1024 ** power;
  const digits = { maximumFractionDigits: power === 0 || value >= 100 ? 0 : 1 };
  return `${new Intl.NumberFormat(locale, digits).format(value)} ${units[power] ?? ''}`;
};

/** A readable date and time, to the minute. */
export const humanTime = ({ locale }: Pick<Texts, 'locale'>, iso: string): string =>
  new Intl.DateTimeFormat(locale, { dateStyle: 'medium', timeStyle: 'short' }).format(new Date(iso));
