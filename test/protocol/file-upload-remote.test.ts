import type { RequestListener } from 'node:http';
import { describe, expect, it, onTestFinished } from 'vitest';
import { startCanary, startSite } from '../network/loopback.ts';
import type { AccessRule } from 'stowage';
import { startService, type ServiceOptions } from './service.ts';

const open: ServiceOptions = { allowPrivateNetworkUploads: true };

/** A web server that ends with the test, and what was asked of it. */
const serve = async (listener: RequestListener = (_request, response) => void response.end('pixels')) => {
  const asked: string[] = [];
  const site = await startSite((request, response) => {
    asked.push(request.url ?? '');
    listener(request, response);
  });
  onTestFinished(() => site.close());
  return { ...site, asked };
};

describe('fileUploadRemote', () => {
  it('stores the file of a URL and tells its path from the root', async () => {
    const [service, site] = [await startService(open), await serve()];
    await service.source('files').put({ 'sub/deep/': '' });
    const { status, data } = await service.call('fileUploadRemote', {
      url: `${site.origin}/a/photo.PNG?size=big#top`,
      path: '/sub/deep/',
    });
    expect(status).toBe(200);
    expect(data).toEqual({
      code: 220,
      baseurl: 'https://files.example/files/',
      newfilename: 'sub/deep/photo.PNG',
      items: [expect.anything()],
      isImage: true,
    });
    expect(await service.source('files').text('sub/deep/photo.PNG')).toBe('pixels');
    expect(site.asked).toEqual(['/a/photo.PNG?size=big']);
  });

  it('works by GET, in the root, for files that are not images', async () => {
    const [service, site] = [await startService(open), await serve()];
    const response = await service.get('fileUploadRemote', { url: `${site.origin}/notes.txt` });
    const body = (await response.json()) as { data: unknown };
    expect(body.data).toMatchObject({ newfilename: 'notes.txt', isImage: false });
  });

  it.each([
    ['/my%20photo.png', 'my photo.png'],
    ['/%E5%86%99%E7%9C%9F.png', '写真.png'],
    ['/%D7%AA%D7%9E%D7%95%D7%A0%D7%94.png', 'תמונה.png'],
    ['/a%2Fb.png', 'a_b.png'],
    ['/x%2F..%2Fetc.png', 'x_.._etc.png'],
    ['/100%.png', '100_.png'],
    ['/a%00b.png', 'a_b.png'],
    ['/x%22%3E.png', 'x__.png'],
    ['/folder/../last.png', 'last.png'],
  ])('%s is stored as %s', async (path, name) => {
    const [service, site] = [await startService(open), await serve()];
    const { status, data } = await service.call('fileUploadRemote', { url: site.origin + path });
    expect([status, data['newfilename']]).toEqual([200, name]);
    expect(await service.source('files').paths()).toEqual([name]);
    expect(await service.outside.paths()).toEqual(['files/', `files/${name}`]);
  });

  it('keeps content as it is, of any length', async () => {
    const content = Buffer.alloc(3_000_000, 'abcdefg');
    const [service, site] = [
      await startService(open),
      await serve((_request, response) => {
        response.write(content.subarray(0, 1000));
        response.end(content.subarray(1000));
      }),
    ];
    await service.call('fileUploadRemote', { url: `${site.origin}/a.zip` });
    expect(content.equals(await service.source('files').bytes('a.zip'))).toBe(true);
  });

  it.each([
    ['addNumber', 200, 'a-1.png', { 'a.png': 'old', 'a-1.png': 'pixels' }],
    ['replace', 200, 'a.png', { 'a.png': 'pixels' }],
    ['error', 400, undefined, { 'a.png': 'old' }],
  ] as const)('a taken name follows the strategy %s', async (strategy, status, name, after) => {
    const [service, site] = [
      await startService({ ...open, saveSameFileNameStrategy: strategy }),
      await serve(),
    ];
    const files = service.source('files');
    await files.put({ 'a.png': 'old' });
    const answer = await service.call('fileUploadRemote', { url: `${site.origin}/a.png` });
    expect([answer.status, answer.data['newfilename']]).toEqual([status, name]);
    expect(site.asked).toHaveLength(strategy === 'error' ? 0 : 1);
    expect(await files.paths()).toEqual(Object.keys(after).sort());
    for (const [path, content] of Object.entries(after)) expect(await files.text(path)).toBe(content);
  });

  it('stores into stores of other kinds', async () => {
    const [service, site] = [
      await startService({ ...open, sources: { files: { storageAdapter: 'memory' } } }),
      await serve(),
    ];
    expect((await service.call('fileUploadRemote', { url: `${site.origin}/a.txt` })).status).toBe(200);
    const copy = await service.get('fileDownload', { name: 'a.txt' });
    expect(await copy.text()).toBe('pixels');
  });
});

describe('fileUploadRemote refuses before it asks', () => {
  it.each([
    ['a type that is not allowed', { url: '/a.php' }, 403],
    ['no extension', { url: '/a' }, 403],
    ['a URL without a name', { url: '/' }, 403],
    ['a server config file', { url: '/.htaccess.txt' }, 403],
    ['a way upwards', { url: '/..%2F..%2Fetc.png' }, 400],
    ['an unknown folder', { url: '/a.png', path: 'nowhere' }, 404],
    ['a folder that is a file', { url: '/a.png', path: 'file.txt' }, 404],
    ['a reserved folder', { url: '/a.png', path: '_thumbs' }, 404],
    ['a path outside', { url: '/a.png', path: '../x' }, 400],
    ['an unknown source', { url: '/a.png', source: 'nowhere' }, 404],
  ])('%s', async (_case, fields, status) => {
    const [service, site] = [await startService(open), await serve()];
    await service.source('files').put({ 'file.txt': '', '_thumbs/': '' });
    const answer = await service.call('fileUploadRemote', { ...fields, url: site.origin + fields.url });
    expect(answer.status).toBe(status);
    expect(answer.messages).toHaveLength(1);
    expect(site.asked).toEqual([]);
  });

  it.each([{}, { url: '' }, { url: '  ' }, { url: 'no url' }, { url: 'file:///etc/passwd.png' }])(
    'a missing or useless URL: %j',
    async (fields) => {
      const service = await startService(open);
      expect((await service.call('fileUploadRemote', fields as Record<string, string>)).status).toBe(400);
    },
  );

  it.each(['FILE_UPLOAD_REMOTE', 'FILE_UPLOAD'] as const)('rules that deny %s', async (key) => {
    const [service, site] = [
      await startService({ ...open, accessControl: [{ [key]: false }] }),
      await serve(),
    ];
    expect((await service.call('fileUploadRemote', { url: `${site.origin}/a.png` })).status).toBe(403);
    expect(site.asked).toEqual([]);
  });

  it.each(['FILE_UPLOAD_REMOTE', 'FILE_UPLOAD'] as const)(
    'rules about an extension or folder deny %s',
    async (key) => {
      const png = { extensions: 'png' };
      const closed = { path: '/closed' };
      const accessControl: AccessRule[] =
        key === 'FILE_UPLOAD'
          ? [
              { ...png, FILE_UPLOAD: false },
              { ...closed, FILE_UPLOAD: false },
            ]
          : [
              { ...png, FILE_UPLOAD_REMOTE: false },
              { ...closed, FILE_UPLOAD_REMOTE: false },
            ];
      const [service, site] = [await startService({ ...open, accessControl }), await serve()];
      await service.source('files').put({ 'closed/': '' });
      const call = async (url: string, path = ''): Promise<number> =>
        (await service.call('fileUploadRemote', { url: site.origin + url, path })).status;
      expect(await call('/a.png')).toBe(403);
      expect(await call('/a.jpg', 'closed')).toBe(403);
      expect(site.asked).toEqual([]);
      expect(await call('/a.jpg')).toBe(200);
    },
  );
});

describe('fileUploadRemote and what comes back', () => {
  it('stops at the size limit and leaves nothing behind', async () => {
    const [service, site] = [
      await startService({ ...open, maxUploadFileSize: '10kb' }),
      await serve((_request, response) => {
        const more = (): void => {
          while (response.write(Buffer.alloc(16_384)));
          response.once('drain', more);
        };
        more();
      }),
    ];
    const { status, messages } = await service.call('fileUploadRemote', { url: `${site.origin}/a.png` });
    expect([status, messages]).toEqual([403, ['The file is too large.']]);
    expect(await service.source('files').paths()).toEqual([]);
    await expect.poll(() => site.sockets.size).toBe(0);
  });

  it('gives up after timeoutLimit, and when the server fails or breaks off', async () => {
    const service = await startService({ ...open, timeoutLimit: 1 });
    const site = await serve((request, response) => {
      if (request.url === '/404.png') response.writeHead(404).end('inner page');
      else if (request.url === '/short.png') {
        response.writeHead(200, { 'content-length': '100' });
        response.write('only this', () => response.destroy());
      }
    });
    for (const path of ['/404.png', '/short.png', '/silence.png']) {
      const { status, messages } = await service.call('fileUploadRemote', { url: site.origin + path });
      expect([status, messages]).toEqual([400, ['The remote file could not be fetched.']]);
    }
    expect(await service.source('files').paths()).toEqual([]);
  });

  it('takes no web page for a file, as the page about a picture or a login is one', async () => {
    const service = await startService(open);
    const page = '\n\n<!DOCTYPE html>\n<html><head><title>photo.jpg</title></head></html>';
    const site = await serve((request, response) => {
      response.setHeader('content-type', 'text/html; charset=utf-8');
      if (request.url === '/wiki/moved.jpg')
        response.end('<meta http-equiv="refresh" content="0; url=/login">');
      else response.end(request.url === '/script/photo.png' ? 'pixels' : page);
    });
    for (const name of ['photo.jpg', 'notes.pdf', 'moved.jpg']) {
      const { status, messages } = await service.call('fileUploadRemote', {
        url: `${site.origin}/wiki/${name}`,
      });
      expect([status, messages]).toEqual([400, ['The address is that of a web page, not of a file.']]);
    }
    expect(await service.source('files').paths()).toEqual([]);
    // The type alone says little: scripts that send pictures often leave it as it is.
    for (const url of ['/script/photo.png', '/page.html'])
      expect((await service.call('fileUploadRemote', { url: site.origin + url })).status).toBe(200);
  });

  it('names itself as the operator wants it, for sites that ask for an address', async () => {
    const agents: (string | undefined)[] = [];
    const site = await serve((request, response) => {
      agents.push(request.headers['user-agent']);
      response.end('pixels');
    });
    const remoteUserAgent = 'my-site/1.0 (https://example.com; files@example.com)';
    for (const options of [open, { ...open, remoteUserAgent }]) {
      const service = await startService(options);
      await service.call('fileUploadRemote', { url: `${site.origin}/a.png` });
    }
    expect(agents).toEqual(['Stowage', remoteUserAgent]);
  });

  it('does not reach private addresses by default, and says nothing of them', async () => {
    const [service, canary] = [await startService(), await startCanary()];
    for (const host of ['127.0.0.1', 'localhost', '[::1]', '[::ffff:127.0.0.1]', '2130706433', '0.0.0.0']) {
      const url = `http://${host}:${canary.port}/a.png`;
      const { status, messages } = await service.call('fileUploadRemote', { url });
      expect([status, messages]).toEqual([403, ['This address must not be fetched.']]);
    }
    expect(canary.connections).toBe(0);
    expect(await service.source('files').paths()).toEqual([]);
    await canary.close();
  });

  it('the setting of the source decides, not that of another one', async () => {
    const site = await serve();
    const service = await startService({ sources: { open: { ...open }, closed: {} } });
    const url = `${site.origin}/a.png`;
    expect((await service.call('fileUploadRemote', { url, source: 'open' })).status).toBe(200);
    expect((await service.call('fileUploadRemote', { url, source: 'closed' })).status).toBe(403);
  });
});
