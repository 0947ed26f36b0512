import { readFile } from 'node:fs/promises';
import { join } from 'node:path';
import { readOnly, type AccessRule } from 'stowage';
import { describe, expect, it, onTestFinished } from 'vitest';
import { accessKeyOf, createActions, neededKeys } from '../../dist/internals.js';
import { quarters } from '../images/pictures.ts';
import { metadataOf, TUS } from '../protocol/tus-client.ts';
import { startService, type Service } from '../protocol/service.ts';
import { startSite } from '../remote/loopback.ts';

/** Stands in every file: whoever reads it has got through. */
const CANARY = 'the canary sings';

type Value = string | readonly string[] | { readonly [name: string]: string };
type Parameters = Readonly<Record<string, Value>>;

/** One way to ask for an action. `id` is what lies in the trash. */
interface Trial {
  readonly fields: (about: { readonly id: string; readonly site: string }) => Parameters;
  readonly kind?: 'file' | 'folder';
  readonly file?: true;
  /** It goes into the trash before. */
  readonly trashed?: string;
  /** It goes elsewhere: the keys of making it count there alone. */
  readonly isElsewhere?: boolean;
  /** It needs these keys besides what the action declares. */
  readonly keys?: readonly string[];
  /** A program that may not be installed makes it. */
  readonly isUntried?: true;
}

const place = { path: 'd' };
const png = { ...place, name: 'a.png' };
const items = { ...place, names: ['a.png', 'b.txt'] };
const edited = { fields: () => ({ ...png, box: { w: '5', h: '5', x: '0', y: '0' } }) };
const moved = (from: Parameters): Trial => ({ fields: () => ({ ...from, path: 'to' }) });
const inTrash = (fields: Parameters = {}): readonly Trial[] => [
  { fields: ({ id }) => ({ ...fields, id }), trashed: 'd/b.txt' },
  { fields: ({ id }) => ({ ...fields, id }), trashed: 'd/f', kind: 'folder' },
];
/** Every action, in every way of naming what it works on. */
const trials: Readonly<Record<string, readonly Trial[]>> = {
  permissions: [{ fields: () => place }],
  files: [{ fields: () => ({ ...place, mods: { details: 'true', withFolders: 'true' } }) }],
  folders: [{ fields: () => place }],
  fileUpload: [
    { fields: () => place, file: true },
    ...['ckeditor', 'tinymce', 'editorjs', 'froala'].map((responseType): Trial => ({
      fields: () => ({ ...place, responseType }),
      file: true,
    })),
  ],
  fileUploadRemote: [
    { fields: ({ site }) => ({ ...place, url: `${site}/far.txt` }) },
    { fields: ({ site }) => ({ ...place, url: `${site}/far.txt`, responseType: 'tinymce' }) },
  ],
  fileRemove: [{ fields: () => png }, { fields: () => items }],
  fileMove: [moved({ from: 'd/a.png' }), moved({ froms: ['d/a.png', 'd/b.txt'] })],
  fileCopy: [moved({ from: 'd/a.png' }), moved({ froms: ['d/a.png', 'd/b.txt'] })],
  fileRename: [
    { fields: () => ({ ...png, newname: 'c' }) },
    { fields: () => ({ ...place, name: 'f', newname: 'g' }), kind: 'folder' },
  ],
  fileDownload: [
    { fields: () => png },
    { fields: () => items },
    { fields: () => ({ ...place, names: ['f'] }), kind: 'folder' },
  ],
  getLocalFileByUrl: [{ fields: () => ({ url: 'https://files.example/files/d/a.png' }) }],
  folderCreate: [{ fields: () => ({ ...place, name: 'new' }), kind: 'folder' }],
  folderRemove: [
    { fields: () => ({ ...place, name: 'f' }), kind: 'folder' },
    { fields: () => ({ ...place, names: ['f'] }), kind: 'folder' },
  ],
  folderMove: [
    { ...moved({ from: 'd/f' }), kind: 'folder' },
    { ...moved({ froms: ['d/f'] }), kind: 'folder' },
  ],
  folderCopy: [
    { ...moved({ from: 'd/f' }), kind: 'folder' },
    { ...moved({ froms: ['d/f'] }), kind: 'folder' },
  ],
  folderRename: [{ fields: () => ({ ...place, name: 'f', newname: 'g' }), kind: 'folder' }],
  imageResize: [edited, { fields: () => ({ ...edited.fields(), newname: 'small.png' }) }],
  imageCrop: [edited, { fields: () => ({ ...edited.fields(), newname: 'cut.png' }) }],
  imageRotate: [{ fields: () => ({ ...png, angle: '90' }) }],
  imageSave: [
    { fields: () => png, file: true },
    { fields: () => ({ ...place, newname: 'saved.png' }), file: true },
  ],
  imageLoad: [{ fields: () => ({ url: 'https://files.example/files/d/a.png', ...png }) }],
  imageVariant: [{ fields: () => ({ ...png, preset: 'card' }) }],
  generatePdf: [
    { fields: () => ({ html: '<p>x</p>' }), isUntried: true },
    {
      fields: () => ({ ...place, html: '<p>x</p>', name: 'made.pdf' }),
      keys: ['FILE_UPLOAD'],
      isUntried: true,
    },
  ],
  generateDocx: [
    { fields: () => ({ html: '<p>x</p>' }) },
    { fields: () => ({ ...place, html: '<p>x</p>', name: 'made.docx' }), keys: ['FILE_UPLOAD'] },
  ],
  trashList: inTrash(),
  trashRestore: [
    ...inTrash(),
    ...inTrash({ path: 'to' }).map((trial): Trial => ({ ...trial, isElsewhere: true })),
  ],
  trashRemove: inTrash(),
  trashEmpty: inTrash(),
  filesSearch: [
    { fields: () => ({ ...place, query: 'b' }) },
    { fields: () => ({ ...place, query: 'f', type: 'folder' }), kind: 'folder' },
  ],
};

const flat = (fields: Parameters): readonly (readonly [string, string])[] =>
  Object.entries(fields).flatMap(([name, value]): readonly (readonly [string, string])[] => {
    if (typeof value === 'string') return [[name, value]];
    if (Array.isArray(value)) return value.map((one: string) => [`${name}[]`, one] as const);
    return Object.entries(value as Record<string, string>).map(
      ([inner, text]) => [`${name}[${inner}]`, text] as const,
    );
  });

/** The rules are in the role. */
const asking = (rules: readonly AccessRule[]): Record<string, string> => ({
  'x-role': JSON.stringify(rules),
});

type Send = (url: string, headers: Record<string, string>, fields: Parameters) => Promise<Response>;

const form: Send = (url, headers, fields) =>
  fetch(url, { method: 'POST', headers, body: new URLSearchParams(flat(fields).map(([...pair]) => pair)) });

const json: Send = (url, headers, fields) =>
  fetch(url, {
    method: 'POST',
    headers: { ...headers, 'content-type': 'application/json' },
    body: JSON.stringify(fields),
  });

const query: Send = (url, headers, fields) =>
  fetch(`${url}?${new URLSearchParams(flat(fields).map(([...pair]) => pair)).toString()}`, { headers });

const multipart =
  (file: Buffer<ArrayBuffer>): Send =>
  (url, headers, fields) => {
    const body = new FormData();
    for (const [name, value] of flat(fields)) body.append(name, value);
    body.append('files[0]', new Blob([file]), 'sent.png');
    return fetch(url, { method: 'POST', headers, body });
  };

/** An upload in parts, in one request. */
const tus =
  (file: Buffer<ArrayBuffer>): Send =>
  (url, headers, { path = '' }) =>
    fetch(url.replace(/fileUpload$/u, 'tus'), {
      method: 'POST',
      headers: {
        ...TUS,
        ...headers,
        'upload-length': String(file.byteLength),
        'upload-metadata': metadataOf({ path: path as string, filename: 'sent.png' }),
        'content-type': 'application/offset+octet-stream',
      },
      body: file,
    });

const doorsOf = (
  name: string,
  { file }: Trial,
  picture: Buffer<ArrayBuffer>,
): readonly (readonly [string, Send])[] => {
  const sent = [['multipart', multipart(picture)]] as const;
  if (file === true) return name === 'fileUpload' ? [...sent, ['tus', tus(picture)]] : sent;
  const isRead = createActions().get(name)?.methods.includes('GET') === true;
  return [...(isRead ? ([['query', query]] as const) : []), ['form', form], ['JSON', json]];
};

/** Whether an answer has refused: as a whole, for each of several, or by leaving out all there is. */
const isRefused = (status: number, text: string): boolean => {
  if (status >= 400) return true;
  const {
    success,
    uploaded,
    data = {},
  } = (text.startsWith('{') ? JSON.parse(text) : {}) as {
    readonly success?: boolean;
    readonly uploaded?: number;
    readonly data?: { readonly items?: readonly unknown[]; readonly removed?: number };
  };
  return success === false || uploaded === 0 || data.items?.length === 0 || data.removed === 0;
};

/** All that lies on disk, with its bytes. */
const snapshot = async (service: Service): Promise<string> => {
  const { root } = service.source('files');
  const paths = await service.source('files').paths();
  const shown = paths.filter((path) => !/^\.stowage-tmp\/|_thumbs\//u.test(path));
  const bytes = shown.map(async (path) =>
    path.endsWith('/') ? path : [path, await readFile(join(root, path), 'base64')],
  );
  return JSON.stringify(await Promise.all(bytes));
};

interface Stage {
  readonly service: Service;
  readonly picture: Buffer<ArrayBuffer>;
  readonly about: { readonly id: string; readonly site: string };
}

const start = async (trashed: string | undefined): Promise<Stage> => {
  const site = await startSite((_request, response) => void response.end(CANARY));
  onTestFinished(() => site.close());
  const service = await startService(
    {
      trash: {},
      createThumb: false,
      allowPrivateNetworkUploads: true,
      imagePresets: { card: { width: 10 } },
    },
    {
      checkAuthentication: ({ headers }) => headers['x-role'] ?? '[]',
      accessControl: (_request, { role }) => JSON.parse(role) as AccessRule[],
    },
  );
  const picture = Buffer.from(await quarters(90, 40).png().toBuffer());
  await service.source('files').put({
    'd/a.png': await quarters().png().toBuffer(),
    'd/b.txt': CANARY,
    'd/f/deep/b.txt': CANARY,
    'to/': '',
  });
  if (trashed === undefined) return { service, picture, about: { id: '', site: site.origin } };
  const [name = '', ...folders] = trashed.split('/').reverse();
  const action = name.includes('.') ? 'fileRemove' : 'folderRemove';
  expect((await service.call(action, { path: folders.reverse().join('/'), name })).status).toBe(200);
  const [item] = (await service.call('trashList')).data['items'] as { id: string }[];
  return { service, picture, about: { id: item?.id ?? '', site: site.origin } };
};

const actions = createActions();

const denied = (key: string, path = '*'): readonly AccessRule[] => [
  { path, [key]: false } as unknown as AccessRule,
];

const making = /^(?:FILE_UPLOAD|FOLDER_CREATE)$/u;

/** The lists of rules that must keep a trial from its end. */
const denials = (
  name: string,
  { kind = 'file', keys = [], trashed, isElsewhere = false }: Trial,
): readonly (readonly AccessRule[])[] => {
  const action = actions.get(name);
  if (action === undefined) return [];
  const needed = [...neededKeys(action, kind), ...keys];
  const group =
    action.changes || keys.length > 0 ? [readOnly] : name === 'permissions' ? [] : [[{ READ: false }]];
  // What a folder holds counts as the folder itself does.
  const parts =
    trashed === 'd/f' ? neededKeys(action, 'file') : name.startsWith('folder') ? [accessKeyOf(name)] : [];
  const inside = ['folders', 'folderCreate'].includes(name) ? [] : parts;
  return [
    ...needed.map((key) => denied(key)),
    ...needed.filter((key) => !isElsewhere || !making.test(key)).map((key) => denied(key, '/d')),
    ...inside.filter((key) => !isElsewhere || !making.test(key)).map((key) => denied(key, '/d/f/deep')),
    ...group,
  ];
};

it('every action has its trials', () => {
  expect(Object.keys(trials).sort()).toEqual([...actions.keys()].sort());
});

describe.each(Object.entries(trials))('%s', (name, ways) => {
  it.each(ways.map((trial, index) => [index, trial] as const))('way %i', async (_index, trial) => {
    const { service, picture, about } = await start(trial.trashed);
    const before = await snapshot(service);
    const fields = trial.fields(about);
    const doors = doorsOf(name, trial, picture);
    const send = async (door: Send, rules: readonly AccessRule[]): Promise<readonly [number, string]> => {
      const response = await door(`${service.url}/${name}`, asking(rules), fields);
      return [response.status, await response.text()];
    };
    for (const rules of denials(name, trial)) {
      if (
        JSON.stringify(rules).includes('"/d"') &&
        fields['path'] !== 'd' &&
        fields['url'] === undefined &&
        trial.trashed === undefined
      )
        continue;
      for (const [what, door] of doors) {
        const [status, text] = await send(door, rules);
        const told = `${what} ${JSON.stringify(rules)} ${String(status)} ${text.slice(0, 300)}`;
        expect(isRefused(status, text), told).toBe(true);
        expect(text.includes(CANARY), told).toBe(false);
      }
    }
    expect(await snapshot(service)).toBe(before);
    if (trial.isUntried === true) return;
    // And without rules it works, so that what was refused would have been done.
    const [status, text] = await send(doors[0]?.[1] ?? form, []);
    expect(isRefused(status, text), text).toBe(false);
    const changes = actions.get(name)?.changes === true || trial.keys !== undefined;
    expect((await snapshot(service)) !== before).toBe(changes);
  });
});

describe('links in answers', () => {
  /** All that looks like a link to a served file, wherever it stands in an answer. */
  const linksIn = (value: unknown): readonly string[] => {
    if (typeof value === 'string') return value.includes('/file/') && value !== '/file/files/' ? [value] : [];
    return typeof value === 'object' && value !== null ? Object.values(value).flatMap(linksIn) : [];
  };

  const open = async (rules: readonly AccessRule[], serve: string): Promise<readonly string[]> => {
    const service = await startService(
      {
        signingSecret: 'k'.repeat(40),
        imagePresets: { card: { width: 10 } },
        sources: { files: { baseurl: undefined, serve } },
      },
      {
        checkAuthentication: ({ headers }) => headers['x-role'] ?? '[]',
        accessControl: (_request, { role }) => JSON.parse(role) as AccessRule[],
      },
    );
    const picture = Buffer.from(await quarters(90, 40).png().toBuffer());
    await service.source('files').put({ 'a.png': picture, 'b.txt': CANARY, 'f/': '' });
    const mods = { details: 'true', variants: 'true', withFolders: 'true' };
    const asked: readonly (readonly [string, Send, Parameters])[] = [
      ['files', json, { mods }],
      ['filesSearch', json, { query: 'a', mods: { details: 'true' } }],
      ['filesSearch', json, { query: 'b' }],
      ['fileUpload', multipart(picture), {}],
      ...['ckeditor', 'tinymce', 'editorjs', 'froala'].map(
        (responseType) => ['fileUpload', multipart(picture), { responseType }] as const,
      ),
      ['imageResize', json, { name: 'a.png', newname: 'r.png', box: { w: '5', h: '5' } }],
      ['imageCrop', json, { name: 'a.png', newname: 'c.png', box: { x: '0', y: '0', w: '5', h: '5' } }],
      ['imageRotate', json, { name: 'a.png', newname: 't.png', angle: '90' }],
      ['imageSave', multipart(picture), { newname: 's.png' }],
      ['generateDocx', json, { html: '<p>x</p>', name: 'made.docx' }],
    ];
    const opened: string[] = [];
    for (const [action, send, fields] of asked) {
      const answer = await send(`${service.url}/${action}`, asking(rules), fields);
      const body = (await answer.json()) as object;
      expect([action, answer.status], JSON.stringify(body)).toEqual([action, 200]);
      for (const link of linksIn(body)) {
        // With the rights of whoever asks, where those count.
        const { status, headers } = await fetch(new URL(link, service.url), { headers: asking(rules) });
        if (status === 200 && !/\/(?:file-\w+|folder)~\w+\.svg/u.test(link))
          opened.push(`${action} ${link.split('?')[0] ?? ''} ${headers.get('content-type') ?? ''}`);
        else expect([200, 403, 404]).toContain(status);
      }
    }
    return opened;
  };

  it('of signed sources all work', async () => {
    const opened = await open([], 'signed');
    const actionsWithLinks = new Set(opened.map((line) => line.split(' ')[0]));
    expect([...actionsWithLinks].sort()).toEqual([
      'fileUpload',
      'files',
      'filesSearch',
      'generateDocx',
      'imageCrop',
      'imageResize',
      'imageRotate',
      'imageSave',
    ]);
    expect(opened.filter((line) => line.startsWith('files '))).toHaveLength(4);
    expect(opened.filter((line) => line.startsWith('fileUpload '))).toHaveLength(5);
  });

  it.each(['signed', 'protected'])(
    'of %s sources open nothing that the reader may not have',
    async (serve) => {
      expect(await open([{ FILE_DOWNLOAD: false }], serve)).toEqual([]);
      const withoutVariants = await open([{ IMAGE_VARIANT: false }], serve);
      expect(withoutVariants.filter((line) => line.includes('/card/'))).toEqual([]);
      expect(withoutVariants.length).toBeGreaterThan(0);
    },
  );

  it('show denied files by the icons of their kinds', async () => {
    const service = await startService({
      signingSecret: 'k'.repeat(40),
      accessControl: [{ extensions: 'png', FILE_DOWNLOAD: false }],
      sources: { files: { baseurl: undefined, serve: 'signed' } },
    });
    await service.source('files').put({ 'a.png': await quarters().png().toBuffer(), 'b.txt': 'b' });
    const { data } = await service.call('files', { 'mods[sortBy]': 'name-asc' });
    const [source] = data['sources'] as { files: readonly Record<string, unknown>[] }[];
    const [denied, allowed] = source?.files ?? [];
    expect(denied).toMatchObject({
      file: 'a.png',
      thumb: expect.stringContaining('/_thumbs/file-png~') as string,
    });
    expect(denied?.['fileIsAbsolute']).toBeUndefined();
    const icon = await fetch(new URL(String(denied?.['thumb']), service.url));
    expect([icon.status, icon.headers.get('content-type')]).toEqual([200, 'image/svg+xml']);
    expect((await fetch(new URL(String(allowed?.['file']), service.url))).status).toBe(200);
  });
});
