import { randomUUID } from 'node:crypto';
import { mkdtemp, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { registerStorageAdapter, createApp } from 'stowage';
import { describe, expect, it } from 'vitest';
import { SourcePath, walkFolder } from 'stowage/storage';
import { MemoryAdapter, openLocalAdapter } from '#internals';
import type { StorageAdapter } from '../../packages/stowage/dist/storage/adapter.js';
import { mostly } from '../before-release.ts';
import { silent } from '../protocol/service.ts';
import { Random } from './random.ts';
import { type FaultyStore, withRandomFaults } from './random-faults.ts';

const today = Math.floor(Date.now() / 86_400_000) % 100_000;
const RATES = { lost: 0.03, missing: 0.03, late: 0.02 };
const NAMES = ['a.txt', 'b.txt', 'c.txt'];
const FOLDERS = ['', 'one', 'two', 'one/deep'];
const CLIENTS = 4;
const OPERATIONS = 60;

interface Service {
  readonly call: (
    action: string,
    fields: Record<string, string>,
  ) => Promise<{ status: number; data: unknown }>;
  readonly upload: (path: string, name: string, content: string) => Promise<number>;
  readonly close: () => Promise<void>;
}

const start = async (stores: Readonly<Record<string, StorageAdapter>>): Promise<Service> => {
  const sources = Object.fromEntries(
    Object.entries(stores).map(([name, storage]) => {
      const storageAdapter = `random-${randomUUID()}`;
      registerStorageAdapter(storageAdapter, { create: () => storage });
      return [name, { title: name, baseurl: 'https://files.example/', storageAdapter }];
    }),
  );
  const settings = { saveSameFileNameStrategy: 'replace', trash: { keepReplaced: true } } as const;
  const app = createApp(
    { ...settings, createThumb: false, extensions: ['txt'], sources },
    {},
    { logger: silent },
  );
  const { port } = await app.listen(0, '127.0.0.1');
  const send = async (action: string, body: BodyInit) => {
    const answer = await fetch(`http://127.0.0.1:${String(port)}/${action}`, { method: 'POST', body });
    return { status: answer.status, data: ((await answer.json()) as { data: unknown }).data };
  };
  return {
    call: (action, fields) => send(action, new URLSearchParams(fields)),
    upload: async (path, name, content) => {
      const form = new FormData();
      form.append('source', 'one');
      form.append('path', path);
      form.append('files[0]', new Blob([content]), name);
      return (await send('fileUpload', form)).status;
    },
    close: () => app.close(),
  };
};

const contentsOf = async (storage: StorageAdapter): Promise<string[]> => {
  const contents: string[] = [];
  for await (const { path, entry } of walkFolder(storage, SourcePath.root)) {
    if (entry.kind === 'folder') continue;
    const { stream } = await storage.read(path);
    contents.push(Buffer.concat((await stream.toArray()) as Buffer[]).toString());
  }
  return contents;
};

/** Brings back all that the trash holds, which must be possible. */
const restoreAll = async (service: Service, source: string): Promise<void> => {
  const { data } = await service.call('trashList', { source, limit: '1000' });
  for (const { id } of (data as { items: { id: string }[] }).items)
    expect((await service.call('trashRestore', { source, id, path: 'restored' })).status).toBe(200);
};

/** Uploads, replaces, renames, moves and removes at random; returns the contents that were acknowledged. */
const act = async (service: Service, random: Random, client: number): Promise<string[]> => {
  const acknowledged: string[] = [];
  const source = (): string => random.pick(['one', 'one', 'two']);
  for (let count = 0; count < OPERATIONS; count += 1) {
    const [path, name, folder] = [random.pick(FOLDERS), random.pick(NAMES), random.pick(FOLDERS.slice(1))];
    const from = path === '' ? name : `${path}/${name}`;
    const actions = [
      async () => {
        const content = `content ${String(client)}-${String(count)}`;
        if ((await service.upload(path, name, content)) === 200) acknowledged.push(content);
      },
      () => service.call('fileRemove', { source: source(), path, name }),
      () => service.call('fileMove', { source: source(), path: folder, fromSource: source(), from }),
      () => service.call('fileRename', { source: source(), path, name, newname: random.pick(NAMES) }),
      () => service.call('folderCreate', { source: source(), path: '', name: random.pick(['one', 'two']) }),
      () => service.call('folderMove', { source: source(), path: '', fromSource: source(), from: folder }),
      () => service.call('folderRemove', { source: source(), path: '', name: random.pick(['one', 'two']) }),
    ];
    await (random.chance(0.4) ? actions[0] : random.pick(actions))?.();
    if (!random.chance(0.1)) continue;
    const { data } = await service.call('trashList', { source: 'one' });
    const { items = [] } = data as { items?: { id: string }[] };
    if (items.length > 0) await service.call('trashRestore', { source: 'one', id: random.pick(items).id });
  }
  return acknowledged;
};

const openMemory = async () => ({ inner: new MemoryAdapter(), stop: async () => undefined });

const openLocal = async () => {
  const root = await mkdtemp(join(tmpdir(), 'stowage-random-'));
  const inner = await openLocalAdapter({ root, log: silent });
  const stop = async (): Promise<void> => {
    await inner.close();
    await rm(root, { recursive: true, force: true });
  };
  return { inner, stop };
};

/** Folders are moved by copying, as between the volumes of a disk or on a server that cannot move them. */
const withoutFolderMoves = async () => {
  const inner: StorageAdapter = new MemoryAdapter();
  Object.assign(inner, { moveFolder: undefined, copyFolder: undefined });
  return { inner, stop: async () => undefined };
};

describe('what was acknowledged on a store that loses answers, overlooks files and does things late', () => {
  const stores = [
    ['the local disk', openLocal],
    ['memory without moves of folders', withoutFolderMoves],
    ['memory', openMemory],
  ] as const;
  it.each(mostly(2, stores))(
    `is still there: %s (seed ${String(today)})`,
    async (_name, open) => {
      const opened = [await open(), await open()];
      const faulty: FaultyStore[] = opened.map(({ inner }, index) =>
        withRandomFaults(inner, RATES, new Random(today * 10 + index)),
      );
      const [one, two] = faulty.map(({ storage }) => storage);
      const service = await start({ one: one as StorageAdapter, two: two as StorageAdapter });
      try {
        const all = await Promise.all(
          Array.from({ length: CLIENTS }, (_, client) =>
            act(service, new Random(today * 1000 + client), client),
          ),
        );
        await Promise.all(faulty.map((store) => store.heal()));
        for (const source of ['one', 'two']) await restoreAll(service, source);
        const found = new Set((await Promise.all(opened.map(({ inner }) => contentsOf(inner)))).flat());
        const acknowledged = all.flat();
        expect(acknowledged.length).toBeGreaterThan(20);
        const hits = faulty.flatMap(({ counts }) => Object.values(counts));
        expect(hits.reduce((sum, count) => sum + count, 0)).toBeGreaterThan(20);
        expect(acknowledged.filter((content) => !found.has(content))).toEqual([]);
      } finally {
        await service.close();
        for (const { stop } of opened) await stop();
      }
    },
    60_000,
  );
});
