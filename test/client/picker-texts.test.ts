import { readdirSync, readFileSync } from 'node:fs';
import { describe, expect, it } from 'vitest';
import { definePicker, englishTexts } from 'stowage-browser/picker';

type Value = string | Readonly<Record<string, string>>;
type Texts = Readonly<Record<string, Value>>;

const FOLDER = 'packages/browser/src/picker/texts';
const files = readdirSync(FOLDER).filter((file) => file.endsWith('.json'));
const english = englishTexts as unknown as Texts;

const isPlural = (value: Value): value is Readonly<Record<string, string>> =>
  typeof value !== 'string' && typeof value['other'] === 'string';

const placeholders = (text: string): readonly string[] =>
  [...new Set([...text.matchAll(/\{\w+\}/gu)].map(([placeholder]) => placeholder))].sort();

it('there are texts in the languages of the messages of the service', () => {
  const messages = readdirSync('packages/stowage/src/errors/languages').filter((file) =>
    file.endsWith('.json'),
  );
  expect(files).toEqual(messages);
  const code = readFileSync('packages/browser/src/picker/texts.ts', 'utf8');
  expect([...code.matchAll(/texts\/(\w+\.json)/gu)].map(([, file]) => file).sort()).toEqual(files);
  const page = readFileSync('docs/picker.md', 'utf8');
  const names = new Intl.DisplayNames(['en'], { type: 'language' });
  for (const file of files) expect(page).toContain(names.of(file.replace('.json', '')));
});

describe.each(files)('the texts in %s', (file) => {
  const texts = JSON.parse(readFileSync(`${FOLDER}/${file}`, 'utf8')) as Texts;
  const language = file.replace('.json', '');
  const categories = [...new Intl.PluralRules(language).resolvedOptions().pluralCategories].sort();

  it('are those of English, with the same values', () => {
    expect(Object.keys(texts).sort()).toEqual(Object.keys(english).sort());
    for (const [key, value] of Object.entries(english)) {
      const own = texts[key] ?? '';
      if (typeof value === 'string' || typeof own === 'string') {
        if (typeof own !== 'string' || typeof value !== 'string')
          throw new Error(`${key} is of another kind.`);
        expect([key, placeholders(own)]).toEqual([key, placeholders(value)]);
        expect(own.trim(), key).not.toBe('');
      } else if (isPlural(value)) {
        // A form for one thing may name it, or count it.
        expect([key, placeholders(own['other'] ?? '')]).toEqual([key, placeholders(value['other'] ?? '')]);
        const allowed = new Set(Object.values(value).flatMap(placeholders));
        for (const form of Object.values(own)) {
          expect(form.trim(), key).not.toBe('');
          expect([key, placeholders(form).filter((one) => !allowed.has(one))]).toEqual([key, []]);
        }
      } else {
        expect([key, Object.keys(own).sort()]).toEqual([key, Object.keys(value).sort()]);
        for (const [name, text] of Object.entries<string>(value)) {
          expect([key, name, placeholders(own[name] ?? '')]).toEqual([key, name, placeholders(text)]);
          expect((own[name] ?? '').trim(), `${key}.${name}`).not.toBe('');
        }
      }
    }
  });

  it('have all forms that their language counts with, and its direction', () => {
    for (const [key, value] of Object.entries(texts))
      if (isPlural(value)) expect([key, Object.keys(value).sort()]).toEqual([key, categories]);
    expect(texts['locale']).toBe(language);
    expect(texts['direction']).toBe(['ar', 'fa', 'he', 'ur'].includes(language) ? 'rtl' : 'ltr');
  });
});

it('a server that renders a page may define the picker: it has no elements', () => {
  expect(definePicker).not.toThrow();
});
