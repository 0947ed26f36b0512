import ar from './ar.json' with { type: 'json' };
import de from './de.json' with { type: 'json' };
import en from './en.json' with { type: 'json' };
import es from './es.json' with { type: 'json' };
import fr from './fr.json' with { type: 'json' };
import ru from './ru.json' with { type: 'json' };
import zh from './zh.json' with { type: 'json' };
import type { Texts } from './texts.ts';

/** The compiler rejects a language that lacks a text. */
const byLanguage: Readonly<Record<string, Texts>> = { ar, de, en, es, fr, ru, zh };

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
  byLanguage[language.toLowerCase().split(/[-_]/u, 1)[0] ?? ''] ?? en;
