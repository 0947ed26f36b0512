import assert from 'node:assert/strict';
import { NotFoundError } from '../../../errors/errors.ts';
import { type CaseDefinition, expectBytes, expectError, namesIn, put, it, theme } from '../case.ts';

const ODD_NAMES: readonly (readonly [what: string, name: string])[] = [
  ['a space', 'two words.txt'],
  ['leading and trailing spaces', ' edge .txt '],
  ['a leading dot', '.hidden'],
  ['many dots', 'a..b...txt'],
  ['single quotes', "it's.txt"],
  ['double quotes', 'say "hi".txt'],
  ['+ and &', 'a+b&c.txt'],
  ['percent signs', '100%25 %2e%2e%2f.txt'],
  ['# and ?', 'what?#1.txt'],
  ['; and =', 'a;b=c.txt'],
  ['angle brackets', '<img src=x>.txt'],
  ['brackets and braces', '[a](b){c}$!,@~`^|.txt'],
  ['a colon and a star', 'a:b*.txt'],
  ['a leading dash', '--force'],
  ['emoji', 'smile 😀👨‍👩‍👧.txt'],
  ['Hebrew', 'שלום עולם.txt'],
  ['Chinese and Japanese', '文件ファイル.txt'],
  ['a composed letter', 'caf\u00e9.txt'],
  ['a letter outside of the first plane', '𝒳𐍈.txt'],
  ['255 bytes', `${'x'.repeat(251)}.txt`],
  ['255 bytes of three-byte letters', '文'.repeat(85)],
  ['255 bytes of letters that are longer when decomposed', '각'.repeat(85)],
  ['the name of a page that web servers send for its folder', 'index.html'],
  ['the name of an own property', '__proto__'],
  ['the name of a method', 'constructor'],
];

const liveWith = ([what, name]: readonly [string, string]): CaseDefinition =>
  it(`${what} in the names of a file and of a folder`, async ({ adapter, at }) => {
    const folder = at('').child(name);
    const file = folder.child(name);
    await put(adapter, file, name);
    assert.deepEqual(await namesIn(adapter), [name]);
    assert.deepEqual(await namesIn(adapter, folder), [name]);
    assert.equal((await adapter.stat(file)).name, name);
    await expectBytes(adapter, file, name);
    const copy = at('to').child(name);
    await adapter.makeFolder(at('to'));
    await adapter.copyFile(file, copy);
    await expectBytes(adapter, copy, name);
    await adapter.moveFile(copy, at('to/plain'));
    await expectError(adapter.stat(copy), NotFoundError);
    await adapter.moveFile(at('to/plain'), copy, { createOnly: true });
    await expectBytes(adapter, copy, name);
    await adapter.removeFile(copy);
    await adapter.removeFolder(folder);
    assert.deepEqual(await namesIn(adapter), ['to']);
  });

/** File names in every script, and with every character that some layer treats specially. */
export const nameTheme = theme('names', [
  ...ODD_NAMES.map(liveWith),
  it('a decomposed letter and a composed one are the same name', async ({ adapter, at }) => {
    await put(adapter, at('cafe\u0301.txt'), 'coffee');
    await expectBytes(adapter, at('caf\u00e9.txt'), 'coffee');
    assert.deepEqual(await namesIn(adapter), ['caf\u00e9.txt']);
  }),
  it('an encoded name is another name than the decoded one', async ({ adapter, at }) => {
    await put(adapter, at('a%20b.txt'), 'encoded');
    await put(adapter, at('a b.txt'), 'decoded');
    await put(adapter, at('a+b.txt'), 'plus');
    await expectBytes(adapter, at('a%20b.txt'), 'encoded');
    await expectBytes(adapter, at('a b.txt'), 'decoded');
    await expectBytes(adapter, at('a+b.txt'), 'plus');
    assert.deepEqual(await namesIn(adapter), ['a b.txt', 'a%20b.txt', 'a+b.txt']);
  }),
  it('a path of many folders works', async ({ adapter, at }) => {
    const deep = Array.from({ length: 40 }, (_, index) => `level-${index}`).join('/');
    await put(adapter, at(`${deep}/a.txt`), 'deep');
    await expectBytes(adapter, at(`${deep}/a.txt`), 'deep');
    await adapter.removeFolder(at('level-0'));
    assert.deepEqual(await namesIn(adapter), []);
  }),
]);
