import { createHash, randomUUID } from 'node:crypto';
import { mkdtemp, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { type Logger, registerStorageAdapter } from 'stowage';
import { SourcePath, StorageDeniedError, StorageUnavailableError } from 'stowage/storage';
import { describe, expect, it, onTestFinished } from 'vitest';
import { createSilentLogger, MemoryAdapter, openLocalAdapter } from '#internals';
import type { StorageAdapter } from '../../packages/stowage/dist/storage/adapter.js';
import { put } from '../pictures/gallery.ts';
import { CaseFoldingStore, replacing } from './changing-store.ts';
import { silent, startService, type Service } from './service.ts';

type Kind = 'a disk that ignores letter case' | 'a Linux disk';

const storeOf = async (kind: Kind): Promise<StorageAdapter> => {
  if (kind === 'a disk that ignores letter case') return new CaseFoldingStore();
  const root = await mkdtemp(join(tmpdir(), 'stowage-between-'));
  onTestFinished(() => rm(root, { recursive: true }));
  return openLocalAdapter({ root, log: createSilentLogger() });
};

const serve = (storage: StorageAdapter, warn: Logger['warn'] = () => undefined): Promise<Service> => {
  const storageAdapter = `between-${randomUUID()}`;
  registerStorageAdapter(storageAdapter, { create: () => storage });
  const files = { storageAdapter, baseurl: undefined, serve: 'public', redirectMoved: {}, trash: {} };
  return startService({ createThumb: false, sources: { files } }, {}, { ...silent, warn });
};

/** As `cp -r` and uploads do, also of hidden files. */
const carry = async (from: StorageAdapter, to: StorageAdapter, folder = SourcePath.root): Promise<void> => {
  for await (const page of from.list(folder))
    for (const { kind, name } of page) {
      const path = folder.child(name);
      if (kind === 'folder') await carry(from, to, path);
      else await to.write(path, (await from.read(path)).stream);
    }
};

const done = async (
  service: Service,
  action: string,
  fields: Record<string, string>,
): Promise<Record<string, unknown>> => {
  const { success, messages, data } = await service.call(action, fields);
  expect([action, success, messages]).toEqual([action, true, success ? messages : []]);
  return data;
};

const say = (service: Service, name: string, alt: string, path = '') =>
  done(service, 'fileDescribe', { path, name, alt });

const said = async (service: Service, path = ''): Promise<Record<string, unknown>> => {
  const { sources } = await done(service, 'files', { path, 'mods[details]': '1' });
  const { files } = (sources as { files: { name: string; about?: { alt: string } }[] }[])[0] ?? { files: [] };
  return Object.fromEntries(files.map(({ name, about }) => [name, about?.alt] as const).sort());
};

const leadsTo = async ({ url }: Service, path: string): Promise<unknown> => {
  const { status, headers } = await fetch(`${url}/file/files/${path}`, { redirect: 'manual' });
  return headers.get('location') ?? status;
};

const recordOf = (text: string): string =>
  `.stowage-about/${createHash('sha256').update(text).digest('hex').slice(0, 40)}.json`;

describe('records of files that come from another disk', () => {
  it.each<[Kind, Kind]>([
    ['a disk that ignores letter case', 'a Linux disk'],
    ['a Linux disk', 'a disk that ignores letter case'],
  ])('are found: from %s to %s, and back', async (here, there) => {
    const [first, second, third] = [await storeOf(here), await storeOf(there), await storeOf(here)];
    const names = ['a.txt', 'b.txt', 'e\u0301te\u0301 \u03c3\u03c2.txt', 'old.txt', 'dir/C.txt'];
    for (const name of names) await put(first, name, name);
    const before = await serve(first);
    for (const name of ['a.txt', 'b.txt', '\u00e9t\u00e9 \u03c3\u03c2.txt']) await say(before, name, name);
    await say(before, 'C.txt', 'C', 'dir');
    await done(before, 'fileRename', { name: 'old.txt', newname: 'new.txt' });

    await carry(first, second);
    const after = await serve(second);
    const all = {
      'a.txt': 'a.txt',
      'b.txt': 'b.txt',
      '\u00e9t\u00e9 \u03c3\u03c2.txt': '\u00e9t\u00e9 \u03c3\u03c2.txt',
    };
    expect(await said(after)).toEqual({ ...all, 'new.txt': undefined });
    expect(await said(after, 'dir')).toEqual({ 'C.txt': 'C' });
    expect(await leadsTo(after, 'old.txt')).toBe('/file/files/new.txt');
    await done(after, 'fileRename', { name: 'a.txt', newname: 'A.Txt' });
    await done(after, 'fileRename', { name: 'new.txt', newname: 'newest.txt' });
    await done(after, 'fileRemove', { name: 'b.txt' });
    const [{ id = '' } = {}] = (await done(after, 'trashList', {}))['items'] as { id: string }[];
    await done(after, 'trashRestore', { id });
    await say(after, 'C.txt', '', 'dir');
    const { 'a.txt': words, ...others } = all;
    const changed = { ...others, 'A.Txt': words, 'newest.txt': undefined };
    expect(await said(after)).toEqual(changed);
    expect(await said(after, 'dir')).toEqual({ 'C.txt': undefined });

    await carry(second, third);
    const again = await serve(third);
    expect(await said(again)).toEqual(changed);
    for (const old of ['old.txt', 'new.txt'])
      expect(await leadsTo(again, old)).toBe('/file/files/newest.txt');
  });

  it('are not mixed up with those of a file whose name differs in letter case', async () => {
    const [first, second] = [await storeOf('a disk that ignores letter case'), await storeOf('a Linux disk')];
    await put(first, 'a.txt', 'a');
    await say(await serve(first), 'a.txt', 'small');
    await carry(first, second);
    const service = await serve(second);
    await service.upload([['files[0]', 'A.TXT', 'A']]);
    expect(await said(service)).toEqual({ 'A.TXT': undefined, 'a.txt': 'small' });
    await say(service, 'A.TXT', 'capital');
    expect(await said(service)).toEqual({ 'A.TXT': 'capital', 'a.txt': 'small' });
    await done(service, 'fileRemove', { name: 'A.TXT' });
    expect(await said(service)).toEqual({ 'a.txt': 'small' });
  });

  it('are found where older versions wrote them, without taking those of another file', async () => {
    const store = new MemoryAdapter();
    for (const name of ['a.txt', 'B.TXT', 'b.txt']) await put(store, name, name);
    for (const name of ['A.TXT', 'B.TXT']) await put(store, recordOf(name), JSON.stringify({ alt: name }));
    const service = await serve(store);
    expect(await said(service)).toEqual({ 'B.TXT': 'B.TXT', 'a.txt': 'A.TXT', 'b.txt': undefined });
    await done(service, 'fileRemove', { name: 'b.txt' });
    await done(service, 'fileRename', { name: 'a.txt', newname: 'A.TXT' });
    expect(await said(service)).toEqual({ 'A.TXT': 'A.TXT', 'B.TXT': 'B.TXT' });
  });
});

describe('a file whose description cannot be read', () => {
  const damaged = Object.assign(new Error('EIO: i/o error'), { code: 'EIO' });

  it.each([
    ['belongs to another user', new StorageDeniedError()],
    ['lies on a damaged part of the disk', new StorageUnavailableError({ cause: damaged })],
  ])('is listed, replaced, removed and restored: it %s', async (_why, error) => {
    const memory = new MemoryAdapter();
    for (const name of ['a.txt', 'b.txt']) await put(memory, name, name);
    let isDamaged = false;
    const read: MemoryAdapter['read'] = async (path, options) => {
      if (isDamaged && path.toString() === recordOf('a.txt')) throw error;
      return memory.read(path, options);
    };
    const warnings: string[] = [];
    const service = await serve(replacing(memory, { read }), (message) => void warnings.push(message));
    await say(service, 'a.txt', 'a');
    await say(service, 'b.txt', 'b');
    isDamaged = true;
    expect(await said(service)).toEqual({ 'a.txt': undefined, 'b.txt': 'b' });
    const form = new FormData();
    form.append('name', 'a.txt');
    form.append('files[0]', new Blob(['new']), 'a.txt');
    expect((await fetch(`${service.url}/fileReplace`, { method: 'POST', body: form })).status).toBe(200);
    await done(service, 'fileRemove', { name: 'a.txt' });
    expect(warnings.join()).toMatch(/cannot be read, and do not go into the trash/u);
    const [{ id = '' } = {}] = (await done(service, 'trashList', {}))['items'] as { id: string }[];
    await done(service, 'trashRestore', { id });
    expect((await done(service, 'trashList', {}))['items']).not.toContainEqual(
      expect.objectContaining({ id }),
    );
    isDamaged = false;
    expect(await said(service)).toEqual({ 'a.txt': 'a', 'b.txt': 'b' });
  });
});
