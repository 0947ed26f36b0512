import english from './texts/en.json' with { type: 'json' };

/** The texts of one language. A text about a number has the plural forms of its language. */
export type Texts = typeof english;

/** Forms by the plural categories of the language; `other` is always there. */
export type Plural = Readonly<Partial<Record<Intl.LDMLPluralRule, string>>> & { readonly other: string };

export const englishTexts: Texts = english;

/** Puts values in the place of `{names}`. Names are isolated: their direction may be another one than that of the text. */
export const fill = (text: string, values: Readonly<Record<string, string | number>>): string =>
  text.replaceAll(/\{(\w+)\}/gu, (whole, name: string) => {
    const value = values[name];
    if (value === undefined) return whole;
    return typeof value === 'number' || /^[\d\s.,\u066b\u066c\u0660-\u0669]*$/u.test(value)
      ? String(value)
      : `\u2068${value}\u2069`;
  });

/** The form of a text for a number, which is also its `{count}`. */
export const counted = (
  { locale }: Pick<Texts, 'locale'>,
  forms: Plural,
  count: number,
  values: Readonly<Record<string, string | number>> = {},
): string => {
  const text = forms[new Intl.PluralRules(locale).select(count)] ?? forms.other;
  return fill(text, { ...values, count: new Intl.NumberFormat(locale).format(count) });
};

/** A size for people, in the units of listings: 1 KB is 1,024 bytes. */
export const humanSize = ({ locale }: Pick<Texts, 'locale'>, bytes: number): string => {
  const units = ['B', 'KB', 'MB', 'GB', 'TB'];
  const power = Math.min(units.length - 1, bytes < 1 ? 0 : Math.floor(Math.log2(bytes) / 10));
  const value = bytes / 1024 ** power;
  const digits = { maximumFractionDigits: power === 0 || value >= 100 ? 0 : 1 };
  return `${new Intl.NumberFormat(locale, digits).format(value)} ${units[power] ?? ''}`;
};

/** A moment for people, by the day and the minute. */
export const humanTime = ({ locale }: Pick<Texts, 'locale'>, iso: string): string =>
  new Intl.DateTimeFormat(locale, { dateStyle: 'medium', timeStyle: 'short' }).format(new Date(iso));
