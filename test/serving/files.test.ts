import { request as rawRequest } from 'node:http';
import { setTimeout as sleep } from 'node:timers/promises';
import { HttpError } from 'stowage';
import { describe, expect, it } from 'vitest';
import { startService, type Service } from '../protocol/service.ts';

const KEY = 'k'.repeat(40);

/** A path exactly as written: `fetch` would tidy it. */
const statusOf = (service: Service, path: string): Promise<number> =>
  new Promise((resolve, reject) => {
    const { hostname, port } = new URL(service.url);
    rawRequest({ hostname, port, path }, (response) => {
      response.resume();
      resolve(response.statusCode ?? 0);
    })
      .on('error', reject)
      .end();
  });

interface Item {
  readonly file: string;
  readonly thumb: string;
  readonly fileIsAbsolute?: boolean;
  readonly thumbIsAbsolute?: boolean;
}

const listed = async (service: Service, path = ''): Promise<{ baseurl: string; files: readonly Item[] }> => {
  const { data } = await service.call('files', { path });
  const [source] = data['sources'] as { baseurl: string; files: readonly Item[] }[];
  if (source === undefined) throw new Error('no source');
  return source;
};

const publicFiles = async (options: object = {}): Promise<Service> => {
  const service = await startService({
    sources: { files: { baseurl: undefined, serve: 'public', ...options } },
  });
  await service.source('files').put({
    'a.txt': 'hello',
    'page.html': '<script>alert(1)</script>',
    'drawing.svg': '<svg xmlns="http://www.w3.org/2000/svg"/>',
    'film.mp4': 'film',
    'letter.pdf': '%PDF-1.4',
    'data.json': '{}',
    'trip/Köln 1.txt': 'city',
    'secret.key': 'key',
    '.tmb/x.txt': 'hidden',
    '100%.txt': 'percent',
  });
  return service;
};

describe('public files', () => {
  it('come with their own type, version and length', async () => {
    const service = await publicFiles();
    const { baseurl } = await listed(service);
    expect(baseurl).toBe('/file/files/');
    const response = await fetch(`${service.url}${baseurl}trip/K%C3%B6ln%201.txt`);
    expect([response.status, await response.text()]).toEqual([200, 'city']);
    const headers = Object.fromEntries(response.headers);
    expect(headers).toMatchObject({
      'content-type': 'text/plain; charset=utf-8',
      'content-length': '4',
      'accept-ranges': 'bytes',
      'x-content-type-options': 'nosniff',
      'cross-origin-resource-policy': 'cross-origin',
      'cache-control': 'public, no-cache',
    });
    expect(headers['content-security-policy']).toMatch(/^sandbox; default-src 'none'/u);
    const again = await fetch(response.url, { headers: { 'if-none-match': headers['etag'] ?? '' } });
    expect([again.status, again.headers.get('etag')]).toEqual([304, headers['etag']]);
    const part = await fetch(response.url, { headers: { range: 'bytes=1-2' } });
    expect([part.status, await part.text(), part.headers.get('content-range')]).toEqual([
      206,
      'it',
      'bytes 1-2/4',
    ]);
    expect(part.headers.get('cache-control')).toBe('public, no-cache, no-transform');
    const head = await fetch(response.url, { method: 'HEAD' });
    expect([head.status, head.headers.get('content-length'), await head.text()]).toEqual([200, '4', '']);
    const beyond = await fetch(response.url, { headers: { range: 'bytes=9-' } });
    expect([beyond.status, beyond.headers.get('content-range')]).toEqual([416, 'bytes */4']);
  });

  // nginx with `slice` asks for the first megabyte of every file, and would pass on the 416.
  it('send an empty file also for a range of its first bytes', async () => {
    const service = await publicFiles();
    await service.source('files').put({ 'empty.txt': '' });
    const response = await fetch(`${service.url}/file/files/empty.txt`, {
      headers: { range: 'bytes=0-999' },
    });
    expect([response.status, await response.text()]).toEqual([200, '']);
  });

  it.each([
    ['a.txt', 'inline'],
    ['film.mp4', 'inline'],
    ['letter.pdf', 'inline'],
    ['page.html', 'attachment'],
    ['drawing.svg', 'attachment'],
    ['data.json', 'attachment'],
  ])('%s is sent as %s', async (name, disposition) => {
    const service = await publicFiles();
    const response = await fetch(`${service.url}/file/files/${name}`);
    expect(response.status).toBe(200);
    expect(response.headers.get('content-disposition')).toBe(`${disposition}; filename="${name}"`);
    // In a sandbox Safari shows an empty window in place of a PDF.
    const policy = `${name === 'letter.pdf' ? '' : 'sandbox; '}default-src 'none'; img-src`;
    expect(response.headers.get('content-security-policy')?.startsWith(policy)).toBe(true);
  });

  it.each([
    '/file/files/missing.txt',
    '/file/files/secret.key',
    '/file/files/.tmb/x.txt',
    '/file/files/trip',
    '/file/files/trip/',
    '/file/files/a.txt/',
    '/file/files/',
    '/file/files//a.txt',
    '/file/files/../files/a.txt',
    '/file/files/trip/../a.txt',
    '/file/files/trip%2f..%2fa.txt',
    '/file/files/trip%2FK%C3%B6ln%201.txt',
    '/file/files/%2e%2e/a.txt',
    '/file/files/trip%5cK',
    '/file/files/a.txt%00.jpg',
    '/file/files/100%.txt',
    '/file/files/%E0%A4%A.txt',
    '/file/files/a%252etxt',
    '/file/other/a.txt',
    '/file/constructor/a.txt',
    '/file/a.txt',
    '/x/file/files/a.txt',
  ])('%s is not there', async (path) => {
    expect(await statusOf(await publicFiles(), path)).toBe(404);
  });

  it('are read by encoded names, and by the decomposed spelling of a name', async () => {
    const service = await publicFiles();
    const texts = ['100%25.txt', 'a%2Etxt', 'trip/Ko%CC%88ln%201.txt'].map(async (path) =>
      (await fetch(`${service.url}/file/files/${path}`)).text(),
    );
    expect(await Promise.all(texts)).toEqual(['percent', 'hello', 'city']);
  });

  it('return errors as short texts that are not cached', async () => {
    const service = await publicFiles();
    const response = await fetch(`${service.url}/file/files/missing.txt`);
    expect(await response.text()).not.toContain('{');
    expect(response.headers.get('content-type')).toMatch(/^text\/plain/u);
    expect(response.headers.get('cache-control')).toBe('no-store');
  });

  it('are missing in an unknown source', async () => {
    const service = await publicFiles();
    const response = await fetch(`${service.url}/file/other/a.txt`);
    expect([response.status, response.headers.get('content-type')]).toEqual([
      404,
      'text/plain; charset=utf-8',
    ]);
  });

  it('of phones and recorders play: Firefox plays nothing of an unknown type', async () => {
    const service = await publicFiles({ extensions: ['m4a', 'm4v', 'opus'] });
    await service
      .source('files')
      .put({ 'New Recording.m4a': 'sound', 'IMG_1.M4V': 'film', 'voice.opus': 'sound' });
    const types = ['New%20Recording.m4a', 'IMG_1.M4V', 'voice.opus'].map(async (path) => {
      const { headers } = await fetch(`${service.url}/file/files/${path}`);
      return [headers.get('content-type'), headers.get('content-disposition')?.split(';')[0]];
    });
    expect(await Promise.all(types)).toEqual(
      ['audio/mp4', 'video/mp4', 'audio/ogg'].map((type) => [type, 'inline']),
    );
  });

  it('have the Cache-Control that the source says', async () => {
    const service = await publicFiles({ serveCacheControl: 'public, max-age=60' });
    const response = await fetch(`${service.url}/file/files/a.txt`);
    expect(response.headers.get('cache-control')).toBe('public, max-age=60');
  });

  it.each(['protected', 'signed'])(
    'of %s sources are kept by no shared cache, whatever the source says',
    async (serve) => {
      const wanted = {
        'max-age=60': 'private, max-age=60',
        'no-store': 'no-store',
        'max-age=9, Private': 'max-age=9, Private',
      };
      for (const [serveCacheControl, sent] of Object.entries(wanted)) {
        const service = await startService({
          signingSecret: 'k'.repeat(32),
          sources: { files: { serve, serveCacheControl, baseurl: undefined } },
        });
        await service.source('files').put({ 'a.txt': 'hello' });
        const { data } = await service.call('filesSearch', { query: 'a' });
        const [{ url = '' } = {}] = data['items'] as { url?: string }[];
        expect((await fetch(new URL(url, service.url))).headers.get('cache-control')).toBe(sent);
      }
    },
  );

  it('need neither a role nor POST', async () => {
    const denied = (): never => {
      throw new HttpError(401, 'Who are you?');
    };
    const service = await startService(
      { onlyPOST: true, sources: { files: { serve: 'public' } } },
      { checkAuthentication: denied },
    );
    await service.source('files').put({ 'a.txt': 'hello' });
    expect(await statusOf(service, '/file/files/a.txt')).toBe(200);
    expect(await statusOf(service, '/files')).toBe(405);
    expect(await statusOf(service, '/file/other/a.txt')).toBe(404);
    expect(await statusOf(service, '/file/files')).toBe(405);
    for (const [method, status] of [
      ['POST', 405],
      ['OPTIONS', 200],
    ] as const) {
      const other = await fetch(`${service.url}/file/files/a.txt`, { method });
      expect([other.status, other.headers.get('allow')]).toEqual([status, 'GET, HEAD, OPTIONS']);
    }
  });

  it('are not served unless the source says so', async () => {
    const service = await startService();
    await service.source('files').put({ 'a.txt': 'hello' });
    expect(await statusOf(service, '/file/files/a.txt')).toBe(404);
  });

  it('are found by their links, whatever host a proxy gives the page', async () => {
    const service = await publicFiles();
    const find = (url: string) => service.call('getLocalFileByUrl', { url });
    for (const host of [service.url, 'https://www.example.com', '//www.example.com', '']) {
      const { data } = await find(`${host}/file/files/trip/K%C3%B6ln%201.txt?x=1`);
      expect(data).toMatchObject({ path: '/trip', name: 'Köln 1.txt', source: 'files' });
    }
    for (const path of ['files/file/a.txt', 'file/other/a.txt', 'file/files2/a.txt'])
      expect((await find(`https://www.example.com/${path}`)).status).toBe(404);
  });
});

describe('protected files', () => {
  const start = async (): Promise<Service> => {
    const service = await startService(
      {
        sources: { files: { baseurl: undefined, serve: 'protected' } },
        accessControl: [{ role: 'member', path: '/board', FILE_DOWNLOAD: false }],
      },
      {
        checkAuthentication: ({ headers }) => {
          if (headers['cookie'] !== 'user=ann') throw new HttpError(401, 'Log in first.');
          return 'member';
        },
      },
    );
    await service.source('files').put({ 'a.txt': 'hello', 'board/b.txt': 'secret' });
    return service;
  };
  const read = async (service: Service, path: string, headers: Record<string, string> = {}) => {
    const response = await fetch(`${service.url}/file/files/${path}`, { headers });
    return [response.status, await response.text()] as const;
  };

  it('are for those whom the hook and the rules let', async () => {
    const service = await start();
    const cookie = 'user=ann';
    expect(await read(service, 'a.txt')).toEqual([401, 'Log in first.\n']);
    expect(await read(service, 'a.txt', { cookie })).toEqual([200, 'hello']);
    expect((await read(service, 'board/b.txt', { cookie }))[0]).toBe(403);
    expect((await read(service, 'board/missing.txt', { cookie }))[0]).toBe(403);
    expect(await read(service, 'a.txt', { cookie, range: 'bytes=0-1' })).toEqual([206, 'he']);
    expect((await read(service, 'a.txt', { range: 'bytes=0-1' }))[0]).toBe(401);
  });

  it('do not show by their answers which sources there are', async () => {
    const service = await start();
    const ask = async (headers: Record<string, string>) => {
      const response = await fetch(`${service.url}/file/other/a.txt`, { headers });
      return [response.status, (await response.text()).includes('{')];
    };
    expect(await ask({})).toEqual([401, false]);
    expect(await ask({ cookie: 'user=ann' })).toEqual([404, false]);
  });

  it('are kept by no shared cache', async () => {
    const service = await start();
    const { headers } = await fetch(`${service.url}/file/files/a.txt`, { headers: { cookie: 'user=ann' } });
    expect(headers.get('cache-control')).toBe('private, no-cache');
    expect(headers.get('cross-origin-resource-policy')).toBe('same-site');
  });
});

describe('signed files', () => {
  const start = async (options: object = {}, top: object = {}): Promise<Service> => {
    const service = await startService({
      signingSecret: KEY,
      ...top,
      sources: { files: { baseurl: undefined, serve: 'signed', ...options }, other: { serve: 'signed' } },
    });
    await service.source('files').put({
      'a.txt': 'hello',
      'b.txt': 'other',
      'trip/a.txt': 'trip',
      'Köln #1.txt': 'city',
    });
    await service.source('other').put({ 'a.txt': 'not yours' });
    return service;
  };

  it('are read by the links of a listing, and by nothing else', async () => {
    const service = await start();
    const { files } = await listed(service);
    for (const { file, fileIsAbsolute, thumb, thumbIsAbsolute } of files) {
      expect([fileIsAbsolute, thumbIsAbsolute]).toEqual([true, true]);
      for (const link of [file, thumb]) {
        expect((await fetch(service.url + link)).status).toBe(200);
        expect((await fetch(service.url + (link.split('?')[0] ?? ''))).status).toBe(403);
      }
    }
    expect(files).toHaveLength(3);
  });

  it('do not open by the signature of another path, source, time or key', async () => {
    const service = await start();
    const { files } = await listed(service);
    const link = files.find(({ file }) => file.includes('/a.txt'))?.file ?? '';
    const query = link.slice(link.indexOf('?'));
    const [, expires = ''] = /expires=(\d+)/u.exec(query) ?? [];
    expect(await statusOf(service, `/file/files/a.txt${query}`)).toBe(200);
    // The client adds a time to thumbnails.
    expect(await statusOf(service, `/file/files/a.txt${query}?_tmst=1`)).toBe(200);
    // Base64 ignores the lowest two bits of the last character.
    const ending = 'ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789-_';
    const wrong = [
      ...[...ending]
        .map((last) => `/file/files/a.txt${query.slice(0, -1)}${last}`)
        .filter((path) => !path.endsWith(query)),
      `/file/files/a.txt${query}%3D`,
      `/file/files/a.txt${query.replace(expires, `0${expires}`)}`,
      `/file/files/b.txt${query}`,
      `/file/files/trip/a.txt${query}`,
      `/file/files/trip%2Fa.txt${query}`,
      `/file/files/trip/../a.txt${query}`,
      `/file/files/A.txt${query}`,
      `/file/files/a.txt/${query}`,
      `/file/files/a%252Etxt${query}`,
      `/file/files/_thumbs/a.txt${query}`,
      `/file/other/a.txt${query}`,
      `/file/files/a.txt${query.replace(expires, String(Number(expires) + 1))}`,
      `/file/files/a.txt${query}x`,
      `/file/files/a.txt${query.slice(0, -1)}`,
      `/file/files/a.txt?expires=${expires}`,
      `/file/files/a.txt?expires=${expires}&signature=`,
    ];
    for (const path of wrong)
      expect([path, [403, 404].includes(await statusOf(service, path))]).toEqual([path, true]);
  });

  it.each(['user', 'tenant'])("do not open another tenant's files: an id for each %s", async (each) => {
    const roots = await startService({ sources: { ann: {}, bob: {} } });
    for (const name of ['ann', 'bob']) await roots.source(name).put({ 'a.txt': name });
    const service = await startService(
      { signingSecret: KEY, sources: {} },
      {
        resolveSources: ({ headers }) => {
          const user = headers['x-user'] ?? 'ann';
          const { root } = roots.source(user);
          const id = each === 'user' ? user : each;
          return { id, sources: { files: { title: 'Files', root, serve: 'signed' } } };
        },
      },
    );
    const answer = await fetch(`${service.url}/files`, { headers: { 'x-user': 'ann' } });
    const { data } = (await answer.json()) as { data: { sources: { files: Item[] }[] } };
    const link = service.url + (data.sources[0]?.files[0]?.file ?? '');
    const read = async (user: string): Promise<number> =>
      (await fetch(link, { headers: { 'x-user': user } })).status;
    expect([await read('ann'), await read('bob')]).toEqual([200, 403]);
  });

  it('are gone when their time is over', async () => {
    const service = await start({ signedUrlLifetime: 5 });
    const { files } = await listed(service);
    const link = files[0]?.file ?? '';
    expect((await fetch(service.url + link)).status).toBe(200);
    await sleep(5100);
    expect((await fetch(service.url + link)).status).toBe(403);
  });

  it('accept links of older keys, and none of keys that were taken away', async () => {
    const old = await start();
    const link = (await listed(old)).files.find(({ file }) => file.includes('/a.txt'))?.file ?? '';
    const rotated = await start({}, { signingSecret: ['n'.repeat(40), KEY] });
    expect((await fetch(rotated.url + link)).status).toBe(200);
    const newer = (await listed(rotated)).files.find(({ file }) => file.includes('/a.txt'))?.file ?? '';
    expect((await fetch(old.url + newer)).status).toBe(403);
    const changed = await start({}, { signingSecret: 'n'.repeat(40) });
    expect((await fetch(changed.url + link)).status).toBe(403);
  });
});
