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
import { CaseFoldingStore, replacing, withCapabilities } from './changing-store.ts';
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

  it.each([true, false])('are one for names that differ in letter case (ifMatch: %s)', async (ifMatch) => {
    const store = withCapabilities(new MemoryAdapter(), { ifMatch });
    const service = await serve(store);
    const names = ['a.txt', 'A.txt', 'A.TXT'];
    for (const name of names) await put(store, name, name);
    await Promise.all(names.map((name) => say(service, name, name)));
    expect(await said(service)).toEqual({ 'A.TXT': 'A.TXT', 'A.txt': 'A.txt', 'a.txt': 'a.txt' });
    await done(service, 'fileRename', { name: 'A.TXT', newname: 'b.txt' });
    await done(service, 'fileRename', { name: 'A.txt', newname: 'A.TXT' });
    expect(await said(service)).toEqual({ 'A.TXT': 'A.txt', 'a.txt': 'a.txt', 'b.txt': 'A.TXT' });
    await done(service, 'fileRemove', { name: 'A.TXT' });
    const [{ id = '' } = {}] = (await done(service, 'trashList', {}))['items'] as { id: string }[];
    await service.upload([['files[0]', 'A.TXT', 'new']]);
    expect(await said(service)).toEqual({ 'A.TXT': undefined, 'a.txt': 'a.txt', 'b.txt': 'A.TXT' });
    await done(service, 'fileRename', { name: 'A.TXT', newname: 'c.txt' });
    await done(service, 'trashRestore', { id });
    await done(service, 'fileRename', { name: 'a.txt', newname: 'd.txt' });
    const all = { 'A.TXT': 'A.txt', 'b.txt': 'A.TXT', 'c.txt': undefined, 'd.txt': 'a.txt' };
    expect(await said(service)).toEqual(all);
    // The last file under each of the names decides where its old links lead.
    for (const [old, now] of [
      ['a.txt', 'd.txt'],
      ['A.txt', 'A.TXT'],
    ])
      expect(await leadsTo(service, old as string)).toBe(`/file/files/${now as string}`);
  });

  it('of a file that another program removed are not those of a new one', async () => {
    const store = new MemoryAdapter();
    const service = await serve(store);
    for (const name of ['a.txt', 'A.TXT']) await put(store, name, name);
    for (const name of ['a.txt', 'A.TXT']) await say(service, name, name);
    await store.removeFile(SourcePath.parse('a.txt'));
    await service.upload([['files[0]', 'a.txt', 'new']]);
    expect(await said(service)).toEqual({ 'A.TXT': 'A.TXT', 'a.txt': undefined });
  });

  it('cost one lookup for a file that has none', async () => {
    const memory = new MemoryAdapter();
    const asked: string[] = [];
    const stat: MemoryAdapter['stat'] = (path, options) => {
      if (/^\.stowage-(?:about|moved)\/./u.test(path.toString())) asked.push(path.toString());
      return memory.stat(path, options);
    };
    const service = await serve(replacing(memory, { stat }));
    await put(memory, 'a.txt', 'a');
    await say(service, 'a.txt', 'a');
    asked.length = 0;
    await service.upload([['files[0]', 'New.txt', 'new']]);
    expect(new Set(asked.filter((path) => path.startsWith('.stowage-about')))).toEqual(
      new Set([recordOf('NEW.TXT')]),
    );
    asked.length = 0;
    await done(service, 'fileRename', { name: 'New.txt', newname: 'Other.txt' });
    expect(new Set(asked).size).toBeLessThanOrEqual(4);
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
      if (isDamaged && path.toString() === recordOf('A.TXT')) throw error;
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
    expect(warnings.join()).toMatch(/cannot be read, and does not go into the trash/u);
    const [{ id = '' } = {}] = (await done(service, 'trashList', {}))['items'] as { id: string }[];
    await done(service, 'trashRestore', { id });
    expect((await done(service, 'trashList', {}))['items']).not.toContainEqual(
      expect.objectContaining({ id }),
    );
    isDamaged = false;
    expect(await said(service)).toEqual({ 'a.txt': 'a', 'b.txt': 'b' });
  });
});
