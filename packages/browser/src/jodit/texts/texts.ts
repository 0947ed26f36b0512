/** The forms of a text about a number, by the plural categories of the language; `other` for the rest. */
export type Plural = Readonly<Partial<Record<Intl.LDMLPluralRule, string>>> & { readonly other: string };

/** The texts of the view of the trash. */
export interface TrashTexts {
  readonly title: string;
  readonly back: string;
  readonly source: string;
  readonly nothing: string;
  readonly items: Plural;
  readonly more: string;
  readonly name: string;
  readonly where: string;
  readonly when: string;
  readonly size: string;
  readonly who: string;
  readonly actions: string;
  readonly folder: string;
  readonly earlier: string;
  readonly restore: string;
  readonly restoreItem: string;
  readonly restored: string;
  readonly restoredAs: string;
  readonly show: string;
  readonly erase: string;
  readonly eraseItem: string;
  readonly eraseQuestion: string;
  readonly erased: string;
  readonly empty: string;
  readonly emptyQuestion: string;
  readonly emptied: Plural;
}

/** The texts of the search. */
export interface SearchTexts {
  readonly field: string;
  readonly running: string;
  readonly found: Plural;
  readonly foundSoFar: Plural;
  readonly nothing: string;
  readonly nothingSoFar: string;
  readonly within: string;
  readonly everywhere: string;
  readonly folders: string;
  readonly open: string;
  readonly end: string;
  readonly more: string;
}

/** Every text of this room in one language. `{name}` and the like are filled in. */
export interface Texts {
  /** Of `Intl`: plural rules, numbers, times. */
  readonly locale: string;
  /** Of the attribute `dir`: `ltr` or `rtl`. */
  readonly direction: string;
  readonly unreachable: string;
  readonly foreignAnswer: string;
  readonly noAnswer: string;
  readonly uploading: Plural;
  readonly fetching: string;
  readonly storing: string;
  readonly sent: string;
  readonly cancel: string;
  readonly uploadCancelled: string;
  readonly uploadStopped: string;
  readonly close: string;
  readonly deleteFiles: Plural;
  readonly deleteFolder: string;
  readonly andMore: Plural;
  readonly remove: string;
  readonly filesDeleted: Plural;
  readonly someDeleted: string;
  readonly filesMoved: Plural;
  readonly someMoved: string;
  readonly filesCut: Plural;
  readonly controlV: string;
  readonly download: string;
  readonly downloading: string;
  readonly turnLeft: string;
  readonly turnRight: string;
  readonly turned: string;
  readonly brokeOff: string;
  readonly tryAgain: string;
  readonly undo: string;
  readonly restored: Plural;
  readonly trash: TrashTexts;
  readonly search: SearchTexts;
  readonly imageChanged: string;
  readonly imageBack: string;
  readonly folder: string;
  readonly folders: string;
  readonly files: string;
  readonly fileBrowser: string;
  readonly allSources: string;
  readonly parentFolder: string;
  readonly renameFolder: string;
  readonly removeFolder: string;
}

/** Puts values into the braces of a text. */
export const fill = (text: string, values: Readonly<Record<string, string | number>>): string =>
  text.replaceAll(/\{(\w+)\}/gu, (braces, name: string) => String(values[name] ?? braces));

/** The form of a text for a number, with `{count}` filled in as people of that language write it. */
export const counted = (
  { locale }: Texts,
  forms: Plural,
  count: number,
  values: Readonly<Record<string, string>> = {},
): string => {
  const form = forms[new Intl.PluralRules(locale).select(count)] ?? forms.other;
  return fill(form, { ...values, count: new Intl.NumberFormat(locale).format(count) });
};
