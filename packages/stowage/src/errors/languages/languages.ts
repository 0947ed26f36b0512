import { filled, detailedMessages, errorTable, type DetailedCode, type ErrorCode } from '../table.ts';
import de from './de.json' with { type: 'json' };
import ar from './ar.json' with { type: 'json' };
import es from './es.json' with { type: 'json' };
import fr from './fr.json' with { type: 'json' };
import it from './it.json' with { type: 'json' };
import ja from './ja.json' with { type: 'json' };
import nl from './nl.json' with { type: 'json' };
import pl from './pl.json' with { type: 'json' };
import pt from './pt.json' with { type: 'json' };
import ru from './ru.json' with { type: 'json' };
import zh from './zh.json' with { type: 'json' };
import type { StowageError } from '../errors.ts';

/**
 * Specific English texts with their translations: more specific than the error table, and summaries of successful
 * requests. Those without a full stop follow the name of a parameter, or its user-facing name. Values are in
 * braces: `{most}`. The German catalogue stands for all: the compiler rejects a language that lacks a text.
 */
type Phrases = (typeof de)['phrases'];

/** Translations by their English texts. */
type Translations = Readonly<Record<string, string>>;

const templates = Object.keys(de.phrases)
  .filter((text) => text.includes('{'))
  .map((text) => {
    const literal = text.replaceAll(/[.*+?^$()|[\]\\]/gu, String.raw`\$&`);
    return [text, new RegExp(`^${literal.replaceAll(/\{(\w+)\}/gu, '(?<$1>.+)')}$`, 'u')] as const;
  });

const phraseIn = (phrases: Translations, text: string): string | undefined => {
  if (Object.hasOwn(phrases, text)) return phrases[text];
  for (const [template, pattern] of templates) {
    const values = pattern.exec(text)?.groups;
    if (values !== undefined) return filled(phrases[template] ?? template, values);
  }
  return undefined;
};

const OF_PARAMETER = /^(.+?):? ((?:must|is) .+?)\.?$/u;

/** The translation of an English message; undefined when there is no phrase for it. */
export const translated = (phrases: Translations, message: string): string | undefined => {
  const whole = phraseIn(phrases, message);
  if (whole !== undefined) return whole;
  const [, parameter = '', problem = ''] = OF_PARAMETER.exec(message) ?? [];
  const phrase = phraseIn(phrases, problem);
  return phrase === undefined ? undefined : `${phraseIn(phrases, parameter) ?? parameter}: ${phrase}`;
};

/** All error messages of one language. Values of an error are in braces: `{name}`. */
export interface Catalogue {
  /** General messages, for errors without values. */
  readonly messages: Readonly<Record<ErrorCode, string>>;
  /** Messages with the values of the error. */
  readonly detailed: Readonly<Record<DetailedCode, string>>;
  /** Additional message of a form with several files. */
  readonly nothingUploaded: string;
  readonly nothingUploadedBecause: string;
  /** Translations of specific English texts; English itself has none. */
  readonly phrases?: Translations;
}

/** The error table itself. */
export const english: Omit<Catalogue, 'phrases'> = {
  messages: Object.fromEntries(
    Object.entries(errorTable).map(([code, { message }]) => [code, message]),
  ) as Record<ErrorCode, string>,
  detailed: detailedMessages,
  nothingUploaded: 'Nothing was uploaded.',
  nothingUploadedBecause: 'Nothing was uploaded because of "{name}".',
};

const languages = ['en', 'de', 'fr', 'es', 'it', 'pt', 'nl', 'pl', 'ru', 'zh', 'ja', 'ar'] as const;

export type Language = (typeof languages)[number];

/** The messages of each language. The compiler rejects a language that lacks a message. */
export const catalogues: Readonly<Record<Language, Catalogue>> = {
  en: english,
  de,
  fr,
  es,
  it,
  pt,
  nl,
  pl,
  ru,
  zh,
  ja,
  ar,
} satisfies Record<Language, Omit<Catalogue, 'phrases'> & { readonly phrases?: Phrases }>;

/** Maximum length of a language tag, blanks included. */
const MOST_TAG_UNITS = 100;

/** The supported language of a tag such as `de-AT`, or `de_AT` as editors write it. */
export const languageOf = (tag: string): Language | undefined => {
  const [primary = ''] = tag.slice(0, MOST_TAG_UNITS).trim().toLowerCase().split(/[-_]/u, 1);
  return languages.find((language) => language === primary);
};

/** Maximum number of languages evaluated in a header. */
const MOST_TAGS = 20;

/** The supported language that an `Accept-Language` header prefers. */
export const acceptedLanguage = (header: string): Language | undefined => {
  const wanted = header.split(',', MOST_TAGS).flatMap((part) => {
    const [tag = '', ...parameters] = part.split(';');
    const language = languageOf(tag);
    const quality = parameters.map((one) => /^\s*q=([\d.]+)\s*$/u.exec(one)?.[1]).find(Boolean);
    const weight = quality === undefined ? 1 : Number(quality);
    return language === undefined || !(weight > 0) ? [] : [{ language, weight }];
  });
  // The sort is stable: equal weights keep their order.
  return wanted.sort((one, other) => other.weight - one.weight)[0]?.language;
};

/**
 * The messages of an error in a language, one per problem. Problems without a translated phrase use the
 * general message of the error table, with the names of the invalid parameters.
 */
export const messagesIn = (
  language: Language,
  { code, messages, details = {} }: Pick<StowageError, 'code' | 'messages' | 'details'>,
): readonly string[] => {
  const { messages: general, detailed, phrases } = catalogues[language];
  const template = code in detailed ? detailed[code as DetailedCode] : undefined;
  const exact = template === undefined ? undefined : filled(template, details);
  if (phrases === undefined)
    return exact !== undefined && messages.join() === english.messages[code] ? [exact] : messages;
  const said = messages.map((message) => translated(phrases, message));
  if (exact !== undefined && said.includes(undefined)) return [exact];
  const { parameters } = details;
  const vague = parameters === undefined ? general[code] : `${general[code]} (${String(parameters)})`;
  return [...new Set(said.map((message) => message ?? vague))];
};

/** Further messages of a response in a language; English where there is no phrase. */
export const toldIn = (language: Language, messages: readonly string[]): readonly string[] => {
  const { phrases }: Catalogue = catalogues[language];
  return phrases === undefined ? messages : messages.map((text) => translated(phrases, text) ?? text);
};

/** Additional message for an error of a form with several files: names the file as it was sent. */
export const nothingUploaded = (language: Language, details: StowageError['details'] = {}): string => {
  const { nothingUploaded: plain, nothingUploadedBecause: because } = catalogues[language];
  const { file: name = details['name'] } = details;
  return filled(because, name === undefined ? {} : { name }) ?? plain;
};
