import type { Sorting } from './sorting.ts';
import english from './texts/en.json' with { type: 'json' };

/** Forms by the plural categories of the language; `other` is always there. */
export type Plural = Readonly<Partial<Record<Intl.LDMLPluralRule, string>>> & { readonly other: string };

/** The texts of one language. Names in braces are values; texts about a number have the plural forms of the language. */
export interface Texts {
  readonly locale: string;
  readonly direction: 'ltr' | 'rtl';
  readonly title: string;
  readonly close: string;
  readonly cancel: string;
  readonly ok: string;
  readonly insert: Plural;
  readonly folders: string;
  readonly showFolders: string;
  readonly location: string;
  readonly tools: string;
  readonly content: string;
  readonly upload: string;
  readonly uploadTo: string;
  readonly moveHere: string;
  readonly newFolder: string;
  readonly newFolderName: string;
  readonly rename: string;
  readonly newName: string;
  readonly move: string;
  readonly copy: string;
  readonly moveTo: Plural;
  readonly copyTo: Plural;
  readonly choose: string;
  readonly remove: string;
  readonly removeQuestion: Plural;
  readonly removeFinal: string;
  readonly download: string;
  readonly edit: string;
  readonly open: string;
  readonly details: string;
  readonly more: string;
  readonly view: string;
  readonly tiles: string;
  readonly list: string;
  readonly sort: string;
  readonly sorts: Readonly<Record<Sorting, string>>;
  readonly name: string;
  readonly size: string;
  readonly changed: string;
  readonly dimensions: string;
  readonly type: string;
  readonly folder: string;
  readonly up: string;
  readonly search: string;
  readonly found: Plural;
  readonly foundSoFar: Plural;
  readonly nothingFound: string;
  readonly loading: string;
  readonly items: Plural;
  readonly selected: Plural;
  readonly empty: string;
  readonly emptyUpload: string;
  readonly tryAgain: string;
  readonly unreachable: string;
  readonly answered: string;
  readonly noAnswer: string;
  readonly offline: string;
  readonly uploads: string;
  readonly uploading: string;
  readonly storing: string;
  readonly uploaded: Plural;
  readonly uploadFailed: string;
  readonly uploadCancelled: string;
  readonly uploadStopped: string;
  readonly cancelUpload: string;
  readonly tooLarge: string;
  readonly wrongType: string;
  readonly noRoom: string;
  readonly undo: string;
  readonly undone: string;
  readonly renamed: string;
  readonly removed: Plural;
  readonly moved: Plural;
  readonly copied: Plural;
  readonly someFailed: string;
  readonly created: string;
  readonly paste: string;
  readonly cut: Plural;
  readonly taken: Plural;
  readonly trash: string;
  readonly trashOf: string;
  readonly showMore: string;
  readonly trashEmpty: string;
  readonly emptyTrash: string;
  readonly emptyTrashQuestion: string;
  readonly emptied: Plural;
  readonly restore: string;
  readonly restored: string;
  readonly erase: string;
  readonly eraseQuestion: string;
  readonly erased: string;
  readonly earlier: string;
  readonly wasIn: string;
  readonly removedAt: string;
  readonly editTitle: string;
  readonly crop: string;
  readonly resize: string;
  readonly turnLeft: string;
  readonly turnRight: string;
  readonly left: string;
  readonly top: string;
  readonly width: string;
  readonly height: string;
  readonly cropArea: string;
  readonly save: string;
  readonly saveAs: string;
  readonly imageChanged: string;
}

export const englishTexts: Texts = { ...english, direction: 'ltr' };

/** Replaces `{names}` by values. Names of files are isolated: they may run in another direction than the text. */
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
