import { accessKeyOf, createActions } from '#internals';
import { createRouter, type AccessRule } from 'stowage';
import { describe, expect, it } from 'vitest';

const quiet = { logger: { debug() {}, info() {}, warn() {}, error() {} } };

/** Well-formed parameters of every action, about things in `folder`. */
const parametersOf = (folder: string): Record<string, string> => ({
  path: folder,
  name: 'a.png',
  newname: 'b.png',
  from: `${folder}/sub`,
  url: 'http://files.test/' + `${folder}/a.png`,
  html: '<p>x</p>',
  'box[x]': '0',
  'box[y]': '0',
  'box[w]': '5',
  'box[h]': '5',
  angle: '90',
  preset: 'card',
  alt: 'A picture',
});

const png = Buffer.from(
  'iVBORw0KGgoAAAANSUhEUgAAAAEAAAABCAYAAAAfFcSJAAAADUlEQVR42mNkYPhfDwAChwGA60e6kgAAAABJRU5ErkJggg==',
  'base64',
);

const connector = (rules: readonly AccessRule[]) => {
  let active: readonly AccessRule[] = [];
  const router = createRouter(
    {
      createThumb: false,
      imagePresets: { card: { width: 10 } },
      sources: { files: { title: 'Files', baseurl: 'http://files.test/', storageAdapter: 'memory' } },
    },
    { accessControl: () => active, findUses: () => [] },
    quiet,
  );
  const send = async (action: string, parameters: Record<string, string>, file = false) => {
    const body = new FormData();
    for (const [name, value] of Object.entries(parameters)) body.append(name, value);
    if (file) body.append('files[0]', new Blob([png]), 'a.png');
    const response = await router.fetch(new Request(`http://a.test/${action}`, { method: 'POST', body }));
    await response.arrayBuffer();
    return response.status;
  };
  const prepare = async () => {
    for (const folder of ['open', 'closed']) {
      expect(await send('folderCreate', { name: folder })).toBe(200);
      expect(await send('folderCreate', { path: folder, name: 'sub' })).toBe(200);
      expect(await send('fileUpload', { path: folder }, true)).toBe(200);
    }
    active = rules;
  };
  return { send, prepare, close: () => router.close() };
};

/**
 * Actions without a place in a source, of which rules about paths say nothing, and those that leave out what is denied: their own
 * tests say what.
 */
const placeless = new Set([
  'generatePdf',
  'generateDocx',
  'filesSearch',
  'trashList',
  'trashRestore',
  'trashRemove',
  'trashEmpty',
]);
const names = [...createActions().keys()].filter((name) => !placeless.has(name));

/**
 * The check before an action lets through what some folder or type may allow; then the action itself must
 * refuse.
 */
describe.each(names)('%s that is allowed in one folder only', (name) => {
  const key = accessKeyOf(name);
  // A remote upload needs the permission to upload too; moves follow the kind of what they move.
  const related = name.endsWith('Move') ? ['FILE_MOVE', 'FOLDER_MOVE'] : [key];
  const all = (value: boolean) => Object.fromEntries(related.map((each) => [each, value]));

  it('is refused everywhere else', async () => {
    const { send, prepare, close } = connector([all(false), { path: '/open', ...all(true) }]);
    await prepare();
    for (const folder of ['closed', '', 'closed/../closed', '/closed/']) {
      const status = await send(name, parametersOf(folder), name === 'imageSave' || name === 'fileUpload');
      expect([folder, status]).toEqual([folder, 403]);
    }
    await close();
  });

  it('is refused for types that no rule allows', async () => {
    const { send, prepare, close } = connector([all(false), { extensions: 'pdf', ...all(true) }]);
    await prepare();
    const status = await send(name, parametersOf('open'), name === 'imageSave' || name === 'fileUpload');
    expect(status).toBe(403);
    await close();
  });
});
