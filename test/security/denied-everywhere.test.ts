import { readFile } from 'node:fs/promises';
import { join } from 'node:path';
import { readOnly, type AccessRule } from 'stowage';
import { describe, expect, it, onTestFinished } from 'vitest';
import { accessKeyOf, createActions, neededKeys } from '#internals';
import { quarters } from '../pictures/pictures.ts';
import { metadataOf, TUS } from '../protocol/tus-client.ts';
import { startService, type Service } from '../protocol/service.ts';
import { startSite } from '../network/loopback.ts';
import { form, json, multipart, query, trials, type Parameters, type Send, type Trial } from './trials.ts';

/** Stands in every file: whoever reads it has got through. */
const CANARY = 'the canary sings';

/** The rules are in the role. */
const asking = (rules: readonly AccessRule[]): Record<string, string> => ({
  'x-role': JSON.stringify(rules),
});

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
  { kind = 'file', saves, trashed, isElsewhere = false }: Trial,
): readonly (readonly AccessRule[])[] => {
  const action = actions.get(name);
  if (action === undefined) return [];
  const needed = neededKeys(action, kind);
  const group =
    action.changes || saves === true ? [readOnly] : name === 'permissions' ? [] : [[{ READ: false }]];
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
    const changes = actions.get(name)?.changes === true || trial.saves === true;
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

  it('of protected sources open by the rules of who follows them, however they were learnt', async () => {
    const service = await startService(
      {
        imagePresets: { card: { width: 10 } },
        sources: { files: { baseurl: undefined, serve: 'protected' } },
      },
      {
        checkAuthentication: ({ headers }) => headers['x-role'] ?? '[]',
        accessControl: (_request, { role }) => JSON.parse(role) as AccessRule[],
      },
    );
    await service.source('files').put({ 'd/a.png': await quarters().png().toBuffer() });
    const follow = async (link: string, rules: readonly AccessRule[]): Promise<number> =>
      (await fetch(`${service.url}/file/files/d/${link}`, { headers: asking(rules) })).status;
    const links = ['a.png', '_thumbs/a.png', '_thumbs/card/a.png'];
    const opened = (rules: readonly AccessRule[]): Promise<readonly number[]> =>
      Promise.all(links.map((link) => follow(link, rules)));
    expect(await opened([])).toEqual([200, 200, 200]);
    expect(await opened([{ path: '/d', IMAGE_VARIANT: false }])).toEqual([200, 200, 403]);
    expect(await opened([{ path: '/d', FILE_DOWNLOAD: false }])).toEqual([403, 403, 403]);
    expect(await opened([{ extensions: 'png', READ: false }])).toEqual([403, 403, 403]);
  });

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
