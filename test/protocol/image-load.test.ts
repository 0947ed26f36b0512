import { randomUUID } from 'node:crypto';
import { registerStorageAdapter } from 'stowage';
import { describe, expect, it } from 'vitest';
import { MemoryAdapter } from '#internals';
import { put as putInto } from '../pictures/gallery.ts';
import { quarters } from '../pictures/pictures.ts';
import { replacing } from './changing-store.ts';
import { startImages } from './images.ts';
import { startService } from './service.ts';

describe('imageLoad', () => {
  it('gives an image as a data URL, byte for byte', async () => {
    const { put, service } = await startImages();
    const png = await quarters().png().toBuffer();
    await put('sub/a.png', png);
    const { status, data } = await service.call('imageLoad', { path: 'sub', name: 'a.png' });
    expect(status).toBe(200);
    expect(data).toEqual({
      code: 220,
      content: `data:image/png;base64,${png.toString('base64')}`,
      name: 'a.png',
    });
  });

  it('reads path and name from a JSON body', async () => {
    const { put, service } = await startImages();
    await put('sub/a.gif', await quarters().gif().toBuffer());
    const response = await fetch(`${service.url}/imageLoad`, {
      method: 'POST',
      headers: { 'content-type': 'application/json' },
      body: JSON.stringify({ path: '/sub/', name: 'a.gif' }),
    });
    const { data } = (await response.json()) as { data: { content: string } };
    expect(data.content.startsWith('data:image/gif;base64,R0lGOD')).toBe(true);
  });

  it('tells the type by content, for SVG by name', async () => {
    const { put, service } = await startImages();
    await put('a.png', await quarters().jpeg().toBuffer());
    await put('b.svg', Buffer.from('<svg xmlns="http://www.w3.org/2000/svg"/>'));
    const typeOf = async (name: string): Promise<string> =>
      String((await service.call('imageLoad', { name })).data['content']).split(';')[0] ?? '';
    expect([await typeOf('a.png'), await typeOf('b.svg')]).toEqual(['data:image/jpeg', 'data:image/svg+xml']);
  });

  it('answers to POST only', async () => {
    const { put, service } = await startImages();
    await put('a.png', await quarters().png().toBuffer());
    const response = await service.get('imageLoad', { name: 'a.png' });
    expect([response.status, response.headers.get('allow')?.includes('POST')]).toEqual([405, true]);
    expect((await fetch(`${service.url}/imageLoad?name=a.png`, { method: 'HEAD' })).status).toBe(405);
    expect((await fetch(`${service.url}/?action=imageLoad&name=a.png`)).status).toBe(405);
  });

  it('ends at the limit where the store does not tell how large a file is', async () => {
    const inner = new MemoryAdapter();
    for (const [name, bytes] of [
      ['small.png', 1024],
      ['large.png', 1025],
    ] as const)
      await putInto(inner, name, Buffer.alloc(bytes));
    const store = replacing(inner, {
      stat: async (...input) => ({ ...(await inner.stat(...input)), size: undefined }),
      read: async (...input) => {
        const read = await inner.read(...input);
        return { ...read, stat: { ...read.stat, size: undefined } };
      },
    });
    const storageAdapter = `sizeless-${randomUUID()}`;
    registerStorageAdapter(storageAdapter, { create: () => store });
    const service = await startService({ maxUploadFileSize: '1kb', sources: { files: { storageAdapter } } });
    const status = async (name: string): Promise<number> =>
      (await service.call('imageLoad', { name })).status;
    expect([await status('small.png'), await status('large.png')]).toEqual([200, 403]);
  });

  it('rejects files that are not images, missing, too large, hidden or denied', async () => {
    const { put, service } = await startImages({
      maxUploadFileSize: '1kb',
      accessControl: [{ path: '/locked', IMAGE_LOAD: false }],
    });
    await put('a.txt', Buffer.from('text'));
    await put('b.png', Buffer.alloc(2000));
    await put('c.png', Buffer.alloc(1024));
    await put('_thumbs/d.png', Buffer.alloc(10));
    await put('locked/e.png', Buffer.alloc(10));
    await put('folder.png/f.txt', Buffer.from('x'));
    const status = async (fields: Record<string, string>): Promise<number> =>
      (await service.call('imageLoad', fields)).status;
    expect(await status({ name: 'a.txt' })).toBe(403);
    expect(await status({ name: 'b.png' })).toBe(403);
    expect(await status({ name: 'c.png' })).toBe(200);
    expect(await status({ path: '_thumbs', name: 'd.png' })).toBe(404);
    expect(await status({ path: 'locked', name: 'e.png' })).toBe(403);
    expect(await status({ name: 'folder.png' })).toBe(400);
    expect(await status({ name: 'none.png' })).toBe(404);
    expect(await status({ name: '../c.png' })).toBe(400);
    expect(await status({})).toBe(400);
  });
});
