import { mkdtemp, open, readFile, rename, rm, writeFile, type FileHandle } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { setImmediate as nextTurn, setTimeout as sleep } from 'node:timers/promises';
import { setFlagsFromString } from 'node:v8';
import { runInNewContext } from 'node:vm';
import {
  createApp,
  createRouter,
  HttpError,
  registerStorageAdapter,
  type ConnectorHooks,
  type ServiceEvent,
} from 'stowage';
import { SourcePath, StorageFullError, type StorageAdapter } from 'stowage/storage';
import { describe, expect, it, onTestFinished, vi } from 'vitest';
import { MemoryAdapter } from '#internals';
import { optionsFor } from '../../tools/test-servers/bucket.ts';
import { S3Proxy } from '../../tools/test-servers/s3-proxy.ts';
import { S3Stub } from '../../tools/test-servers/s3-stub.ts';
import { put } from '../pictures/gallery.ts';
import { photo } from '../pictures/pictures.ts';
import { replacing } from '../protocol/changing-store.ts';
import { formOf, silent, startService, type Service, type ServiceOptions } from '../protocol/service.ts';

const settings = { createThumb: false, trash: {} } as const;

/** A service with what its hooks have heard: before, and after. */
const start = async (
  hooks: ConnectorHooks = {},
  options: ServiceOptions = {},
): Promise<{ service: Service; before: string[]; after: ServiceEvent[] }> => {
  const before: string[] = [];
  const after: ServiceEvent[] = [];
  const service = await startService(
    { ...settings, ...options },
    {
      checkAuthentication: () => ({ role: 'editor', subject: 'ann' }),
      beforeEvent: ({ type, path }) => void before.push(`${type} ${path}`),
      onEvent: (event) => void after.push(event),
      ...hooks,
    },
  );
  return { service, before, after };
};

const shortly = ({ type, source, path, from, fromSource, bytes }: ServiceEvent): unknown[] =>
  [type, source, path, from, fromSource, bytes].filter((value) => value !== undefined);

describe('events', () => {
  it('report every change, with its user, before and after', async () => {
    const { service, before, after } = await start(
      {},
      { sources: { files: {}, other: {} }, saveSameFileNameStrategy: 'replace' },
    );
    const uploaded = await service.upload([['files[0]', 'a.txt', '123']]);
    await service.upload([['files[0]', 'a.txt', '4567']]);
    await service.call('folderCreate', { name: 'f' });
    await service.call('fileMove', { from: 'a.txt', path: 'f' });
    await service.call('fileRename', { path: 'f', name: 'a.txt', newname: 'b' });
    await service.call('fileCopy', { from: 'f/b.txt', path: 'f' });
    await service.call('folderCopy', { from: 'f', source: 'other', fromSource: 'files' });
    await service.call('folderMove', { from: 'f', source: 'other', fromSource: 'files', path: 'f' });
    await service.call('fileRemove', { source: 'other', path: 'f', name: 'b.txt' });
    await service.call('folderRemove', { source: 'other', path: 'f', name: 'f' });
    const [item] = (await service.call('trashList')).data['items'] as { id: string }[];
    await service.call('trashRestore', { source: 'other', id: item?.id ?? '' });
    await service.call('trashEmpty', { source: 'files' });
    await service.call('fileRemove', { source: 'other', path: 'f/f', name: 'b (1).txt' });
    const [removed] = (await service.call('trashList')).data['items'] as { id: string }[];
    await service.call('trashRemove', { source: 'other', id: removed?.id ?? '' });
    await service.call('trashEmpty', { source: 'other' });
    const document = await service.get('generateDocx', { html: '<p>text</p>' });
    expect(document.status).toBe(200);
    const told = [
      ['file.created', 'files', 'a.txt', 3],
      ['file.replaced', 'files', 'a.txt', 4],
      ['folder.created', 'files', 'f'],
      ['file.moved', 'files', 'f/a.txt', 'a.txt', 4],
      ['file.moved', 'files', 'f/b.txt', 'f/a.txt', 4],
      ['file.copied', 'files', 'f/b (1).txt', 'f/b.txt', 4],
      ['folder.copied', 'other', 'f', 'f', 'files'],
      ['folder.moved', 'other', 'f/f', 'f', 'files'],
      ['file.removed', 'other', 'f/b.txt', 4],
      ['folder.removed', 'other', 'f/f', 8],
      ['folder.restored', 'other', 'f/f', 'f/f', 8],
      ['file.removed', 'other', 'f/f/b (1).txt', 4],
      ['trash.removed', 'other', 'f/f/b (1).txt', 4],
      ['trash.emptied', 'other', '', 4],
      ['document.made', 'document.docx', (await document.arrayBuffer()).byteLength],
    ];
    expect(after.map(shortly)).toEqual(told);
    expect(before.map((line) => line.split(' ')[0])).toEqual(
      told.map(([type]) => (type === 'file.replaced' ? 'file.created' : type)),
    );
    const [first] = after;
    expect(first).toMatchObject({
      role: 'editor',
      subject: 'ann',
      requestId: uploaded.headers.get('x-request-id'),
    });
    expect(Date.parse(first?.time ?? '')).toBeLessThanOrEqual(Date.now());
  });

  it('tell of edited pictures, over the original and beside it', async () => {
    const { service, after } = await start();
    await service.source('files').put({ 'a.jpg': await photo(40, 30) });
    const box = { 'box[w]': '20', 'box[h]': '10' };
    expect((await service.call('imageResize', { name: 'a.jpg', ...box })).status).toBe(200);
    expect((await service.call('imageResize', { name: 'a.jpg', newname: 'b', ...box })).status).toBe(200);
    const form = formOf([['files[0]', 'x.jpg', new Uint8Array(await photo(8, 8))]], { name: 'a.jpg' });
    expect((await fetch(`${service.url}/imageSave`, { method: 'POST', body: form })).status).toBe(200);
    const saved = (await service.source('files').bytes('a.jpg')).length;
    const beside = (await service.source('files').bytes('b.jpg')).length;
    expect(after.map(({ type, path, from, bytes }) => [type, path, from, bytes])).toEqual([
      ['image.edited', 'a.jpg', 'a.jpg', expect.any(Number)],
      ['image.edited', 'b.jpg', 'a.jpg', beside],
      ['image.edited', 'a.jpg', 'a.jpg', saved],
    ]);
  });

  it('tell nothing of a file that stays because the original of its replacement does not fit in', async () => {
    const uploadImages = { maxWidth: 20, keepOriginal: '_originals' };
    const { service, after } = await start(
      {},
      { saveSameFileNameStrategy: 'replace', uploadImages, quota: { files: 1 } },
    );
    await service.source('files').put({ 'a.jpg': await photo(8, 8) });
    const before = await service.source('files').bytes('a.jpg');
    const answer = await service.upload([['files[0]', 'a.jpg', new Uint8Array(await photo(200, 100))]]);
    expect([answer.status, answer.messages]).toEqual([413, ['There is not enough room left here.']]);
    expect((await service.source('files').bytes('a.jpg')).equals(before)).toBe(true);
    expect(after).toEqual([]);
  });

  it.each<[string, string, Record<string, string>, string[], boolean?, string?]>([
    ['a removal', 'fileRemove', { name: 'a.txt' }, ['file.removed a.txt']],
    ['a rename', 'fileRename', { name: 'a.txt', newname: 'c' }, ['file.moved c.txt']],
    ['a description', 'fileDescribe', { name: 'a.txt', alt: 'a' }, ['file.described a.txt']],
    ['a removal before the form fails', 'fileRemove', { name: 'a.txt' }, ['file.removed a.txt'], true],
    [
      'a removal before it is stored again',
      'fileRemove',
      { name: 'a.txt' },
      ['file.removed a.txt'],
      false,
      'a.txt',
    ],
  ])(
    'of a form begin before that of %s of one of its files',
    async (_title, action, fields, changed, fails = false, last = 'z.txt') => {
      const memory = new MemoryAdapter();
      let [stored, change] = [(): void => undefined, (): unknown => undefined];
      const isStored = new Promise<void>((resolve) => (stored = resolve));
      const stage: StorageAdapter['stage'] = async (...given) => {
        const staged = await memory.stage(...given);
        const commit: typeof staged.commit = async (target, options) => {
          if (target.name === 'a-1.txt') {
            await isStored;
            await change();
            if (fails) throw new StorageFullError();
          }
          return staged.commit(target, options).finally(() => target.name === 'a.txt' && stored());
        };
        return { size: staged.size, open: () => staged.open(), commit, discard: () => staged.discard() };
      };
      registerStorageAdapter(`form: ${_title}`, { create: () => replacing(memory, { stage }) });
      const sources = { files: { storageAdapter: `form: ${_title}`, root: undefined } };
      const { service, after } = await start({}, { sources, trash: undefined });
      change = async () => expect((await service.call(action, fields)).status).toBe(200);
      const { status } = await service.upload([
        ['files[0]', 'a.txt', 'a'],
        ['files[1]', 'a-1.txt', 'b'],
        ['files[2]', last, 'last'],
      ]);
      expect(status).toBe(fails ? 500 : 200);
      expect(after.map(({ type, path }) => `${type} ${path}`)).toEqual([
        'file.created a.txt',
        ...changed,
        ...(fails ? [] : ['file.created a-1.txt', `file.created ${last}`]),
      ]);
    },
  );

  it('of a copy come once, before that of its removal while its texts are looked for', async () => {
    const memory = new MemoryAdapter();
    let change: (() => Promise<unknown>) | undefined;
    const stat: StorageAdapter['stat'] = async (path, options) => {
      const copied = await memory.stat(SourcePath.parse('a (1).txt')).catch(() => undefined);
      if (path.name === '.stowage-about' && copied !== undefined) {
        const once = change;
        change = undefined;
        await once?.();
      }
      return memory.stat(path, options);
    };
    registerStorageAdapter('copies: texts', { create: () => replacing(memory, { stat }) });
    const sources = { files: { storageAdapter: 'copies: texts', root: undefined } };
    const { service, after } = await start({}, { sources, trash: undefined });
    await put(memory, 'a.txt', 'a');
    change = async () => expect((await service.call('fileRemove', { name: 'a (1).txt' })).status).toBe(200);
    expect((await service.call('fileCopy', { from: 'a.txt' })).status).toBe(200);
    expect(after.map(({ type, path }) => `${type} ${path}`)).toEqual([
      'file.copied a (1).txt',
      'file.removed a (1).txt',
    ]);
  });

  it('do not tell what did not happen', async () => {
    const { service, before, after } = await start(
      {},
      { accessControl: [{ path: 'kept', FILE_REMOVE: false }], saveSameFileNameStrategy: 'error' },
    );
    await service.source('files').put({ 'kept/a.txt': 'a', 'b.txt': 'b' });
    await service.call('fileRemove', { path: 'kept', name: 'a.txt' });
    await service.call('fileRemove', { name: 'missing.txt' });
    await service.call('fileMove', { from: 'b.txt' });
    expect(before).toEqual([]);
    await service.upload([['files[0]', 'b.txt', 'x']]);
    await service.call('folderCreate', { name: 'kept' });
    expect(after).toEqual([]);
  });

  it('are not asked about a folder in which something is denied', async () => {
    const { service, before } = await start(
      {},
      {
        accessControl: [{ path: 'f/kept', FILE_MOVE: false, FILE_COPY: false, FILE_REMOVE: false }],
        trash: {},
      },
    );
    await service.source('files').put({ 'f/kept/a.txt': 'a', 'to/': '' });
    for (const [action, fields] of [
      ['folderMove', { from: 'f', path: 'to' }],
      ['folderCopy', { from: 'f', path: 'to' }],
      ['folderRemove', { name: 'f' }],
    ] as const)
      expect([action, (await service.call(action, fields)).status]).toEqual([action, 403]);
    expect(before).toEqual([]);
  });

  it('names the file that the host refuses of a form, and leaves nothing of the others', async () => {
    const { service } = await start({
      beforeEvent: ({ path }) => {
        if (path === 'b.txt') throw new HttpError(409, 'Not this one.');
      },
    });
    const answer = await service.upload([
      ['files[0]', 'a.txt', 'a'],
      ['files[1]', 'b.txt', 'b'],
    ]);
    expect([answer.status, answer.messages]).toEqual([
      409,
      ['Not this one.', 'Nothing was uploaded because of "b.txt".'],
    ]);
    expect(await service.source('files').paths()).toEqual([]);
  });

  it('can be refused by the host: then nothing changes', async () => {
    const refuse = ({ type }: ServiceEvent): never => {
      throw new HttpError(409, `Not now: ${type}`);
    };
    const { service, after } = await start({ beforeEvent: refuse });
    const files = service.source('files');
    await files.put({ 'a.txt': 'a', 'f/b.txt': 'b', 'c.jpg': await photo(8, 8) });
    const paths = await files.paths();
    const refused = [
      await service.upload([['files[0]', 'new.txt', 'x']]),
      await service.call('fileRemove', { name: 'a.txt' }),
      await service.call('folderRemove', { name: 'f' }),
      await service.call('fileMove', { from: 'a.txt', path: 'f' }),
      await service.call('fileCopy', { from: 'a.txt', path: 'f' }),
      await service.call('folderCreate', { name: 'g' }),
      await service.call('fileRename', { name: 'a.txt', newname: 'z' }),
      await service.call('imageResize', { name: 'c.jpg', 'box[w]': '4', 'box[h]': '4' }),
      await service.call('generateDocx', { html: 'x' }),
    ];
    expect(refused.map(({ status }) => status)).toEqual(refused.map(() => 409));
    expect(refused[1]?.messages).toEqual(['Not now: file.removed']);
    expect(await files.paths()).toEqual(paths);
    expect(after).toEqual([]);
  });

  it('let the host name uploads, within the rules', async () => {
    const { service } = await start(
      { beforeEvent: ({ path }) => (path === 'bad.txt' ? '../x.php' : `2026-${path}`) },
      { accessControl: [{ extensions: ['pdf'], FILE_UPLOAD: false }] },
    );
    expect((await service.upload([['files[0]', 'a.txt', 'x']])).data['files']).toEqual(['2026-a.txt']);
    expect((await service.upload([['files[0]', 'bad.txt', 'x']])).status).toBe(403);
    expect(await service.source('files').paths()).toEqual(['2026-a.txt']);
  });

  it('let the host name new folders and saved documents, within the rules', async () => {
    const { service, after } = await start(
      { beforeEvent: ({ type, path }) => (type === 'document.made' ? undefined : `2026-${path}`) },
      { accessControl: [{ path: '/2026-closed', FOLDER_CREATE: false }] },
    );
    const made = await service.call('folderCreate', { name: 'trip' });
    expect(made.messages).toEqual(['The folder "2026-trip" was created.']);
    expect((await service.call('folderCreate', { name: 'closed' })).status).toBe(403);
    expect((await service.call('generateDocx', { html: 'x', name: 'a' })).data['files']).toEqual([
      '2026-a.docx',
    ]);
    expect(await service.source('files').paths()).toEqual(['2026-a.docx', '2026-trip/']);
    expect(after[0]).toMatchObject({ type: 'folder.created', path: '2026-trip' });
  });

  it.each(['local', 'memory'])(
    'let the host name what is moved, renamed and copied (%s)',
    async (storageAdapter) => {
      const { service, after } = await start(
        {
          beforeEvent: ({ type, path }) =>
            /moved|copied/u.test(type) ? path.split('/').at(-1)?.replace('Böse ', 'gut-') : undefined,
        },
        {
          trash: undefined,
          sources:
            storageAdapter === 'local'
              ? { files: {}, other: {} }
              : { files: { storageAdapter, root: undefined }, other: { storageAdapter, root: undefined } },
        },
      );
      for (const name of ['to', 'Böse Sachen']) await service.call('folderCreate', { source: 'files', name });
      const own = { source: 'files' };
      const upload = (name: string, fields = {}): Promise<unknown> =>
        service.upload([['files[0]', name, name]], { ...own, ...fields });
      await upload('a.txt');
      await upload('Böse b.txt');
      await upload('in.txt', { path: 'Böse Sachen' });
      const across = { source: 'other', fromSource: 'files' };
      const steps: readonly [string, Record<string, string>][] = [
        ['fileRename', { ...own, name: 'a.txt', newname: 'Böse a' }],
        ['fileMove', { ...own, from: 'Böse b.txt', path: 'to' }],
        ['fileCopy', { ...own, from: 'gut-a.txt', path: 'to' }],
        ['folderCopy', { ...own, from: 'Böse Sachen' }],
        ['folderCopy', { ...own, from: 'Böse Sachen' }],
        ['folderCopy', { ...across, from: 'Böse Sachen' }],
        ['folderMove', { ...own, from: 'Böse Sachen', path: 'to' }],
        ['fileCopy', { ...across, from: 'gut-a.txt' }],
        ['fileMove', { ...across, from: 'to/gut-b.txt', path: 'gut-Sachen' }],
      ];
      for (const [action, fields] of steps)
        expect([action, (await service.call(action, fields)).status]).toEqual([action, 200]);
      const moves = after.filter(({ type }) => /moved|copied/u.test(type));
      expect(moves.map(({ source, path }) => `${source ?? ''}:${path}`)).toEqual([
        'files:gut-a.txt',
        'files:to/gut-b.txt',
        'files:to/gut-a.txt',
        'files:gut-Sachen',
        'files:gut-Sachen (1)',
        'other:gut-Sachen',
        'files:to/gut-Sachen',
        'other:gut-a.txt',
        'other:gut-Sachen/gut-b.txt',
      ]);
      for (const { source = '', path } of moves.filter(({ type }) => type.startsWith('file.')).slice(-2)) {
        const at = {
          source,
          path: path.split('/').slice(0, -1).join('/'),
          name: path.split('/').at(-1) ?? '',
        };
        expect((await service.get('fileDownload', at)).status).toBe(200);
      }
    },
  );

  it('hold for names of the host all that holds for names of clients', async () => {
    let wanted = '';
    const { service, after } = await start(
      { beforeEvent: ({ type }) => (type === 'file.created' ? undefined : wanted) },
      {
        accessControl: [
          { path: '/closed.txt', FILE_MOVE: false, FILE_COPY: false, FILE_RENAME: false },
          { path: '/sub/closed.txt', FILE_MOVE: false, FILE_COPY: false, FILE_RENAME: false },
        ],
      },
    );
    await service
      .source('files')
      .put({ 'a.txt': 'a', 'taken.txt': 't', 'sub/taken.txt': 't', 'f/x.txt': 'x' });
    const before = await service.source('files').paths();
    for (const [name, refusal, ofCopy] of [
      ['closed.txt', 403, 403],
      ['.hidden', 400, 400],
      ['', 400, 400],
      ['taken.txt', 400, undefined],
    ] as const) {
      wanted = name;
      const ask = async (action: string, fields: Record<string, string>): Promise<number> =>
        (await service.call(action, fields)).status;
      expect([name, await ask('fileRename', { name: 'a.txt', newname: 'b' })]).toEqual([name, refusal]);
      expect([name, await ask('fileMove', { from: 'a.txt', path: 'sub' })]).toEqual([name, refusal]);
      if (ofCopy === undefined) continue;
      expect([name, await ask('fileCopy', { from: 'a.txt', path: 'sub' })]).toEqual([name, ofCopy]);
    }
    wanted = 'x/../y.php';
    expect((await service.call('fileRename', { name: 'a.txt', newname: 'b' })).status).toBe(200);
    wanted = '.stowage-trash';
    expect((await service.call('folderMove', { from: 'f', path: 'sub' })).status).toBe(400);
    expect(after.map(({ path }) => path)).toEqual(['x_.._y.php.txt']);
    expect(await service.source('files').paths()).toEqual(
      [...before.filter((path) => path !== 'a.txt'), 'x_.._y.php.txt'].sort(),
    );
  });

  it('may copy a file and its folder before the file is moved or removed', async () => {
    const copied: number[] = [];
    const { service } = await start({
      beforeEvent: async ({ type, path, from = path }) => {
        if (!/moved|removed/u.test(type)) return;
        copied.push((await service.call('fileCopy', { from, path: 'kept' })).status);
        copied.push((await service.call('folderCopy', { from: 'f', path: 'kept' })).status);
      },
    });
    await service.source('files').put({ 'f/a.txt': 'a', 'kept/x.txt': 'x' });
    await service.call('fileRename', { path: 'f', name: 'a.txt', newname: 'b.txt' });
    await service.call('fileRemove', { path: 'f', name: 'b.txt' });
    expect(copied).toEqual([200, 200, 200, 200]);
    const kept = ['kept/a.txt', 'kept/b.txt', 'kept/f (1)/b.txt', 'kept/f/a.txt'];
    expect(await service.source('files').paths()).toEqual(expect.arrayContaining(kept));
  });

  it('end before the service does', async () => {
    const heard: string[] = [];
    const root = await mkdtemp(join(tmpdir(), 'stowage-hooks-'));
    onTestFinished(() => rm(root, { recursive: true }));
    let release = (): void => undefined;
    const held = new Promise<void>((resolve) => (release = resolve));
    const app = createApp(
      { sources: { files: { title: 'Files', root, baseurl: '/files/' } } },
      {
        onEvent: async ({ type }) => {
          await held;
          heard.push(type);
        },
      },
      { logger: silent },
    );
    expect((await app.fetch(new Request('http://localhost/folderCreate?name=a'))).status).toBe(200);
    const closed = app.close().then(() => heard.push('closed'));
    await new Promise((resolve) => setImmediate(resolve));
    release();
    await closed;
    expect(heard).toEqual(['folder.created', 'closed']);
  });

  it('wait for no host when the client has left', async () => {
    let asked = (): void => undefined;
    const isAsked = new Promise<void>((resolve) => (asked = resolve));
    let answer: Promise<void> = new Promise(() => undefined);
    const { service, after } = await start({
      beforeEvent: async ({ type }) => {
        if (type !== 'file.removed') return;
        asked();
        await answer;
      },
    });
    await service.source('files').put({ 'a.txt': 'a' });
    const client = new AbortController();
    const url = `${service.url}/fileRemove?name=a.txt`;
    const left = fetch(url, { method: 'POST', signal: client.signal });
    await isAsked;
    client.abort();
    await Promise.allSettled([left]);
    answer = Promise.resolve();
    // Whoever has left holds the file no longer.
    expect((await service.call('fileRemove', { name: 'a.txt' })).status).toBe(200);
    expect(after.map(({ type }) => type)).toEqual(['file.removed']);
  });

  it.each([undefined, {}])(
    'tell of a folder of a bucket of which a part cannot be removed (trash: %o)',
    async (trash) => {
      const stub = await S3Stub.start({ keeps: (key) => /^(?:kept\/|f\/3)/u.test(key) });
      onTestFinished(() => stub.close());
      const credentials = { accessKeyId: 'testkey', secretAccessKey: 'testsecret' };
      const s3 = optionsFor({ endpoint: stub.endpoint, credentials }, 'bucket');
      const files = { storageAdapter: 's3', s3, root: '' };
      const { service, after } = await start({}, { trash, sources: { files } });
      for (let number = 0; number < 5; number += 1) {
        stub.put(`f/${String(number)}.txt`, 'x');
        stub.put(`kept/${String(number)}.txt`, 'x');
      }
      const removed = await service.call('folderRemove', { name: 'f' });
      expect(removed.status).toBe(500);
      if (trash === undefined) expect(removed.messages).toEqual(['"3.txt" could not be removed.']);
      expect((await service.call('folderRemove', { name: 'kept' })).status).toBe(500);
      expect(after.map(({ type, path }) => [type, path])).toEqual([['folder.removed', 'f']]);
    },
  );

  it('tell of a folder of a bucket whose client leaves during the removal', async () => {
    const stub = await S3Stub.start();
    const proxy = await S3Proxy.start(stub.endpoint);
    onTestFinished(async () => {
      await proxy.close();
      await stub.close();
    });
    const credentials = { accessKeyId: 'testkey', secretAccessKey: 'testsecret' };
    const s3 = optionsFor({ endpoint: proxy.endpoint, credentials }, 'bucket');
    const options = { trash: undefined, sources: { files: { storageAdapter: 's3', s3, root: '' } } };
    const { service, after } = await start({}, options);
    for (let number = 0; number < 1500; number += 1) stub.put(`f/${number}.txt`, Buffer.from('x'));
    const client = new AbortController();
    // The first 1,000 are gone then.
    proxy.before('DeleteObjects', 2, async () => {
      client.abort();
      // Time for the service to notice.
      await sleep(100);
    });
    const url = `${service.url}/folderRemove?name=f`;
    await expect(fetch(url, { method: 'POST', signal: client.signal })).rejects.toThrow();
    await expect.poll(() => after.map(shortly)).toEqual([['folder.removed', 'files', 'f']]);
    expect(stub.objects.size).toBe(0);
  });

  it.each([
    [
      'throws',
      () => {
        throw new Error('broken');
      },
    ],
    ['rejects', () => Promise.reject(new Error('broken'))],
  ])('fail no action when the hook after it %s', async (_what, onEvent) => {
    const { service } = await start({ onEvent });
    expect((await service.upload([['files[0]', 'a.txt', 'x']])).status).toBe(200);
    expect(await service.source('files').paths()).toEqual(['a.txt']);
  });
});

it('keeps events in the audit file as they were, whatever a hook does with its own', async () => {
  const folder = await mkdtemp(join(tmpdir(), 'stowage-audit-'));
  onTestFinished(() => rm(folder, { recursive: true }));
  const file = join(folder, 'audit.jsonl');
  const onEvent = (event: ServiceEvent): void => {
    Object.assign(event, { path: `/srv/${event.path}`, subject: undefined });
  };
  const { service } = await start({ onEvent }, { audit: { file } });
  await service.call('folderCreate', { name: 'trip' });
  await expect.poll(() => readFile(file, 'utf8').catch(() => '')).toContain('\n');
  expect(JSON.parse(await readFile(file, 'utf8'))).toMatchObject({ path: 'trip', subject: 'ann' });
});

describe('the audit file', () => {
  const linesOf = async (file: string): Promise<ServiceEvent[]> =>
    (await readFile(file, 'utf8').catch(() => ''))
      .split('\n')
      .filter((line) => line !== '')
      .map((line) => JSON.parse(line) as ServiceEvent);

  const directory = async (): Promise<string> => {
    const folder = await mkdtemp(join(tmpdir(), 'stowage-audit-'));
    onTestFinished(() => rm(folder, { recursive: true, force: true }));
    return folder;
  };

  it('has a line for each change, and survives its rotation', async () => {
    const folder = await directory();
    const file = join(folder, 'audit.jsonl');
    const { service } = await start({}, { audit: { file } });
    const names = Array.from({ length: 20 }, (_, index) => `${String(index)}.txt`);
    await Promise.all(names.map((name) => service.upload([['files[0]', name, 'x']])));
    await expect.poll(async () => (await linesOf(file)).length).toBe(20);
    await rename(file, join(folder, 'audit.1'));
    await service.call('fileRemove', { name: '0.txt' });
    await expect
      .poll(() => linesOf(file))
      .toMatchObject([
        { type: 'file.removed', path: '0.txt', role: 'editor', subject: 'ann', source: 'files' },
      ]);
    expect((await linesOf(join(folder, 'audit.1'))).map(({ path }) => path).sort()).toEqual(
      [...names].sort(),
    );
  });

  it('that an earlier process has cut off within a line gets the next one on a line of its own', async () => {
    const file = join(await directory(), 'audit.jsonl');
    const torn = '{"type":"file.created","path":"lost';
    await writeFile(file, torn);
    const { service } = await start({}, { audit: { file } });
    await service.upload([['files[0]', 'a.txt', 'x']]);
    const lines = async (): Promise<string[]> => (await readFile(file, 'utf8')).split('\n');
    await expect.poll(async () => (await lines()).length).toBe(3);
    const [first, second = ''] = await lines();
    expect(first).toBe(torn);
    expect(JSON.parse(second)).toMatchObject({ type: 'file.created', path: 'a.txt' });
  });

  it('that cannot be written fails no action, and gets its lines later', async () => {
    const folder = join(await directory(), 'not-there');
    const file = join(folder, 'audit.jsonl');
    const { service } = await start({}, { audit: { file } });
    expect((await service.upload([['files[0]', 'a.txt', 'x']])).status).toBe(200);
    expect((await service.call('fileRemove', { name: 'a.txt' })).status).toBe(200);
    await rename(await directory(), folder);
    await expect
      .poll(async () => (await linesOf(file)).map(({ type }) => type), { timeout: 10_000 })
      .toEqual(['file.created', 'file.removed']);
  });

  it('that still cannot be written at the end is reported, with the number of lost lines', async () => {
    const errors: unknown[][] = [];
    const logger = { ...silent, error: (...given: unknown[]) => void errors.push(given) };
    const files = { title: 'Files', root: await directory(), serve: 'public' } as const;
    const audit = { file: join(await directory(), 'not-there', 'audit.jsonl') };
    const app = createApp({ sources: { files }, audit }, {}, { logger });
    for (const name of ['a', 'b'])
      await app.fetch(new Request(`http://localhost/folderCreate?name=${name}`, { method: 'POST' }));
    await app.close();
    expect(errors.at(-1)).toEqual(['Lines of the audit file are lost.', { lost: 2 }]);
  });

  it('is not closed by the garbage collector, which would end the process, where no host closes its router', async () => {
    const file = join(await directory(), 'audit.jsonl');
    const files = { title: 'Files', root: await directory(), serve: 'public' } as const;
    const use = async (name: string): Promise<void> => {
      const { fetch } = createRouter({ sources: { files }, audit: { file } }, {}, { logger: silent });
      await fetch(new Request(`http://localhost/folderCreate?name=${name}`, { method: 'POST' }));
    };
    const warn = vi.spyOn(process, 'emitWarning');
    onTestFinished(() => warn.mockRestore());
    for (const name of ['a', 'b', 'c', 'd']) await use(name);
    await expect.poll(async () => (await linesOf(file)).length).toBe(4);
    setFlagsFromString('--expose-gc');
    const collect = runInNewContext('gc') as () => void;
    for (let round = 0; round < 3; round += 1) {
      collect();
      await nextTurn();
    }
    expect(warn).not.toHaveBeenCalled();
  });

  it('that a full disk has cut off in the midst of a line gets the line again, on a line of its own', async () => {
    const file = join(await directory(), 'audit.jsonl');
    const { service } = await start({}, { audit: { file } });
    await service.upload([['files[0]', 'a.txt', 'x']]);
    await expect.poll(async () => (await linesOf(file)).length).toBe(1);
    const handle = await open(file);
    type Write = (this: FileHandle, data: Uint8Array, ...rest: unknown[]) => Promise<unknown>;
    const prototype = Object.getPrototypeOf(handle) as { write: Write };
    await handle.close();
    const { write } = prototype;
    let cut = '';
    const full = vi.spyOn(prototype, 'write').mockImplementation(function (this: FileHandle, data, ...rest) {
      const text = Buffer.from(data).toString();
      if (cut !== '' || !text.includes('"b.txt"')) return write.call(this, data, ...rest);
      cut = text.slice(0, 20);
      return write.call(this, Buffer.from(cut));
    });
    onTestFinished(() => full.mockRestore());
    await service.upload([['files[0]', 'b.txt', 'x']]);
    await service.upload([['files[0]', 'c.txt', 'x']]);
    const lines = async (): Promise<string[]> => (await readFile(file, 'utf8')).trimEnd().split('\n');
    await expect.poll(async () => (await lines()).length).toBe(4);
    const [, torn, ...others] = await lines();
    expect(torn).toBe(cut);
    expect(others.map((line) => (JSON.parse(line) as ServiceEvent).path)).toEqual(['b.txt', 'c.txt']);
  });
});
