import { randomUUID } from 'node:crypto';
import { mkdtemp, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { Readable } from 'node:stream';
import { createApp, registerStorageAdapter, type ConfigInput } from 'stowage';
import { ConnectorError, createClient } from 'stowage/client';
import { describe, expect, it, onTestFinished } from 'vitest';
import { SourcePath } from 'stowage/storage';
import { createLocalFactory, createS3Factory, createWebdavFactory, memoryFactory } from '#internals';
import type { StorageAdapter } from '../../packages/stowage/dist/storage/adapter.js';
import type { StorageFactory } from '../../packages/stowage/dist/storage/registry.js';
import { mostly } from '../before-release.ts';
import { silent } from '../protocol/service.ts';
import { makeBucket, optionsFor } from '../../tools/test-servers/bucket.ts';
import { radosgwMissing, startRadosgw } from '../../tools/test-servers/radosgw.ts';
import { login, programs, startNginx } from '../../tools/test-servers/webdav.ts';

interface Opened {
  readonly factory: StorageFactory;
  readonly options?: unknown;
  readonly root?: string;
}

interface Store {
  readonly name: string;
  readonly missing: string | undefined;
  readonly open: () => Promise<Opened>;
}

const stores: readonly Store[] = [
  { name: 'memory', missing: undefined, open: () => Promise.resolve({ factory: memoryFactory }) },
  {
    name: 'the local disk',
    missing: undefined,
    open: async () => {
      const root = await mkdtemp(join(tmpdir(), 'stowage-forged-'));
      onTestFinished(() => rm(root, { recursive: true, force: true }));
      return { factory: createLocalFactory(), root };
    },
  },
  {
    name: 'S3 (radosgw)',
    missing: radosgwMissing,
    open: async () => {
      const gateway = await startRadosgw();
      const bucket = await makeBucket(gateway);
      onTestFinished(async () => {
        bucket.client.destroy();
        await gateway.stop();
      });
      const options = optionsFor(gateway, bucket.name, { prefix: 'files' });
      return { factory: createS3Factory(), options };
    },
  },
  {
    name: 'WebDAV (nginx)',
    missing: programs.nginx ? undefined : 'nginx is not installed',
    open: async () => {
      const server = await startNginx();
      onTestFinished(() => server.stop());
      return { factory: createWebdavFactory(), options: { url: server.url, ...login } };
    },
  },
];

/** A service over a store into which others write too: what they write is told as paths and contents. */
const start = async ({ factory, options, root }: Opened, settings: ConfigInput = {}) => {
  const kept: StorageAdapter[] = [];
  const storageAdapter = `forged-${randomUUID()}`;
  registerStorageAdapter(storageAdapter, {
    ...factory,
    create: async (context) => {
      const storage = await factory.create(context);
      kept.push(storage);
      return storage;
    },
  });
  const files = {
    title: 'Files',
    baseurl: 'https://files.example/',
    storageAdapter,
    ...(root === undefined ? {} : { root }),
    ...(options === undefined ? {} : { [storageAdapter]: options }),
  };
  const app = createApp(
    { createThumb: false, trash: {}, sources: { files }, ...settings },
    {},
    { logger: silent },
  );
  onTestFinished(() => app.close());
  const { port } = await app.listen(0, '127.0.0.1');
  const client = createClient({ url: `http://127.0.0.1:${String(port)}` });
  await client.files({});
  const [storage] = kept;
  if (storage === undefined) throw new Error('The store has not been opened.');
  const plant = async (path: string, content: string | Uint8Array): Promise<void> => {
    const target = SourcePath.parse(path);
    for (const folder of target.parent.ancestry().slice(1))
      await storage.makeFolder(folder).catch(() => undefined);
    await storage.write(target, Readable.from([Buffer.from(content)], { objectMode: false }));
  };
  const below = async (folder: SourcePath): Promise<string[]> => {
    const found: string[] = [];
    for await (const page of storage.list(folder)) {
      for (const { name, kind } of page) {
        const path = folder.child(name);
        if (kind === 'folder') found.push(...(await below(path)));
        else found.push(path.toString());
      }
    }
    return found;
  };
  // nginx lists no names with a dot in front.
  const all = async (): Promise<string[]> => {
    const both = [await below(SourcePath.root), await below(SourcePath.parse('.stowage-trash'))];
    return [...new Set(both.flat())].sort();
  };
  return { client, plant, all };
};

const AT_ONCE = 6;

const someAtATime = async <Item>(
  items: readonly Item[],
  work: (item: Item) => Promise<void>,
): Promise<void> => {
  for (let start = 0; start < items.length; start += AT_ONCE)
    await Promise.all(items.slice(start, start + AT_ONCE).map(work));
};

const codeOf = (answer: Promise<unknown>): Promise<unknown> =>
  answer.then(
    () => 200,
    (error: unknown) => (error instanceof ConnectorError ? error.code : error),
  );

const idAt = (time: number): string =>
  `${time.toString(36).padStart(9, '0')}-${randomUUID().replaceAll('-', '')}`;
const newId = (): string => idAt(Date.now());
const good = { path: 'a.txt', kind: 'file', bytes: 1, role: 'guest' };

/** What no record of ours says. */
const wrongRecords: readonly (string | Uint8Array | object)[] = [
  '',
  '{',
  '[]',
  'null',
  '"a.txt"',
  '['.repeat(60_000),
  Uint8Array.of(0x7b, 0xff, 0xfe, 0x00, 0x7d),
  `${' '.repeat(5_000_000)}${JSON.stringify(good)}`,
  {},
  ...[
    '',
    '/',
    '../a.txt',
    '/../../a.txt',
    'x/../../a.txt',
    '..\\a.txt',
    'a\0.txt',
    '\uff0e\uff0e/a.txt',
    'x'.repeat(300),
    `${'a/'.repeat(101)}a.txt`,
    '.stowage-trash/a.txt',
    '.Stowage-Trash/a.txt',
    'elsewhere/b.txt',
    ['a.txt'],
    { toString: 'a.txt' },
    1,
  ].map((path) => ({ ...good, path })),
  ...['link', 'folder', 'FILE', 1, null].map((kind) => ({ ...good, kind })),
  ...[-1, 1.5, '1', null, 1e308].map((bytes) => ({ ...good, bytes })),
  ...[undefined, 1, 'x'.repeat(301)].map((role) => ({ ...good, role })),
  { ...good, subject: {} },
  { ...good, replaced: 'no' },
];

const wrongIds = [
  '.',
  '..',
  '../..',
  '/',
  '%2e%2e',
  'item',
  'a.txt',
  '../a.txt',
  `${newId()}/item`,
  `${newId()}/../..`,
  `../.stowage-trash/${newId()}`,
  newId().toUpperCase(),
  ` ${newId()}`,
  `${newId()}\0`,
  '\0',
  'x'.repeat(500_000),
  newId(),
];

describe.each(mostly(2, stores))('the trash on $name', ({ missing, open }) => {
  const reason = missing === undefined ? '' : ` (${missing})`;

  it.skipIf(missing !== undefined)(`does nothing for forged ids and records${reason}`, async () => {
    const { client, plant, all } = await start(await open());
    await plant('a.txt', 'stays');
    await plant('sub/b.txt', 'stays');
    const wrong = new Map<string, unknown>();
    await someAtATime(wrongRecords, async (record) => {
      const id = newId();
      wrong.set(id, record);
      const isText = typeof record === 'string' || record instanceof Uint8Array;
      await plant(`.stowage-trash/${id}/record.json`, isText ? record : JSON.stringify(record));
      await plant(`.stowage-trash/${id}/item/a.txt`, 'x');
    });
    const folder = newId();
    await plant(`.stowage-trash/${folder}/record.json/x`, 'x');
    await plant(`.stowage-trash/${folder}/item/a.txt`, 'x');
    const before = await all();
    const listed = (await client.trashList()).items.map(({ id }) => wrong.get(id));
    expect(listed).toEqual([]);
    await someAtATime([...wrong.keys(), folder, ...wrongIds], async (id) => {
      // No text of a request is read beyond its bound.
      const refusal = id.length > 1024 ? 400 : 404;
      const codes = [await codeOf(client.trashRestore({ id })), await codeOf(client.trashRemove({ id }))];
      expect(codes, JSON.stringify(wrong.get(id) ?? id).slice(0, 100)).toEqual([refusal, refusal]);
    });
    expect(await client.trashEmpty()).toMatchObject({ removed: 0 });
    expect(await all()).toEqual(before);
  });

  it.skipIf(missing !== undefined)(`neither shows nor restores over what rules deny${reason}`, async () => {
    const accessControl = [
      { path: '/secret', FILES: false, FILE_UPLOAD: false },
      { path: '/closed', FILE_UPLOAD: false },
    ];
    const { client, plant, all } = await start(await open(), { accessControl });
    await plant('secret/x.txt', 'x');
    await plant('closed/x.txt', 'x');
    const [hidden, closed, seen] = [newId(), newId(), newId()];
    for (const [id, path] of [
      [hidden, 'secret/a.txt'],
      [closed, 'closed/a.txt'],
      [seen, 'gone/deep/a.txt'],
    ] as const) {
      await plant(`.stowage-trash/${id}/record.json`, JSON.stringify({ ...good, path }));
      await plant(`.stowage-trash/${id}/item/a.txt`, path);
    }
    const before = await all();
    expect((await client.trashList()).items.map(({ id }) => id).sort()).toEqual([closed, seen].sort());
    expect(await codeOf(client.trashRestore({ id: hidden }))).toBe(404);
    expect(await codeOf(client.trashRemove({ id: hidden }))).toBe(404);
    expect(await codeOf(client.trashRestore({ id: closed }))).toBe(403);
    for (const path of ['secret', 'closed', 'closed/new'])
      expect(await codeOf(client.trashRestore({ id: seen, path })), path).toBe(403);
    for (const path of ['.stowage-trash', `.stowage-trash/${seen}`])
      expect(await codeOf(client.trashRestore({ id: seen, path })), path).toBe(404);
    for (const path of ['..', '../x', 'a\0'])
      expect(await codeOf(client.trashRestore({ id: seen, path })), path).toBe(400);
    expect(await all()).toEqual(before);
    expect(await client.trashRestore({ id: seen })).toMatchObject({ path: 'gone/deep', name: 'a.txt' });
    expect(await (await client.fileDownload({ path: 'gone/deep', name: 'a.txt' })).text()).toBe(
      'gone/deep/a.txt',
    );
    expect(await client.trashEmpty()).toMatchObject({ removed: 1 });
    const item = `.stowage-trash/${hidden}/item/a.txt`;
    expect(await all()).toEqual(
      [
        'secret/x.txt',
        'closed/x.txt',
        'gone/deep/a.txt',
        item,
        item.replace('item/a.txt', 'record.json'),
      ].sort(),
    );
  });

  it.skipIf(missing !== undefined)(
    `takes times for what they say, and records without items for nothing${reason}`,
    async () => {
      const { client, plant, all } = await start(await open(), { trash: { maxBytes: 10 } });
      const [future, now, old] = [`${'z'.repeat(9)}-${'0'.repeat(32)}`, newId(), idAt(1)];
      for (const id of [future, now, old]) {
        await plant(`.stowage-trash/${id}/record.json`, JSON.stringify({ ...good, bytes: 4 }));
        await plant(`.stowage-trash/${id}/item/a.txt`, 'four');
      }
      // A crash has left the record of what did not come.
      const cut = idAt(Date.now() + 1);
      await plant(`.stowage-trash/${cut}/record.json`, JSON.stringify({ ...good, bytes: 9 }));
      await client.trashList();
      // The oldest goes at last, when it is decided about all others.
      await expect.poll(async () => (await all()).filter((path) => path.includes(old))).toEqual([]);
      expect((await client.trashList()).items.map(({ id }) => id)).toEqual([future, now]);
      await client.trashRestore({ id: future });
      expect((await all()).filter((path) => !path.startsWith('.stowage'))).toEqual(['a.txt']);
    },
  );
});
