import { readdirSync, readFileSync } from 'node:fs';
import { join, resolve } from 'node:path';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { checkConfiguration, settingsShape } from '#internals';

const root = resolve(import.meta.dirname, '../..');

const filesIn = (folder: string, extension: string): readonly string[] =>
  readdirSync(join(root, folder), { recursive: true, encoding: 'utf8' })
    .filter((name) => name.endsWith(extension))
    .map((name) => join(folder, name));

/** The JSON objects of a page, or the one of a file. */
const objectsOf = (file: string): readonly (readonly [name: string, value: object])[] => {
  const text = readFileSync(join(root, file), 'utf8');
  const all = file.endsWith('.json')
    ? [text]
    : [...text.matchAll(/^(```|~~~)json\n(.*?)^\1/gmsu)].map(([, , code = '']) => code);
  return all.map((code, index) => [
    `${file}, ${String(index + 1)}`,
    // Files and variables with secrets are not here.
    JSON.parse(code, (_key, value: unknown) => (isReference(value) ? 'a'.repeat(64) : value)) as object,
  ]);
};

const isReference = (value: unknown): boolean =>
  /^\{"(?:env|file)":"[^"]*"\}$/u.test(JSON.stringify(value) ?? '');

const isConfiguration = (value: object): boolean =>
  Object.keys(value).some((key) => key === 'sources' || Object.hasOwn(settingsShape, key));

const configurations = [
  ...['README.md', ...filesIn('docs', '.md'), ...filesIn('examples', '.json')].flatMap(objectsOf),
].filter(([, value]) => isConfiguration(value));

describe('configurations of the documents and the examples', () => {
  const before = process.env['STOWAGE_SIGNING_SECRET'];
  beforeAll(() => {
    process.env['STOWAGE_SIGNING_SECRET'] = 'k'.repeat(32);
  });
  afterAll(() => {
    if (before === undefined) delete process.env['STOWAGE_SIGNING_SECRET'];
    else process.env['STOWAGE_SIGNING_SECRET'] = before;
  });

  it('are many', () => {
    expect(configurations.length).toBeGreaterThan(20);
  });

  it.each(configurations)('work as they are copied: %s', (_name, value) => {
    expect(() => checkConfiguration(value)).not.toThrow();
  });
});
