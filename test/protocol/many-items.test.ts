import { get } from 'node:http';
import { setImmediate as nextTurn, setTimeout as delay } from 'node:timers/promises';
import { registerStorageAdapter } from 'stowage';
import { createClient } from 'stowage/client';
import { describe, expect, it } from 'vitest';
import { memoryFactory } from '#internals';
import type { StorageAdapter } from '../../packages/stowage/dist/storage/adapter.js';
import { startService } from './service.ts';

const done = (name: string) => ({ name, success: true, code: 220 });

describe('several items at once', () => {
  it('removes files, and says of each what has become of it', async () => {
    const service = await startService({ accessControl: [{ path: 'a/kept.txt', FILE_REMOVE: false }] });
    const files = service.source('files');
    await files.put({ 'a/1.txt': '1', 'a/2.txt': '2', 'a/kept.txt': '3', 'a/d/': '', 'a/4.txt': '4' });
    const all = await service.call('fileRemove', { path: 'a', 'names[0]': '1.txt', 'names[1]': '2.txt' });
    expect(all).toMatchObject({ status: 200, success: true });
    expect(all.data).toEqual({ code: 220, results: [done('1.txt'), done('2.txt')] });
    const names = ['4.txt', 'kept.txt', 'missing.txt', 'd', '4.txt'];
    const fields = Object.fromEntries(names.map((name, index) => [`names[${String(index)}]`, name]));
    const some = await service.call('fileRemove', { path: 'a', language: 'de', ...fields });
    expect(some).toMatchObject({ status: 200, success: false });
    expect(some.data).toMatchObject({
      code: 403,
      error: 'ACCESS_DENIED',
      results: [
        done('4.txt'),
        {
          name: 'kept.txt',
          success: false,
          code: 403,
          error: 'ACCESS_DENIED',
          message: 'Zugriff verweigert.',
        },
        { name: 'missing.txt', success: false, code: 404, error: 'NOT_FOUND' },
        { name: 'd', success: false, code: 400, error: 'WRONG_KIND' },
      ],
    });
    expect(some.messages).toHaveLength(3);
    expect(some.messages[0]).toBe('kept.txt: Zugriff verweigert.');
    expect(await files.paths()).toEqual(['a/', 'a/d/', 'a/kept.txt']);
  });

  it('does what depends on one another in the order of the request', async () => {
    const service = await startService();
    const files = service.source('files');
    for (let round = 0; round < 10; round += 1) {
      await files.put({ 'a/x.txt': 'a', 'b/x.txt': 'b', 'c/x.txt': 'c', 'to/': '', 'back/': '' });
      const copied = { path: 'to', 'froms[0]': 'c/x.txt', 'froms[1]': 'a/x.txt', 'froms[2]': 'b/x.txt' };
      const { data } = await service.call('fileCopy', copied);
      expect(data['results']).toEqual([
        done('c/x.txt'),
        { ...done('a/x.txt'), newname: 'x (1).txt' },
        { ...done('b/x.txt'), newname: 'x (2).txt' },
      ]);
      const contents = ['to/x.txt', 'to/x (1).txt', 'to/x (2).txt'].map((name) => files.text(name));
      expect(await Promise.all(contents)).toEqual(['c', 'a', 'b']);
      const outFirst = await service.call('fileMove', {
        path: 'back',
        'froms[0]': 'a/x.txt',
        'froms[1]': 'a',
      });
      expect(outFirst.data['results']).toEqual([done('a/x.txt'), done('a')]);
      for (const name of ['to', 'back']) await service.call('folderRemove', { name });
    }
  });

  it('removes several folders', async () => {
    const service = await startService();
    await service.source('files').put({ 'a/1.txt': '1', 'b/2.txt': '2', 'c/': '' });
    const response = await fetch(`${service.url}/folderRemove`, {
      method: 'POST',
      headers: { 'content-type': 'application/json' },
      body: JSON.stringify({ names: ['a', 'b'] }),
    });
    expect(await response.json()).toEqual({
      success: true,
      data: { code: 220, results: [done('a'), done('b')] },
    });
    expect(await service.source('files').paths()).toEqual(['c/']);
  });

  it('moves and copies items of several folders, also into another source', async () => {
    const service = await startService({ sources: { files: {}, other: {} } });
    const files = service.source('files');
    await files.put({ 'a/x.txt': 'a', 'b/x.txt': 'b', 'c/y.txt': 'y', 'to/y.txt': 'taken' });
    const copied = await service.call('fileCopy', { path: 'to', 'froms[]': 'a/x.txt' });
    expect(copied.data).toEqual({ code: 220, results: [done('a/x.txt')] });
    const moved = await service.call('fileMove', { path: 'to', 'froms[0]': 'c/y.txt', 'froms[1]': 'b' });
    expect(moved.success).toBe(false);
    expect(moved.data['results']).toMatchObject([
      { name: 'c/y.txt', code: 400, error: 'ALREADY_EXISTS' },
      done('b'),
    ]);
    const across = { source: 'other', fromSource: 'files', 'froms[0]': 'a/x.txt', 'froms[1]': 'to/b' };
    expect((await service.call('fileMove', across)).data).toEqual({
      code: 220,
      results: [done('a/x.txt'), done('to/b')],
    });
    expect(await files.paths()).toEqual(['a/', 'c/', 'c/y.txt', 'to/', 'to/x.txt', 'to/y.txt']);
    expect(await service.source('other').paths()).toEqual(['b/', 'b/x.txt', 'x.txt']);
  });

  it('gives the results to the typed client, whatever has become of the items', async () => {
    const service = await startService();
    await service.source('files').put({ 'a.txt': 'a' });
    const client = createClient({ url: service.url });
    const { results = [] } = await client.fileRemove({ names: ['a.txt', 'b.txt'] });
    expect(results.map(({ name, success }) => [name, success])).toEqual([
      ['a.txt', true],
      ['b.txt', false],
    ]);
    expect(await client.fileRemove({ names: ['c.txt'] })).toMatchObject({ code: 404 });
    await expect(client.fileRemove({ name: 'd.txt' })).rejects.toMatchObject({ code: 404 });
  });

  it.each([
    ['one and several', { name: 'a.txt', 'names[]': 'b.txt' }],
    ['none', {}],
    ['a name that leads out', { 'names[0]': 'a.txt', 'names[1]': '../b.txt' }],
    ['an empty name', { 'names[0]': 'a.txt', 'names[1]': '' }],
    ['names that are not a list', { 'names[x]': 'a.txt' }],
  ])('refuses %s, and does nothing', async (_what, fields) => {
    const service = await startService();
    await service.source('files').put({ 'a.txt': 'a', 'b.txt': 'b' });
    expect((await service.call('fileRemove', { ...fields })).status).toBe(400);
    expect(await service.source('files').paths()).toEqual(['a.txt', 'b.txt']);
  });

  it('names an item that is missing beside all other problems', async () => {
    const service = await startService();
    for (const [action, item] of [
      ['fileMove', 'The item is required.'],
      ['folderRemove', 'The name is required.'],
      ['fileDownload', 'The name is required.'],
    ] as const) {
      const { status, messages } = await service.call(action, { path: '../x' });
      expect([status, messages]).toEqual([400, ['The path leaves the source.', item]]);
      const wrong = await service.call(action, { path: '../x', name: '..', from: '..' });
      expect(wrong.messages).toHaveLength(2);
    }
  });

  it('refuses more than a thousand', async () => {
    const service = await startService();
    await service.source('files').put({ '1.txt': 'a' });
    const names = Array.from({ length: 1001 }, (_, index) => `${String(index)}.txt`);
    const response = await fetch(`${service.url}/fileRemove`, {
      method: 'POST',
      headers: { 'content-type': 'application/json' },
      body: JSON.stringify({ names }),
    });
    expect(response.status).toBe(400);
    expect(await service.source('files').paths()).toEqual(['1.txt']);
  });

  it('begins with no further item when the client has left', async () => {
    let begun = 0;
    registerStorageAdapter('slow-removal', {
      create: async (context) => {
        const store = await memoryFactory.create({ ...context, options: undefined });
        return Object.assign(Object.create(store) as StorageAdapter, {
          stat: async () => ({ name: 'a', kind: 'file', size: 1, modifiedAt: undefined, etag: undefined }),
          removeFile: async () => {
            begun += 1;
            await delay(20);
            // On a busy machine timers alone follow one another, and the closed connection is never noticed.
            await nextTurn();
          },
        });
      },
    });
    const service = await startService({
      sources: { files: { storageAdapter: 'slow-removal', root: undefined } },
    });
    const query = new URLSearchParams(
      Array.from({ length: 400 }, (_, index) => [`names[${String(index)}]`, `${String(index)}.txt`]),
    );
    const request = get(`${service.url}/fileRemove?${query.toString()}`);
    request.on('error', () => undefined);
    while (begun < 5) await delay(5);
    request.destroy();
    for (let before = -1; before !== begun; await delay(200)) before = begun;
    expect(begun).toBeLessThan(400);
  });
});
