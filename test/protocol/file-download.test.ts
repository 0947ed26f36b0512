import { randomBytes, randomUUID } from 'node:crypto';
import { registerStorageAdapter } from 'stowage';
import { describe, expect, it } from 'vitest';
import { MemoryAdapter } from '#internals';
import { put } from '../pictures/gallery.ts';
import { replacing } from './changing-store.ts';
import { startService } from './service.ts';

describe('fileDownload', () => {
  it('sends the bytes as an attachment of no type', async () => {
    const service = await startService();
    const content = randomBytes(300_000);
    await service.source('files').put({ 'sub/page.html': content });
    const response = await service.get('fileDownload', { path: '/sub', name: 'page.html' });
    expect(response.status).toBe(200);
    expect(response.headers.get('content-type')).toBe('application/octet-stream');
    expect(response.headers.get('content-disposition')).toMatch(/^attachment; filename="?page\.html"?/u);
    expect(response.headers.get('x-content-type-options')).toBe('nosniff');
    expect(response.headers.get('content-length')).toBe('300000');
    expect(response.headers.get('accept-ranges')).toBe('bytes');
    expect(response.headers.get('etag')).toBeTruthy();
    expect(response.headers.get('last-modified')).toBeTruthy();
    expect(Buffer.from(await response.arrayBuffer()).equals(content)).toBe(true);
  });

  it('works by POST and from the named source', async () => {
    const service = await startService({ sources: { one: {}, two: {} } });
    await service.source('two').put({ 'a.txt': 'two' });
    const response = await fetch(`${service.url}/`, {
      method: 'POST',
      body: new URLSearchParams({ action: 'fileDownload', name: 'a.txt', source: 'two' }),
    });
    expect(await response.text()).toBe('two');
  });

  it('sends ranges', async () => {
    const service = await startService();
    await service.source('files').put({ 'a.txt': '0123456789' });
    const url = `${service.url}/fileDownload?name=a.txt`;
    const part = await fetch(url, { headers: { range: 'bytes=2-4' } });
    expect(part.status).toBe(206);
    expect(part.headers.get('content-range')).toBe('bytes 2-4/10');
    expect(await part.text()).toBe('234');
    const end = await fetch(url, { headers: { range: 'bytes=-3' } });
    expect(await end.text()).toBe('789');
    expect((await fetch(url, { headers: { range: 'bytes=10-' } })).status).toBe(416);
  });

  it('answers conditional requests', async () => {
    const service = await startService();
    await service.source('files').put({ 'a.txt': 'content' });
    const url = `${service.url}/fileDownload?name=a.txt`;
    const etag = (await fetch(url)).headers.get('etag') ?? '';
    const unchanged = await fetch(url, { headers: { 'if-none-match': etag } });
    expect(unchanged.status).toBe(304);
    expect(await unchanged.text()).toBe('');
    await service.source('files').put({ 'a.txt': 'changed content' });
    const changed = await fetch(url, { headers: { 'if-none-match': etag } });
    expect(changed.status).toBe(200);
    expect(await changed.text()).toBe('changed content');
  });

  it('names files of every script in the header', async () => {
    const service = await startService();
    await service.source('files').put({ 'תמונה "1".txt': 'x' });
    const response = await service.get('fileDownload', { name: 'תמונה "1".txt' });
    const disposition = response.headers.get('content-disposition') ?? '';
    expect(disposition).toContain(`filename*=UTF-8''${encodeURIComponent('תמונה "1".txt')}`);
  });

  it('sends empty files', async () => {
    const service = await startService();
    await service.source('files').put({ 'a.txt': '' });
    const response = await service.get('fileDownload', { name: 'a.txt' });
    expect(response.status).toBe(200);
    expect(response.headers.get('content-length')).toBe('0');
    expect(await response.text()).toBe('');
  });

  it.each([
    ['fileDownload?name=a.txt', {}, 'new and longer', null],
    ['fileDownload?name=a.txt', { range: 'bytes=0-4' }, 'new a', 'bytes 0-4/14'],
    ['file/files/a.txt', { range: 'bytes=-6' }, 'longer', 'bytes 8-13/14'],
  ])(
    'announces what it sends where a store without versions replaces the file: %s %j',
    async (path, headers, text, range) => {
      const inner = new MemoryAdapter();
      await put(inner, 'a.txt', Buffer.from('old'));
      let isReplaced = false;
      const store = replacing(inner, {
        stat: async (...input) => {
          const stat = await inner.stat(...input);
          if (!isReplaced && stat.kind === 'file') {
            isReplaced = true;
            await put(inner, 'a.txt', Buffer.from('new and longer'));
          }
          return { ...stat, etag: undefined };
        },
        read: async (...input) => {
          const read = await inner.read(...input);
          return { ...read, stat: { ...read.stat, etag: undefined } };
        },
      });
      const storageAdapter = `versionless-${randomUUID()}`;
      registerStorageAdapter(storageAdapter, { create: () => store });
      const service = await startService({ sources: { files: { storageAdapter, serve: 'public' } } });
      const response = await fetch(`${service.url}/${path}`, { headers });
      const length = response.headers.get('content-length');
      expect([await response.text(), length]).toEqual([text, String(text.length)]);
      expect(response.headers.get('content-range')).toBe(range);
    },
  );

  it('takes no time for a version that one of the same second may have, where a store has no others', async () => {
    const inner = new MemoryAdapter();
    let modifiedAt = Date.now();
    const store = replacing(inner, {
      stat: async (...input) => ({ ...(await inner.stat(...input)), etag: undefined, modifiedAt }),
      read: async (...input) => {
        const read = await inner.read(...input);
        return { ...read, stat: { ...read.stat, etag: undefined, modifiedAt } };
      },
    });
    const storageAdapter = `versionless-${randomUUID()}`;
    registerStorageAdapter(storageAdapter, { create: () => store });
    const service = await startService({ sources: { files: { storageAdapter, serve: 'public' } } });
    const ask = (headers = {}): Promise<Response> => fetch(`${service.url}/file/files/a.txt`, { headers });
    const time = (): string => new Date(modifiedAt).toUTCString();
    await put(inner, 'a.txt', Buffer.from('old'));
    const old = (await ask()).headers;
    expect(old.get('last-modified')).toBe(time());
    const tag = old.get('etag') ?? '';
    expect(tag).toMatch(/^W\/"/u);
    await put(inner, 'a.txt', Buffer.from('new'));
    const asBrowsers = { 'if-none-match': tag, 'if-modified-since': time() };
    expect(await (await ask(asBrowsers)).text()).toBe('new');
    expect(await (await ask({ 'if-range': tag, range: 'bytes=1-' })).text()).toBe('new');
    expect(await (await ask({ 'if-modified-since': time() })).text()).toBe('new');
    expect(await (await ask({ 'if-range': time(), range: 'bytes=1-' })).text()).toBe('new');
    modifiedAt -= 120_000;
    expect((await ask()).headers.get('last-modified')).toBe(time());
    expect((await ask({ 'if-modified-since': time() })).status).toBe(304);
    expect(await (await ask({ 'if-range': time(), range: 'bytes=1-' })).text()).toBe('ew');
    const known = (await ask()).headers.get('etag') ?? '';
    expect((await ask({ 'if-none-match': known })).status).toBe(304);
    expect((await ask({ 'if-none-match': `W/${known}` })).status).toBe(304);
    // Chrome and Firefox continue a download by these.
    for (const header of ['if-range', 'if-match'])
      expect(await (await ask({ [header]: known, range: 'bytes=1-' })).text()).toBe('ew');
    await put(inner, 'a.txt', Buffer.from('longer'));
    expect(await (await ask({ 'if-range': known, range: 'bytes=1-' })).text()).toBe('longer');
    expect((await ask({ 'if-none-match': known, 'if-modified-since': time() })).status).toBe(200);
  });

  it.each([
    ['no name', {}, 400],
    ['a name with a way out', { name: '../files/a.txt' }, 400],
    ['an absolute name', { name: '/etc/passwd' }, 400],
    ['a path out of the source', { path: '../../etc', name: 'passwd' }, 400],
    ['a folder', { name: 'dir' }, 400],
    ['an unknown file', { name: 'z.txt' }, 404],
    ['a hidden file', { path: '_thumbs', name: 'a.png' }, 404],
    ['a private key', { name: 'id_rsa' }, 404],
    ['a file of secrets', { name: '.env' }, 404],
    ['an unknown source', { name: 'a.txt', source: 'nowhere' }, 404],
  ])('refuses %s', async (_what, fields, status) => {
    const service = await startService();
    await service
      .source('files')
      .put({ 'a.txt': 'a', 'dir/': '', '_thumbs/a.png': 't', id_rsa: 'key', '.env': 's' });
    const answer = await service.call('fileDownload', fields);
    expect(answer.status).toBe(status);
    expect(answer.success).toBe(false);
  });

  it('obeys rules about paths and extensions', async () => {
    const service = await startService({
      accessControl: [
        { path: '/closed', FILE_DOWNLOAD: false },
        { extensions: 'pdf, doc', FILE_DOWNLOAD: false },
      ],
    });
    await service.source('files').put({ 'closed/a.txt': 'a', 'b.PDF': 'b', 'c.txt': 'c' });
    expect((await service.get('fileDownload', { path: 'closed', name: 'a.txt' })).status).toBe(403);
    expect((await service.get('fileDownload', { name: 'b.PDF' })).status).toBe(403);
    expect((await service.get('fileDownload', { name: 'c.txt' })).status).toBe(200);
  });
});
