import { randomUUID } from 'node:crypto';
import { readdir, utimes } from 'node:fs/promises';
import { networkInterfaces } from 'node:os';
import { join } from 'node:path';
import { Readable } from 'node:stream';
import { buffer } from 'node:stream/consumers';
import { createApp, type Logger } from 'stowage';
import { describe, expect, it, onTestFinished } from 'vitest';
import { SourcePath } from 'stowage/storage';
import { parseWebdavOptions } from '#internals';
import { DavStub, digestGate, type DavDialect } from '../../tools/test-servers/webdav-stub.ts';
import {
  login,
  openDavStore,
  programs,
  startApache,
  startLighttpd,
} from '../../tools/test-servers/webdav.ts';

const at = (text: string) => SourcePath.parse(text);
const nothing = (): void => undefined;
const silent: Logger = { debug: nothing, info: nothing, warn: nothing, error: nothing };
const DAY_MS = 24 * 60 * 60 * 1000;

const open = async (dialect: DavDialect, options: object = {}) => {
  const stub = await DavStub.start(dialect);
  const adapter = openDavStore(stub, options);
  onTestFinished(async () => {
    await adapter.close();
    await stub.close();
  });
  const put = (path: string, text: string, more = {}) =>
    adapter.write(at(path), Readable.from([Buffer.from(text)], { objectMode: false }), {
      size: Buffer.byteLength(text),
      ...more,
    });
  const names = async (folder = '', options = {}): Promise<readonly string[]> => {
    const found: string[] = [];
    for await (const page of adapter.list(at(folder), options)) found.push(...page.map(({ name }) => name));
    return found.sort();
  };
  /** The requests that some work costs. */
  const methods = async (work: () => Promise<unknown>): Promise<readonly string[]> => {
    stub.seen.length = 0;
    await work();
    return stub.seen.map(({ method }) => method);
  };
  return { stub, adapter, put, names, methods };
};

const member = (href: string, isFolder = false): string =>
  `<response><href>${href}</href><propstat><prop><resourcetype>${isFolder ? '<collection/>' : ''}</resourcetype></prop></propstat></response>`;

/** A depth-1 answer for a folder of these members. */
const listing = (folder: string, members: readonly string[]): DavDialect => ({
  instead: ({ method, headers, url }) =>
    method === 'PROPFIND' && headers['depth'] === '1' && url === folder
      ? { status: 207, body: `<multistatus xmlns="DAV:">${members.join('')}</multistatus>` }
      : undefined,
});

describe('a listing that does not show everything', () => {
  it('reports what it leaves out, and keeps a folder from being removed as empty', async () => {
    const { stub, adapter, names } = await open({});
    stub.plant('f', undefined);
    stub.plant('f/shown.txt', 'a');
    stub.dialect = listing('/dav/f/', [member('/dav/f/', true), member('/dav/f/men%FC.pdf')]);
    let omitted = 0;
    expect(await names('f', { onOmitted: (count: number) => (omitted += count) })).toEqual([]);
    expect(omitted).toBe(1);
    await expect(adapter.removeEmptyFolder(at('f'))).rejects.toMatchObject({ code: 'NOT_EMPTY' });
    expect(stub.paths).toEqual(['f/', 'f/shown.txt']);
    stub.dialect = {};
    await adapter.removeFile(at('f/shown.txt'));
    await adapter.removeEmptyFolder(at('f'));
    expect(stub.paths).toEqual([]);
  });

  it('of another folder is damaged data, and never an empty folder', async () => {
    const { stub, adapter, names } = await open({});
    stub.plant('f', undefined);
    stub.plant('f/a.txt', 'a');
    stub.dialect = listing('/dav/f/', [member('/other/f/', true), member('/other/f/a.txt')]);
    await expect(names('f')).rejects.toMatchObject({ code: 'CORRUPT' });
    await expect(adapter.removeEmptyFolder(at('f'))).rejects.toMatchObject({ code: 'CORRUPT' });
    expect(stub.paths).toEqual(['f/', 'f/a.txt']);
  });

  it('is right again when the server begins to report another root', async () => {
    const { stub, names } = await open({});
    stub.plant('f', undefined);
    stub.plant('f/a.txt', 'a');
    expect(await names('f')).toEqual(['a.txt']);
    stub.dialect = { reportedRoot: '/behind/another/proxy' };
    expect(await names('f')).toEqual(['a.txt']);
  });
});

describe('letter case', () => {
  it('folds access rules on a server that folds it', async () => {
    const stub = await DavStub.start({ foldsCase: true });
    stub.plant('private', undefined);
    stub.plant('private/a.txt', 'secret');
    const source = {
      title: 'Dav',
      baseurl: 'https://files.example/',
      storageAdapter: 'webdav',
      webdav: { url: stub.url },
    };
    const accessControl = [
      { role: '*', FILES: true, FILE_REMOVE: true },
      { role: '*', path: '/private', FILES: false, FILE_REMOVE: false },
    ];
    const config = { createThumb: false, accessControl, sources: { dav: source } };
    const app = createApp(config, {}, { logger: silent });
    onTestFinished(async () => {
      await app.close();
      await stub.close();
    });
    const statusOf = async (action: string, path: string): Promise<number> => {
      const query = new URLSearchParams({ path, name: 'a.txt' });
      return (await app.fetch(new Request(`http://localhost/${action}?${query.toString()}`))).status;
    };
    for (const path of ['private', 'PRIVATE', 'Private']) {
      expect([path, await statusOf('files', path)]).toEqual([path, 403]);
      expect([path, await statusOf('fileRemove', path)]).toEqual([path, 403]);
    }
    expect(stub.paths).toEqual(['private/', 'private/a.txt']);
  });

  it('is found out once, with what is there, and may be given as an option', async () => {
    const sensitive = await open({});
    sensitive.stub.plant('a.txt', 'a');
    expect(sensitive.adapter.capabilities.caseSensitive).toBe(false);
    await sensitive.adapter.stat(at('a.txt'));
    expect(sensitive.adapter.capabilities.caseSensitive).toBe(true);
    expect(await sensitive.methods(() => sensitive.adapter.stat(at('a.txt')))).toEqual(['PROPFIND']);
    const folding = await open({ foldsCase: true });
    await folding.put('a.txt', 'a');
    expect(folding.adapter.capabilities.caseSensitive).toBe(false);
    const told = await open({}, { caseSensitive: true });
    expect(told.adapter.capabilities.caseSensitive).toBe(true);
  });

  it.each(['private.', 'private ', 'PRIVAT~1', 'private::$DATA'])(
    'keeps %j from being another name of something on a server that folds it',
    async (name) => {
      const { stub, adapter, put } = await open({ foldsCase: true });
      stub.plant(name, undefined);
      stub.plant(`${name}/a.txt`, 'secret');
      await expect(adapter.stat(at(`${name}/a.txt`))).rejects.toMatchObject({ code: 'NOT_FOUND' });
      await expect(put(`${name}/a.txt`, 'new')).rejects.toMatchObject({ code: 'UNSAFE_NAME' });
      expect(stub.text(`${name}/a.txt`)).toBe('secret');
    },
  );
});

describe('temporary files on WebDAV', () => {
  const named = (time: number, version = '7'): string => {
    const hex = time.toString(16).padStart(12, '0');
    return `.${hex.slice(0, 8)}-${hex.slice(8)}-${version}${randomUUID().slice(15)}.tmp`;
  };

  it('are removed by listings when their name is a day old, whatever their time is', async () => {
    const { stub, names } = await open({});
    const old = named(Date.now() - 2 * DAY_MS);
    const young = named(Date.now() - DAY_MS / 2);
    stub.plant(old, 'left behind');
    stub.plant(young, 'a copy that keeps the time of its original', new Date(Date.now() - 100 * DAY_MS));
    expect(await names()).toEqual([]);
    await expect.poll(() => stub.paths).toEqual([young]);
  });

  it('are not removed while the server, by its clock, has had them for less than a day', async () => {
    const { stub, adapter, names } = await open({});
    const temp = named(Date.now() - 1.5 * DAY_MS);
    const { instead } = listing('/dav/', [member('/dav/', true), member(`/dav/${temp}`)]);
    stub.dialect = {
      instead: (request) => {
        const answer = instead?.(request);
        if (answer === undefined) return undefined;
        return { ...answer, headers: { date: new Date(Date.now() - DAY_MS).toUTCString() } };
      },
    };
    expect(await names()).toEqual([]);
    await adapter.stat(at('a.txt')).catch(nothing);
    expect(stub.seen.filter(({ method }) => method === 'DELETE')).toEqual([]);
  });

  it('are not removed by listings while an old file is copied', async () => {
    const { stub, adapter, names } = await open({ copiesKeepTime: true });
    stub.plant('a.txt', 'a', new Date(Date.now() - 100 * DAY_MS));
    let isDone = false;
    const listings = (async () => {
      while (!isDone) await names();
    })();
    for (let index = 0; index < 20; index += 1)
      await adapter.copyFile(at('a.txt'), at(`${String(index)}.txt`));
    isDone = true;
    await listings;
    expect(stub.paths).toHaveLength(21);
  });

  it('do not go to the trash bin of Nextcloud, and what users delete does', async () => {
    const { stub, adapter, put } = await open({});
    await put('a.txt', 'a', { createOnly: true });
    await adapter.removeFile(at('a.txt'));
    const deletes = stub.seen.filter(({ method }) => method === 'DELETE');
    expect(
      deletes.map(({ path, headers }) => [path.endsWith('.tmp/'), headers['x-nc-skip-trashbin']]),
    ).toEqual([
      [true, 'true'],
      [false, undefined],
    ]);
  });
});

describe('redirects of a WebDAV server', () => {
  const redirect = (target: string): DavDialect => ({
    instead: ({ method }) => (method === 'GET' ? { status: 302, headers: { location: target } } : undefined),
  });

  it('never lead to link-local addresses', async () => {
    const { stub, adapter } = await open(redirect('http://169.254.169.254/latest/meta-data/'));
    stub.plant('a.txt', 'a');
    await expect(adapter.read(at('a.txt'))).rejects.toMatchObject({
      code: 'STORAGE_UNAVAILABLE',
      detail: expect.stringMatching(/less public/u) as string,
    });
  });

  const outer = Object.values(networkInterfaces())
    .flatMap((addresses) => addresses ?? [])
    .find(({ internal, family }) => !internal && family === 'IPv4')?.address;
  it.skipIf(outer === undefined).each(['127.0.0.1', 'localhost', '[::1]'])(
    'do not lead from another machine to this one by %s',
    async (host) => {
      const canary = await DavStub.start();
      const { port } = new URL(canary.url);
      const stub = await DavStub.start(redirect(`http://${host}:${port}/dav/a.txt`), '0.0.0.0');
      stub.plant('a.txt', 'a');
      const adapter = openDavStore({ url: stub.url.replace('0.0.0.0', outer ?? '') }, {});
      onTestFinished(async () => {
        await adapter.close();
        await stub.close();
        await canary.close();
      });
      await expect(adapter.read(at('a.txt'))).rejects.toMatchObject({ code: 'STORAGE_UNAVAILABLE' });
      expect(canary.seen).toEqual([]);
    },
  );
});

describe('what a request to WebDAV costs', () => {
  it('is about five for new files, three for derived ones, five for replaced ones and for moves', async () => {
    const { stub, adapter, put, methods } = await open({}, { caseSensitive: true });
    await put('learnt.txt', 'a', { createOnly: true });
    await put('learnt.txt', 'b');
    const isNew = { createOnly: true };
    const created = ['PUT', 'PROPFIND', 'MKCOL', 'MOVE', 'DELETE'];
    expect(await methods(() => put('a.txt', 'a', isNew))).toEqual(created);
    expect(await methods(() => put('b.txt', 'b'))).toEqual(['PUT', 'PROPFIND', 'MOVE']);
    const replaced = ['PUT', 'PROPFIND', 'MOVE', 'PROPFIND', 'MOVE'];
    expect(await methods(() => put('b.txt', 'c'))).toEqual(replaced);
    const derived = ['PUT', 'PROPFIND', 'MOVE'];
    expect(await methods(() => put('b.txt', 'd', { derived: true }))).toEqual(derived);
    const moved = ['PROPFIND', 'MKCOL', 'MOVE', 'DELETE'];
    expect(await methods(() => adapter.moveFile(at('b.txt'), at('c.txt'), isNew))).toEqual(moved);
    expect(stub.paths).toEqual(['a.txt', 'c.txt', 'learnt.txt']);
    const alone = await open({}, { caseSensitive: true, reserveNames: false });
    expect(await alone.methods(() => alone.put('a.txt', 'a', isNew))).toEqual([
      'PUT',
      'PROPFIND',
      'PROPFIND',
      'MOVE',
    ]);
  });

  it.each([503, 500])('is not one for each folder on the way when the server answers %i', async (status) => {
    const { adapter, methods } = await open({ instead: () => ({ status }) });
    const stat = () => adapter.stat(at('a/b/c/d/e.jpg')).catch(() => undefined);
    expect((await methods(stat)).length).toBe(status === 500 ? 4 : 1);
  });

  it('is one, of the time that a silent server has, however deep the path is', async () => {
    const { stub, adapter, methods } = await open({ takes: { PROPFIND: 60_000 } }, { timeout: 0.3 });
    stub.plant('a', undefined);
    const stat = () =>
      expect(adapter.stat(at('a/b/c/d/e.jpg'))).rejects.toMatchObject({ code: 'STORAGE_TIMEOUT' });
    expect(await methods(stat)).toEqual(['PROPFIND']);
  });

  it('ends with the range where a server sends more than that part', async () => {
    const { stub, adapter } = await open({}, {});
    stub.plant('a.txt', '0123456789');
    stub.dialect = {
      instead: ({ method }) =>
        method === 'GET'
          ? { status: 206, body: '3456789', headers: { 'content-range': 'bytes 3-9/10' } }
          : undefined,
    };
    const { stream } = await adapter.read(at('a.txt'), { range: { start: 3, end: 5 } });
    expect(String(await buffer(stream))).toBe('345');
  });

  it('ends with the range where a server sends the whole file', async () => {
    let sent = 0;
    async function* whole() {
      for (; sent < 64 * 1024 * 1024; sent += 65_536) yield 'x'.repeat(65_536);
    }
    const { stub, adapter } = await open({}, {});
    stub.plant('a.bin', 'x');
    stub.dialect = {
      untold: ['getcontentlength'],
      instead: ({ method }) => (method === 'GET' ? { status: 200, body: whole() } : undefined),
    };
    const { stream } = await adapter.read(at('a.bin'), { range: { start: 10, end: 109 } });
    expect((await buffer(stream)).length).toBe(100);
    expect(sent).toBeLessThan(16 * 1024 * 1024);
  });
});

describe('requests to WebDAV', () => {
  it.each(['PUT', 'MKCOL', 'MOVE', 'COPY', 'DELETE', 'PROPFIND'])(
    'are sent again when the server had closed the kept connection before %s',
    async (wanted) => {
      const { stub, adapter, put } = await open({});
      await put('a.txt', 'a', { createOnly: true });
      const used = new WeakSet<object>();
      let closed = 0;
      stub.dialect = {
        instead: ({ method, socket }) => {
          const wasUsed = used.has(socket);
          used.add(socket);
          if (method !== wanted || !wasUsed || closed > 0) return undefined;
          closed += 1;
          socket.resetAndDestroy();
          return { status: 500 };
        },
      };
      await adapter.makeFolder(at('f'));
      await put('f/b.txt', 'b', { createOnly: true });
      await adapter.copyFile(at('f/b.txt'), at('f/c.txt'), { createOnly: true });
      await adapter.moveFile(at('f/c.txt'), at('d.txt'), { createOnly: true });
      await adapter.removeFile(at('a.txt'));
      expect(closed).toBe(1);
      expect(stub.paths).toEqual(['d.txt', 'f/', 'f/b.txt']);
    },
  );

  it.each(['MOVE', 'DELETE'])(
    'of kind %s that were done without an answer are no failures',
    async (method) => {
      const { stub, adapter } = await open({}, { timeout: 1, reserveNames: false });
      stub.plant('a.txt', 'a');
      stub.dialect = { mute: [method] };
      if (method === 'MOVE') await adapter.moveFile(at('a.txt'), at('b.txt'), { createOnly: true });
      else await adapter.removeFile(at('a.txt'));
      expect(stub.paths).toEqual(method === 'MOVE' ? ['b.txt'] : []);
    },
  );

  it('find a connection while downloads wait for their readers', async () => {
    const { stub, adapter, put } = await open({}, { connections: 4 });
    for (let index = 0; index < 4; index += 1) stub.plant(`${String(index)}.bin`, 'x'.repeat(4_000_000));
    const reads = [0, 1, 2].map(async (index) => adapter.read(at(`${String(index)}.bin`)));
    const opened = await Promise.all(reads);
    const waiting = adapter.read(at('3.bin'));
    await put('a.txt', 'a', { createOnly: true });
    for (const { stream } of opened) expect((await buffer(stream)).length).toBe(4_000_000);
    (await waiting).stream.destroy();
  });

  it.each(['COPY', 'MOVE', 'DELETE'])(
    'of kind %s may take longer where their time depends on what is stored',
    async (method) => {
      const { stub, adapter, put } = await open(
        {},
        { timeout: 0.4, reserveNames: false, caseSensitive: true },
      );
      for (const path of ['f', 'f/g']) stub.plant(path, undefined);
      await put('a.txt', 'a');
      stub.dialect = { takes: { [method]: 1200 } };
      if (method === 'COPY') await adapter.copyFolder(at('f'), at('h'));
      else if (method === 'MOVE') await adapter.moveFolder(at('f'), at('h'));
      else await adapter.removeFolder(at('f'));
      const isGone = method !== 'COPY';
      const isMade = method !== 'DELETE';
      expect(stub.paths).toEqual([
        'a.txt',
        ...(isGone ? [] : ['f/', 'f/g/']),
        ...(isMade ? ['h/', 'h/g/'] : []),
      ]);
      expect(stub.seen.filter((one) => one.method === method && one.path.endsWith('/'))).toHaveLength(1);
      const onFile = method === 'COPY' ? adapter.copyFile(at('a.txt'), at('b.txt')) : undefined;
      if (onFile !== undefined) await expect(onFile).resolves.toBeUndefined();
    },
  );

  it('of kind PUT may take longer for a large file than for a small one', async () => {
    const { stub, put } = await open({ takes: { PUT: 1200 } }, { timeout: 0.4, caseSensitive: true });
    await put('large.bin', 'a'.repeat(8_000_000), { createOnly: true });
    await expect(put('small.bin', 'a', { createOnly: true })).rejects.toMatchObject({
      code: 'STORAGE_TIMEOUT',
    });
    expect(stub.paths).toContain('large.bin');
  });

  it.each([403, 500])('that remove a folder are sent again while others work in it (%i)', async (status) => {
    const { stub, adapter } = await open({});
    for (const path of ['f', 'f/g']) stub.plant(path, undefined);
    let refusals = 2;
    stub.dialect = {
      instead: ({ method }) => (method === 'DELETE' && (refusals -= 1) >= 0 ? { status } : undefined),
    };
    await adapter.removeFolder(at('f'));
    expect(stub.paths).toEqual([]);
    stub.plant('f', undefined);
    stub.dialect = { instead: ({ method }) => (method === 'DELETE' ? { status } : undefined) };
    await expect(adapter.removeFolder(at('f'))).rejects.toMatchObject({
      code: status === 403 ? 'STORAGE_DENIED' : 'STORAGE_UNAVAILABLE',
    });
    expect(stub.paths).toEqual(['f/']);
  });

  it('that remove a folder may be refused because another has removed a part of it', async () => {
    const { stub, adapter } = await open({ lies: 403 });
    for (const path of ['f', 'f/g']) stub.plant(path, undefined);
    await expect(adapter.removeFolder(at('f'))).rejects.toMatchObject({ code: 'NOT_FOUND' });
    expect(stub.paths).toEqual([]);
  });

  it('that store fewer bytes than were sent are not believed', async () => {
    const { stub, put } = await open({});
    stub.plant('a.txt', 'old');
    stub.dialect = { storesBytes: 2 };
    await expect(put('a.txt', 'new content')).rejects.toMatchObject({ code: 'CORRUPT' });
    expect(stub.paths).toEqual(['a.txt']);
    expect(stub.text('a.txt')).toBe('old');
  });

  it('say what type the content has', async () => {
    const { stub, put } = await open({});
    await put('a.svg', '<svg/>');
    expect(stub.seen.find(({ method }) => method === 'PUT')?.headers['content-type']).toBe('image/svg+xml');
  });

  it('send the headers of the options to the server itself, and to no other host', async () => {
    const canary = await DavStub.start();
    onTestFinished(() => canary.close());
    const headers = { 'CF-Access-Client-Id': 'id' };
    const { stub, adapter } = await open({}, { headers });
    stub.plant('a.txt', 'a');
    canary.plant('a.txt', 'a');
    stub.dialect = {
      instead: ({ method, url = '' }) =>
        method === 'GET' ? { status: 302, headers: { location: new URL(url, canary.url).href } } : undefined,
    };
    expect((await buffer((await adapter.read(at('a.txt'))).stream)).toString()).toBe('a');
    expect(stub.seen.every(({ headers: seen }) => seen['cf-access-client-id'] === 'id')).toBe(true);
    expect(canary.seen.map(({ headers: seen }) => seen['cf-access-client-id'])).toEqual([undefined]);
    for (const wrong of [{ Authorization: 'x' }, { Destination: 'x' }, { 'a b': 'x' }, { a: 'x\r\ny: z' }])
      expect(parseWebdavOptions({ url: 'http://a/', headers: wrong })).toHaveProperty('problems');
  });

  it('with a Digest login go on where realm and user are beyond ASCII', async () => {
    const [realm, username] = ['Accès privé', 'Łukasz'];
    const gate = digestGate({ uses: 3, qop: 'auth', realm, username });
    const { stub, put, names } = await open({ instead: gate }, { ...login, username, auth: 'digest' });
    for (const name of ['a.txt', 'b.txt', 'c.txt']) await put(name, 'a');
    expect(await names()).toEqual(['a.txt', 'b.txt', 'c.txt']);
    expect(stub.paths).toHaveLength(3);
  });
});

describe('a file on WebDAV that is removed only while it is unchanged', () => {
  it.each<readonly [what: string, dialect: DavDialect]>([
    ['with versions', {}],
    ['without versions', { untold: ['getetag'] }],
  ])('%s', async (_what, dialect) => {
    const { stub, adapter, put } = await open(dialect);
    const ifUnchanged = await put('a.txt', 'one');
    await put('a.txt', 'other');
    await expect(adapter.removeFile(at('a.txt'), { ifUnchanged })).rejects.toMatchObject({
      code: 'CHANGED_MEANWHILE',
    });
    expect(stub.text('a.txt')).toBe('other');
    await adapter.removeFile(at('a.txt'), { ifUnchanged: await adapter.stat(at('a.txt')) });
    expect(stub.paths).toEqual([]);
  });
});

it('a WebDAV store says which collection it is', async () => {
  const { stub } = await open({});
  const adapter = openDavStore(stub, {}, 'photos/2026');
  onTestFinished(() => adapter.close());
  const { origin } = new URL(stub.url);
  expect(adapter.identity).toEqual({ backend: `webdav:${origin}`, root: ['dav', 'photos', '2026'] });
});

describe.skipIf(!programs.lighttpd)(
  `copies that keep the time of an old file${programs.lighttpd ? '' : ' (lighttpd is not installed)'}`,
  () => {
    it('arrive while others list the folder', async () => {
      const server = await startLighttpd();
      const adapter = openDavStore(server, login);
      onTestFinished(async () => {
        await adapter.close();
        await server.stop();
      });
      await adapter.write(at('a.txt'), Readable.from([Buffer.from('a')]));
      const old = new Date(Date.now() - 2 * DAY_MS);
      await utimes(join(server.data, 'a.txt'), old, old);
      let isDone = false;
      const listings = (async () => {
        while (!isDone) for await (const page of adapter.list(at(''))) expect(page).toBeDefined();
      })();
      const copies = Array.from({ length: 40 }, (_, index) => `${String(index)}.txt`);
      for (const name of copies) await adapter.copyFile(at('a.txt'), at(name), { createOnly: true });
      isDone = true;
      await listings;
      expect((await readdir(server.data)).sort()).toEqual(['a.txt', ...copies].sort());
    });
  },
);

describe.skipIf(!programs.apache)(
  `a realm beyond ASCII${programs.apache ? '' : ' (apache2 is not installed)'}`,
  () => {
    it('lets a Digest login to Apache in', async () => {
      const server = await startApache('digest', '', 'Accès privé');
      const adapter = openDavStore(server, { ...login, auth: 'digest' });
      onTestFinished(async () => {
        await adapter.close();
        await server.stop();
      });
      await adapter.write(at('a.txt'), Readable.from([Buffer.from('a')]), { createOnly: true });
      expect(await adapter.stat(at('a.txt'))).toMatchObject({ size: 1 });
    });
  },
);

describe('a folder on WebDAV that is removed only while it is empty', () => {
  it('comes back with what was put into it after the look', async () => {
    const { stub, adapter } = await open({});
    stub.plant('f', undefined);
    let looks = 0;
    stub.dialect = {
      instead: ({ method, url, headers }) => {
        const isLook = method === 'PROPFIND' && url === '/dav/f/' && headers.depth === '1';
        if (isLook) looks += 1;
        // The first request after the look.
        if (looks === 1 && !isLook) stub.plant('f/new.txt', 'new');
        if (!isLook && looks === 1) looks = 2;
        return undefined;
      },
    };
    await expect(adapter.removeEmptyFolder(at('f'))).rejects.toMatchObject({ code: 'NOT_EMPTY' });
    expect(stub.paths).toEqual(['f/', 'f/new.txt']);
  });

  it('comes back under a number when its name was given meanwhile, and one answer says that it is not there', async () => {
    const { stub, adapter } = await open({});
    stub.plant('f', undefined);
    let [isHidden, asked] = [false, 0];
    stub.dialect = {
      instead: ({ method, url = '', headers }) => {
        if (method === 'MOVE' && !isHidden) {
          isHidden = true;
          stub.plant('f/new.txt', 'new');
          return undefined;
        }
        if (method !== 'PROPFIND' || !/\.tmp\/?$/u.test(url)) return undefined;
        if (headers.depth === '1') stub.plant('f', undefined);
        else asked += 1;
        return asked === 1 ? { status: 404 } : undefined;
      },
    };
    await expect(adapter.removeEmptyFolder(at('f'))).rejects.toMatchObject({ code: 'NOT_EMPTY' });
    expect(stub.paths).toEqual(['f (1)/', 'f (1)/new.txt', 'f/']);
  });
});

it('a WebDAV server that ignores If-Match mixes no versions of a file', async () => {
  const { stub, adapter, put } = await open({});
  await put('a.txt', 'one');
  const { etag } = await adapter.stat(at('a.txt'));
  stub.dialect = {
    instead: ({ method }) => {
      if (method === 'GET') stub.plant('a.txt', 'two');
      return undefined;
    },
  };
  const range = { start: 1, end: 2 };
  await expect(adapter.read(at('a.txt'), { range, ifMatch: etag ?? '' })).rejects.toMatchObject({
    code: 'CHANGED_MEANWHILE',
  });
});

it('a listing of a WebDAV folder tells the versions of its files', async () => {
  const { adapter, put } = await open({});
  const { etag } = await put('a.txt', 'one');
  const listed = [];
  for await (const page of adapter.list(SourcePath.root)) listed.push(...page);
  expect(etag).toMatch(/^"/u);
  expect(listed).toMatchObject([{ name: 'a.txt', etag }]);
});

it('accented names deeper on WebDAV than requests can name are listed and removed', async () => {
  const { stub, adapter } = await open({});
  let deep = SourcePath.root;
  for (let depth = 0; depth < 101; depth += 1) {
    deep = deep.below('d');
    stub.plant(deep.toString(), undefined);
  }
  for (const form of ['NFC', 'NFD'] as const) stub.plant(`${deep.toString()}/${form}é`.normalize(form), 'a');
  const names: string[] = [];
  for await (const page of adapter.list(deep)) names.push(...page.map(({ name }) => name));
  expect(names.sort()).toEqual(['NFCé', 'NFDé']);
  for (const name of names) await adapter.removeFile(deep.below(name));
  await adapter.removeEmptyFolder(deep);
  expect(stub.paths).toHaveLength(100);
});
