import { randomUUID } from 'node:crypto';
import { mkdir, mkdtemp, realpath, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import sharp from 'sharp';
import { createApp, type App, type ConfigInput } from 'stowage';
import { afterAll, beforeAll, describe, expect, it, onTestFinished } from 'vitest';
import { makeBucket, optionsFor, type PlainBucket } from '../../tools/test-servers/bucket.ts';
import { radosgwMissing, startRadosgw, type Radosgw } from '../../tools/test-servers/radosgw.ts';
import { silent } from '../protocol/service.ts';

const open = (config: ConfigInput): App => {
  const app = createApp(config, {}, { logger: silent });
  onTestFinished(() => app.close());
  return app;
};

const get = (app: App, path: string, headers: Record<string, string> = {}): Promise<Response> =>
  app.fetch(new Request(`http://localhost${path}`, { headers }));

const localRoot = async (): Promise<string> => {
  const root = await realpath(await mkdtemp(join(tmpdir(), 'stowage delivery ')));
  onTestFinished(() => rm(root, { recursive: true, force: true }));
  await mkdir(join(root, 'trip'));
  await writeFile(join(root, 'trip/Köln 1.txt'), 'city');
  return root;
};

describe('files that the web server in front sends', () => {
  const path = '/file/photos/trip/K%C3%B6ln%201.txt';

  it('are named to nginx by an internal location', async () => {
    const root = await localRoot();
    const delivery = { delivery: 'x-accel-redirect' as const, deliveryPrefix: '/internal/photos/' };
    const app = open({ sources: { photos: { title: 'P', root, serve: 'public', ...delivery } } });
    const answer = await get(app, path);
    expect([answer.status, await answer.text()]).toEqual([200, '']);
    expect(Object.fromEntries(answer.headers)).toMatchObject({
      'x-accel-redirect': '/internal/photos/trip/K%C3%B6ln%201.txt',
      'content-type': 'text/plain; charset=utf-8',
      'x-content-type-options': 'nosniff',
    });
    expect((await get(app, '/file/photos/missing.txt')).headers.has('x-accel-redirect')).toBe(false);
  });

  it('are named to others by their path on disk', async () => {
    const root = await localRoot();
    const app = open({ sources: { photos: { title: 'P', root, serve: 'public', delivery: 'x-sendfile' } } });
    const sent = (await get(app, path)).headers.get('x-sendfile') ?? '';
    expect(Buffer.from(sent, 'latin1').toString()).toBe(join(root, 'trip/Köln 1.txt'));
  });

  it('are neither denied nor unsigned ones', async () => {
    const root = await localRoot();
    const base = { title: 'P', root, delivery: 'x-sendfile' as const };
    const app = open({
      signingSecret: 's'.repeat(32),
      accessControl: [{ FILE_DOWNLOAD: false }],
      sources: { closed: { ...base, serve: 'protected' }, signed: { ...base, serve: 'signed' } },
    });
    for (const source of ['closed', 'signed']) {
      const answer = await get(app, path.replace('photos', source));
      expect([answer.status, answer.headers.has('x-sendfile')]).toEqual([403, false]);
    }
  });
});

describe.skipIf(radosgwMissing !== undefined)(
  `files that the store sends${radosgwMissing === undefined ? '' : ` (skipped: ${radosgwMissing})`}`,
  () => {
    let server: Radosgw;
    let bucket: PlainBucket;
    beforeAll(async () => {
      server = await startRadosgw();
      bucket = await makeBucket(server);
    });
    afterAll(async () => {
      bucket?.client.destroy();
      await server?.stop();
    });

    const openBucket = (serve: 'public' | 'protected' | 'signed', more: object = {}) => {
      const prefix = randomUUID();
      const s3 = { ...optionsFor(server, bucket.name), prefix };
      const source = { title: 'B', storageAdapter: 's3', s3, serve, delivery: 'redirect' as const };
      return { app: open({ ...more, sources: { photos: source } }), prefix };
    };

    it('are reached by a URL of the private bucket that expires, whole and in part', async () => {
      const { app, prefix } = openBucket('public');
      await bucket.put(`${prefix}/trip/Köln 1.html`, '<script>alert(1)</script>');
      const answer = await get(app, '/file/photos/trip/K%C3%B6ln%201.html');
      expect(answer.status).toBe(302);
      expect(answer.headers.get('cache-control')).toBe('private, max-age=240');
      const location = answer.headers.get('location') ?? '';
      expect(new URL(location).searchParams.get('X-Amz-Expires')).toBe('300');
      const file = await fetch(location, { headers: { range: 'bytes=1-6' } });
      expect([file.status, await file.text()]).toEqual([206, 'script']);
      expect(file.headers.get('content-disposition')).toMatch(/^attachment;/u);
      const plain = await fetch(location.split('?')[0] ?? '');
      expect(plain.status).toBe(403);
      // The URL is signed for GET: the service itself answers a client that asks for the headers alone.
      expect((await fetch(location, { method: 'HEAD' })).status).toBe(403);
      const request = new Request('http://localhost/file/photos/trip/K%C3%B6ln%201.html', { method: 'HEAD' });
      const head = await app.fetch(request);
      expect([head.status, head.headers.get('content-length')]).toEqual([200, '25']);
    });

    it('are reached no longer than the signed link is valid', async () => {
      const { app, prefix } = openBucket('signed', { signingSecret: 'x'.repeat(32) });
      await bucket.put(`${prefix}/a.txt`, 'a');
      const { status, headers } = await get(app, app.urlFor('photos', 'a.txt', { lifetime: 60 }));
      const [, age = ''] = /^private, max-age=(\d+)$/u.exec(headers.get('cache-control') ?? '') ?? [];
      const lifetime = new URL(headers.get('location') ?? '').searchParams.get('X-Amz-Expires');
      expect([status, Number(age) > 40, Number(age) <= 60, lifetime]).toEqual([302, true, true, age]);
    });

    it('are only what the source shows', async () => {
      const { app, prefix } = openBucket('protected', {
        accessControl: [{ path: '/b', FILE_DOWNLOAD: false }],
      });
      await bucket.put(`${prefix}/a.txt`, 'a');
      await bucket.put(`${prefix}/b/a.txt`, 'a');
      await bucket.put(`${prefix}/a.key`, 'k');
      const statuses = ['a.txt', 'b/a.txt', 'a.key', 'missing.txt'].map(
        async (name) => (await get(app, `/file/photos/${name}`)).status,
      );
      expect(await Promise.all(statuses)).toEqual([302, 403, 404, 404]);
    });

    it('have thumbnails that are made when they are asked for', async () => {
      const { app, prefix } = openBucket('public');
      const picture = sharp({ create: { width: 500, height: 300, channels: 3, background: '#336699' } });
      await bucket.put(`${prefix}/a.jpg`, await picture.jpeg().toBuffer());
      const answer = await get(app, '/file/photos/_thumbs/a.jpg');
      const thumb = await fetch(answer.headers.get('location') ?? '');
      const { width } = await sharp(Buffer.from(await thumb.arrayBuffer())).metadata();
      expect([answer.status, thumb.status, width]).toEqual([302, 200, 250]);
    });
  },
);
