import { arabic } from './ar.ts';
import { chinese } from './zh.ts';
import { english } from './en.ts';
import { french } from './fr.ts';
import { german } from './de.ts';
import { russian } from './ru.ts';
import { spanish } from './es.ts';
import type { Texts } from './texts.ts';

const byLanguage: Readonly<Record<string, Texts>> = {
  ar: arabic,
  de: german,
  en: english,
  es: spanish,
  fr: french,
  ru: russian,
  zh: chinese,
};

/**
 * The language of a page that names none, as Jodit finds it: the page's own, else the browser's. Servers,
 * which have no page, get English.
 */
export const languageOfPage = (wanted: string | undefined): string => {
  if (wanted !== undefined && wanted !== '' && wanted !== 'auto') return wanted;
  if (typeof document === 'undefined') return 'en';
  return document.documentElement.lang || navigator.language || 'en';
};

/** The texts for a language tag, as Jodit (`zh_cn`) or browsers (`de-AT`) write it; English for others. */
export const textsFor = (language: string): Texts =>
  byLanguage[language.toLowerCase().split(/[-_]/u, 1)[0] ?? ''] ?? english;
