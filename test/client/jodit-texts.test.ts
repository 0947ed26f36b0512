import { readdirSync, readFileSync } from 'node:fs';
import { describe, expect, it } from 'vitest';

type Texts = { readonly [key: string]: string | Texts };

const FOLDER = 'packages/browser/src/jodit/texts';
const read = (file: string): Texts => JSON.parse(readFileSync(`${FOLDER}/${file}`, 'utf8')) as Texts;
const files = readdirSync(FOLDER).filter((file) => file.endsWith('.json'));

const isPlural = (texts: Texts): texts is Readonly<Record<string, string>> =>
  typeof texts['other'] === 'string';

/** The texts by their paths; of a text about a number, the form for other numbers. */
const byPath = (texts: Texts, parent = ''): ReadonlyMap<string, string> =>
  new Map(
    Object.entries(texts).flatMap(([key, value]) => {
      if (typeof value === 'string') return [[parent + key, value] as const];
      return isPlural(value)
        ? [[parent + key, value['other'] ?? ''] as const]
        : [...byPath(value, `${parent}${key}.`)];
    }),
  );

const plurals = (texts: Texts): readonly Texts[] =>
  Object.values(texts).flatMap((value) => {
    if (typeof value === 'string') return [];
    return isPlural(value) ? [value] : plurals(value);
  });

const placeholders = (text: string): readonly string[] =>
  [...new Set([...text.matchAll(/\{\w+\}/gu)].map(([placeholder]) => placeholder))].sort();

const english = byPath(read('en.json'));

describe.each(files)('the texts in %s', (file) => {
  const texts = read(file);

  it('are those of English, with the same values', () => {
    const own = byPath(texts);
    expect([...own.keys()].sort()).toEqual([...english.keys()].sort());
    for (const [path, text] of own) {
      expect(text.trim(), path).not.toBe('');
      expect([path, placeholders(text)]).toEqual([path, placeholders(english.get(path) ?? '')]);
    }
  });

  it('have forms that their language counts with, and a direction that pages know', () => {
    const { locale, direction } = texts;
    const categories = new Intl.PluralRules(file.slice(0, 2)).resolvedOptions().pluralCategories;
    for (const forms of plurals(texts))
      expect(categories).toEqual(expect.arrayContaining(Object.keys(forms)));
    expect(locale).toBe(file.slice(0, 2));
    expect(['ltr', 'rtl']).toContain(direction);
  });
});
