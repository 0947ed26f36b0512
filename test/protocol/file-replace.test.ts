import { setTimeout as sleep } from 'node:timers/promises';
import sharp from 'sharp';
import { describe, expect, it, onTestFinished } from 'vitest';
import { type AccessRule, HttpError, type ServiceEvent } from 'stowage';
import { optionsFor } from '../../tools/test-servers/bucket.ts';
import { S3Proxy } from '../../tools/test-servers/s3-proxy.ts';
import { S3Stub } from '../../tools/test-servers/s3-stub.ts';
import { startSite } from '../network/loopback.ts';
import { formOf, startService, type Answer, type FormFile, type Service, type Fields } from './service.ts';

const picture = async (
  width: number,
  height: number,
  format: 'png' | 'jpeg' | 'webp' = 'png',
): Promise<Uint8Array<ArrayBuffer>> => {
  const blank = sharp({ create: { width, height, channels: 3, background: '#a40' } });
  return new Uint8Array(await blank.toFormat(format).toBuffer());
};

const replace = async (service: Service, fields: Fields, files: readonly FormFile[]): Promise<Answer> => {
  const response = await fetch(`${service.url}/fileReplace`, { method: 'POST', body: formOf(files, fields) });
  const { success, data } = (await response.json()) as {
    success: boolean;
    data: Record<string, unknown> & { messages?: string[] };
  };
  const { status, headers } = response;
  return { status, headers, success, data, messages: data.messages ?? [] };
};

/** A service with a bucket, behind a proxy, and its events. */
const startInBucket = async (settings: object = {}) => {
  const stub = await S3Stub.start({ conditionalCopy: 'obeyed', conditionalDelete: 'obeyed' });
  const proxy = await S3Proxy.start(stub.endpoint);
  onTestFinished(async () => {
    await proxy.close();
    await stub.close();
  });
  const credentials = { accessKeyId: 'testkey', secretAccessKey: 'testsecret' };
  const s3 = optionsFor({ endpoint: proxy.endpoint, credentials }, 'bucket', {});
  const events: ServiceEvent[] = [];
  const service = await startService(
    { ...settings, sources: { files: { storageAdapter: 's3', s3, root: '' } } },
    { onEvent: (event) => void events.push(event) },
  );
  return { stub, proxy, service, events };
};

const one = (name: string, content: string | Uint8Array<ArrayBuffer>): readonly FormFile[] => [
  ['files[0]', name, content],
];

describe('fileReplace', () => {
  it('gives a file new content under its name, and answers as fileUpload', async () => {
    const service = await startService();
    await service.source('files').put({ 'pets/Köln 1.jpg': await picture(30, 20, 'jpeg') });
    const content = await picture(60, 40, 'jpeg');
    const fields = { path: 'pets', name: 'Köln 1.jpg' };
    const { status, data } = await replace(service, fields, one('another.JPEG', content));
    expect([status, data]).toEqual([
      200,
      {
        code: 220,
        baseurl: 'https://files.example/files/',
        messages: ['The file "Köln 1.jpg" was replaced.'],
        files: ['pets/Köln 1.jpg'],
        isImages: [true],
        items: [
          {
            source: 'files',
            path: 'pets',
            name: 'Köln 1.jpg',
            url: 'https://files.example/files/pets/K%C3%B6ln%201.jpg',
            bytes: content.length,
            mime: 'image/jpeg',
            width: 60,
            height: 40,
          },
        ],
      },
    ]);
    expect(await service.source('files').bytes('pets/Köln 1.jpg')).toEqual(Buffer.from(content));
    expect((await service.source('files').paths()).filter((path) => !path.includes('_thumbs'))).toEqual([
      'pets/',
      'pets/Köln 1.jpg',
    ]);
  });

  it.each([
    ['fileRemove', {}],
    ['fileRename', { newname: 'b.txt' }],
    ['fileMove', { from: 'a.txt', path: 'dir' }],
  ])('lets a waiting %s have the new content', async (action, fields) => {
    const { stub, proxy, service } = await startInBucket({ trash: {} });
    await service.upload([...one('a.txt', 'old')]);
    await service.call('folderCreate', { name: 'dir' });
    let waiting: Promise<Answer> | undefined;
    proxy.before('PutObject', 1, async () => {
      waiting = service.call(action, { name: 'a.txt', ...fields });
      // Time for the request to find the file and to wait for this one.
      await sleep(200);
    });
    expect((await replace(service, { name: 'a.txt' }, one('a.txt', 'newer'))).status).toBe(200);
    expect([(await waiting)?.status, (await waiting)?.messages]).toEqual([200, expect.anything()]);
    const contents = [...stub.objects].filter(([key]) => key.endsWith('.txt'));
    expect(contents.map(([, { bytes }]) => bytes.toString())).toEqual(['newer']);
    const { data } = await service.call('trashList');
    expect((data['items'] as { bytes: number }[]).map(({ bytes }) => bytes)).toEqual(
      action === 'fileRemove' ? [5] : [],
    );
  });

  it('waits for what the store gets from a client that has left: it must not come late, over newer content', async () => {
    const { stub, proxy, service, events } = await startInBucket();
    await service.upload(one('a.txt', 'old'));
    const stored = () => stub.seen.filter((operation) => operation === 'PutObject').length;
    const before = stored();
    let pass = (): void => undefined;
    const after = new Promise<void>((resolve) => (pass = resolve));
    proxy.reset();
    proxy.fail({ operation: 'PutObject', effect: { kind: 'late', after }, times: 1 });
    const client = new AbortController();
    const body = formOf(one('a.txt', 'first'), { name: 'a.txt' });
    const left = fetch(`${service.url}/fileReplace`, { method: 'POST', body, signal: client.signal });
    await expect.poll(() => proxy.counts()['PutObject']).toBe(1);
    client.abort();
    await expect(left).rejects.toThrow();
    const newer = replace(service, { name: 'a.txt' }, one('a.txt', 'second'));
    // Time for the newer one to be stored, if it could be.
    await sleep(200);
    pass();
    expect((await newer).status).toBe(200);
    await expect.poll(stored).toBe(before + 2);
    expect(stub.objects.get('a.txt')?.bytes.toString()).toBe('second');
    expect(events.map(({ type }) => type)).toEqual(['file.created', 'file.replaced', 'file.replaced']);
  });

  it('waits for a large new file, too, that the store gets from a client that has left', async () => {
    const { stub, proxy, service, events } = await startInBucket({ maxUploadFileSize: '100MB' });
    await service.upload(one('a.txt', 'old'));
    let pass = (): void => undefined;
    const after = new Promise<void>((resolve) => (pass = resolve));
    proxy.reset();
    proxy.fail({ operation: 'PutObject', effect: { kind: 'late', after }, times: 1 });
    const client = new AbortController();
    const body = formOf(one('large.txt', 'x'.repeat(9_000_000)));
    const left = fetch(`${service.url}/fileUpload`, { method: 'POST', body, signal: client.signal });
    await expect.poll(() => proxy.counts()['PutObject']).toBe(1);
    client.abort();
    await expect(left).rejects.toThrow();
    pass();
    await expect.poll(() => stub.objects.has('large.txt')).toBe(true);
    await expect.poll(() => events.map(({ path }) => path)).toEqual(['a.txt', 'large.txt']);
  });

  it('replaces whatever the strategy of uploads is', async () => {
    for (const saveSameFileNameStrategy of ['addNumber', 'error', 'replace'] as const) {
      const service = await startService({ saveSameFileNameStrategy });
      await service.source('files').put({ 'a.txt': 'old' });
      expect((await replace(service, { name: 'a.txt' }, one('b.txt', 'new'))).status).toBe(200);
      expect(await service.source('files').text('a.txt')).toBe('new');
      expect(await service.source('files').paths()).toEqual(['a.txt']);
    }
  });

  it('answers 404 where nothing is there, and makes nothing', async () => {
    const service = await startService();
    await service.source('files').put({ 'folder.txt/': '', '.hidden/a.txt': 'x' });
    for (const fields of [{ name: 'a.txt' }, { path: 'nowhere', name: 'a.txt' }]) {
      const { status, data } = await replace(service, fields, one('a.txt', 'new'));
      expect([status, data['error']]).toEqual([404, 'NOT_FOUND']);
    }
    expect((await replace(service, { name: 'folder.txt' }, one('a.txt', 'new'))).success).toBe(false);
    expect(await service.source('files').paths()).toEqual(['.hidden/', '.hidden/a.txt', 'folder.txt/']);
  });

  it('takes files of the same type alone', async () => {
    const service = await startService();
    const old = await picture(3, 2);
    await service.source('files').put({ 'a.png': old, 'b.jpeg': old });
    for (const name of ['a.jpg', 'a.webp', 'a', 'a.png.txt', 'a.exe']) {
      const { status, data, messages } = await replace(service, { name: 'a.png' }, one(name, 'new'));
      expect([name, status, data['error']]).toEqual([name, 403, 'TYPE_NOT_ALLOWED']);
      expect(messages[0]).toBe(`"${name}": this file type is not allowed.`);
    }
    expect(await service.source('files').bytes('a.png')).toEqual(Buffer.from(old));
    expect((await replace(service, { name: 'b.jpeg' }, one('c.JPG', 'new'))).status).toBe(200);
  });

  it('is asked by POST, with one file or an address', async () => {
    const service = await startService();
    await service.source('files').put({ 'a.txt': 'old' });
    expect((await service.get('fileReplace', { name: 'a.txt', url: 'http://a.example/a.txt' })).status).toBe(
      405,
    );
    const none = await replace(service, { name: 'a.txt' }, []);
    expect([none.status, none.messages]).toEqual([400, ['No file was sent.']]);
    const two = await replace(service, { name: 'a.txt' }, [...one('a.txt', '1'), ['files[1]', 'b.txt', '2']]);
    expect(two.status).toBe(400);
    const both = await replace(service, { name: 'a.txt', url: 'http://a.example/a.txt' }, one('a.txt', '1'));
    expect(both.status).toBe(400);
    expect((await replace(service, {}, one('a.txt', '1'))).status).toBe(400);
    expect(await service.source('files').text('a.txt')).toBe('old');
  });

  it('fetches nothing that is of another type', async () => {
    const asked: string[] = [];
    const site = await startSite((request, response) => {
      asked.push(request.url ?? '');
      response.end('far');
    });
    onTestFinished(() => site.close());
    const service = await startService({ allowPrivateNetworkUploads: true });
    await service.source('files').put({ 'a.txt': 'old' });
    for (const path of ['/far.css', '/'])
      expect(
        (await service.call('fileReplace', { name: 'a.txt', url: site.origin + path })).data['error'],
      ).toBe('TYPE_NOT_ALLOWED');
    expect(asked).toEqual([]);
  });

  it('fetches an address, and needs the right to that too', async () => {
    const site = await startSite((_, response) => void response.end('far'));
    onTestFinished(() => site.close());
    const url = `${site.origin}/far.txt`;
    for (const [key, status] of [
      ['FILE_UPLOAD_REMOTE', 403],
      ['FILE_MOVE', 200],
    ] as const) {
      const service = await startService({
        allowPrivateNetworkUploads: true,
        accessControl: [{ [key]: false }],
      });
      await service.source('files').put({ 'a.txt': 'old' });
      expect((await service.call('fileReplace', { name: 'a.txt', url })).status).toBe(status);
      expect(await service.source('files').text('a.txt')).toBe(status === 200 ? 'far' : 'old');
      expect((await replace(service, { name: 'a.txt' }, one('a.txt', 'sent'))).status).toBe(200);
    }
    const guarded = await startService();
    await guarded.source('files').put({ 'a.txt': 'old' });
    const refused = await guarded.call('fileReplace', { name: 'a.txt', url });
    expect([refused.status, refused.data['error']]).toEqual([403, 'ADDRESS_REFUSED']);
  });

  it.each(['FILE_REPLACE', 'FILE_UPLOAD', 'FILE_REMOVE', 'CHANGE'])(
    'needs %s, as permissions say',
    async (key) => {
      const service = await startService({
        accessControl: [{ [key]: false, path: '/closed' } as unknown as AccessRule],
      });
      await service.source('files').put({ 'closed/a.txt': 'old', 'open/a.txt': 'old' });
      const send = async (path: string): Promise<number> =>
        (await replace(service, { path, name: 'a.txt' }, one('a.txt', 'new'))).status;
      expect([await send('closed'), await send('open')]).toEqual([403, 200]);
      const allowed = async (path: string): Promise<unknown> => {
        const { permissions } = (await service.call('permissions', { path })).data as {
          permissions: Record<string, boolean>;
        };
        expect(Object.keys(permissions).indexOf('allowFileReplace')).toBeGreaterThanOrEqual(21);
        return permissions['allowFileReplace'];
      };
      expect([await allowed('closed'), await allowed('open')]).toEqual([false, true]);
      expect(await service.source('files').text('closed/a.txt')).toBe('old');
    },
  );

  it('passes what an upload passes: size, quota, cleaning, pictures', async () => {
    const service = await startService({
      maxUploadFileSize: '1kb',
      sources: {
        files: { quota: { bytes: 1500 } },
        drawings: {},
        photos: { maxUploadFileSize: '10mb', uploadImages: { maxWidth: 50, format: 'webp' } },
      },
    });
    await service.source('files').put({ 'a.txt': 'x'.repeat(1000), 'b.txt': 'x'.repeat(400) });
    const large = await replace(service, { name: 'a.txt' }, one('a.txt', 'y'.repeat(1100)));
    expect([large.status, large.data['error']]).toEqual([403, 'FILE_TOO_LARGE']);
    expect((await replace(service, { name: 'b.txt' }, one('b.txt', 'y'.repeat(500)))).status).toBe(200);
    const full = await replace(service, { name: 'b.txt' }, one('b.txt', 'z'.repeat(900)));
    expect([full.status, full.data['error']]).toEqual([413, 'QUOTA_EXCEEDED']);
    expect(await service.source('files').text('b.txt')).toBe('y'.repeat(500));
    const svg = '<svg xmlns="http://www.w3.org/2000/svg"><script>alert(1)</script></svg>';
    await service.source('drawings').put({ 'a.svg': '<svg xmlns="http://www.w3.org/2000/svg"/>' });
    await replace(service, { source: 'drawings', name: 'a.svg' }, one('b.svg', svg));
    expect(await service.source('drawings').text('a.svg')).not.toContain('script');
    await service.source('photos').put({ 'a.png': await picture(3, 2) });
    const wide = one('b.png', await picture(600, 400));
    expect((await replace(service, { source: 'photos', name: 'a.png' }, wide)).status).toBe(200);
    const stored = await sharp(await service.source('photos').bytes('a.png')).metadata();
    expect([stored.width, stored.format]).toEqual([50, 'png']);
    const other = one('b.png', await picture(6, 4, 'jpeg'));
    expect((await replace(service, { source: 'photos', name: 'a.png' }, other)).status).toBe(403);
    const broken = await replace(service, { source: 'photos', name: 'a.png' }, one('b.png', 'no picture'));
    expect([broken.status, broken.data['error']]).toEqual([400, 'BROKEN_IMAGE']);
  });

  it('keeps the old version in the trash, and reports the user', async () => {
    const events: ServiceEvent[] = [];
    const service = await startService(
      { trash: { keepReplaced: true } },
      {
        onEvent: (event) => void events.push(event),
        beforeEvent: ({ type, path, bytes }) => {
          if (type === 'file.replaced' && path === 'b.txt') throw new HttpError(409, `No: ${String(bytes)}.`);
          return undefined;
        },
      },
    );
    await service.source('files').put({ 'a.txt': 'old', 'b.txt': 'old' });
    await replace(service, { name: 'a.txt' }, one('x.txt', 'newer'));
    const refused = await replace(service, { name: 'b.txt' }, one('x.txt', 'newer'));
    expect([refused.status, refused.messages]).toEqual([409, ['No: 5.']]);
    expect(await service.source('files').text('b.txt')).toBe('old');
    const { items } = (await service.call('trashList')).data as { items: { id: string; name: string }[] };
    expect(items.map(({ name }) => name)).toEqual(['a.txt']);
    await expect
      .poll(() => events.map(({ type, path, bytes }) => [type, path, bytes]))
      .toEqual([['file.replaced', 'a.txt', 5]]);
    await service.call('trashRestore', { id: items[0]?.id ?? '' });
    expect(await service.source('files').text('a (1).txt')).toBe('old');
  });

  it('lets thumbnails and variants follow, and versions change', async () => {
    const service = await startService({
      sources: {
        files: { serve: 'public', baseurl: undefined, imagePresets: { small: { width: 40 } } },
      },
    });
    await service.source('files').put({ 'a.png': await picture(300, 300) });
    const look = async (path: string): Promise<readonly [number | undefined, string | null]> => {
      const response = await fetch(`${service.url}/file/files/${path}`);
      const { height } = await sharp(Buffer.from(await response.arrayBuffer())).metadata();
      return [height, response.headers.get('etag')];
    };
    const paths = ['a.png', '_thumbs/a.png', '_thumbs/small/a.png'];
    const before = [await look('a.png'), await look('_thumbs/a.png'), await look('_thumbs/small/a.png')];
    expect(before[2]?.[0]).toBe(40);
    await replace(service, { name: 'a.png' }, one('b.png', await picture(300, 150)));
    for (const [index, path] of paths.entries()) {
      const [height, etag] = await look(path);
      expect(height).toBe(Number(before[index]?.[0]) / 2);
      expect(etag).not.toBe(before[index]?.[1]);
    }
  });

  it('does not bring back what was removed meanwhile', async () => {
    const service = await startService(
      {},
      {
        beforeEvent: async ({ type }) => {
          if (type === 'file.replaced') await service.call('fileRemove', { name: 'a.txt' });
          return undefined;
        },
      },
    );
    await service.source('files').put({ 'a.txt': 'old' });
    expect((await replace(service, { name: 'a.txt' }, one('a.txt', 'new'))).status).toBe(404);
    expect(await service.source('files').paths()).toEqual([]);
  });
});
