import { EventEmitter, once } from 'node:events';
import { Readable } from 'node:stream';
import { buffer } from 'node:stream/consumers';
import { createApp, type Logger } from 'stowage';
import { describeStorageConformance } from 'stowage/testing';
import { describe, expect, it, onTestFinished } from 'vitest';
import { SourcePath } from 'stowage/storage';
import { describeThemes, onlyThemes } from './further-servers.ts';
import { CANNOT_DECIDE } from './webdav-conformance.ts';
import { FaultProxy } from '../../tools/test-servers/fault-proxy.ts';
import {
  DavStub,
  digestGate,
  type DavDialect,
  type StubAnswer,
} from '../../tools/test-servers/webdav-stub.ts';
import { makeCertificate, opensslMissing, startTlsFront } from '../../tools/test-servers/tls-front.ts';
import { login, openDavStore } from '../../tools/test-servers/webdav.ts';

const at = (text: string) => SourcePath.parse(text);
const nothing = (): void => undefined;
const silent: Logger = { debug: nothing, info: nothing, warn: nothing, error: nothing };

const open = async (dialect: DavDialect, options: object = {}, root = '') => {
  const stub = await DavStub.start(dialect);
  const adapter = openDavStore(stub, options, root);
  onTestFinished(async () => {
    await adapter.close();
    await stub.close();
  });
  const put = (path: string, text: string | Buffer, more = {}) =>
    adapter.write(at(path), Readable.from([Buffer.from(text)], { objectMode: false }), more);
  const names = async (folder = ''): Promise<readonly string[]> => {
    const found: string[] = [];
    for await (const page of adapter.list(at(folder))) found.push(...page.map(({ name }) => name));
    return found.sort();
  };
  const text = async (path: string) => (await buffer((await adapter.read(at(path))).stream)).toString();
  return { stub, adapter, put, names, text };
};

/** Every operation once, in what must work in any dialect. */
const workThrough = async ({ stub, adapter, put, names, text }: Awaited<ReturnType<typeof open>>) => {
  await put('a b/ü.txt', 'one', { createOnly: true });
  await put('a b/ü.txt', 'two');
  await put('a b/deep/c.txt', 'three');
  await expect(put('a b/ü.txt', 'four', { createOnly: true })).rejects.toMatchObject({
    code: 'ALREADY_EXISTS',
  });
  await expect(adapter.makeFolder(at('a b'))).rejects.toMatchObject({ code: 'ALREADY_EXISTS' });
  await expect(adapter.removeFile(at('a b'))).rejects.toMatchObject({ code: 'WRONG_KIND' });
  expect(await names('a b')).toEqual(['deep', 'ü.txt']);
  await adapter.copyFile(at('a b/ü.txt'), at('copy.txt'), { createOnly: true });
  await expect(
    adapter.copyFile(at('a b/deep/c.txt'), at('copy.txt'), { createOnly: true }),
  ).rejects.toMatchObject({
    code: 'ALREADY_EXISTS',
  });
  await expect(
    adapter.moveFile(at('a b/deep/c.txt'), at('copy.txt'), { createOnly: true }),
  ).rejects.toMatchObject({
    code: 'ALREADY_EXISTS',
  });
  await adapter.copyFolder(at('a b'), at('copied'));
  await expect(adapter.moveFolder(at('a b'), at('copied'))).rejects.toMatchObject({ code: 'ALREADY_EXISTS' });
  await adapter.moveFolder(at('a b'), at('moved'));
  await adapter.moveFile(at('moved/deep/c.txt'), at('c.txt'));
  await adapter.removeFolder(at('moved/deep'));
  await adapter.removeFile(at('moved/ü.txt'));
  await expect(adapter.stat(at('moved/ü.txt'))).rejects.toMatchObject({ code: 'NOT_FOUND' });
  expect(stub.paths).toEqual([
    'c.txt',
    'copied/',
    'copied/deep/',
    'copied/deep/c.txt',
    'copied/ü.txt',
    'copy.txt',
    'moved/',
  ]);
  expect([await text('copied/ü.txt'), await text('copy.txt'), await text('c.txt')]).toEqual([
    'two',
    'two',
    'three',
  ]);
};

/** Answers the first request of each method with this status. */
const atFirst = (status: number): DavDialect => {
  const seen = new Set<string | undefined>();
  return { instead: ({ method }) => (seen.size < seen.add(method).size ? { status } : undefined) };
};

const DIALECTS: readonly (readonly [what: string, dialect: DavDialect])[] = [
  ['as expected', {}],
  ['301 for collections without a slash', { slash: 301 }],
  ['308 for collections without a slash', { slash: 308 }],
  [
    '301 for such collections that names the server behind a proxy',
    { slash: 301, address: 'http://192.0.2.1:81' },
  ],
  ['200 instead of 201', { created: 200 }],
  ['204 instead of 201', { created: 204 }],
  ['refusals inside of a multistatus', { refusals: 'multistatus' }],
  ['refusals inside of the status of properties', { refusals: 'propstat' }],
  ['no MOVE to a taken name, which is a conflict', { replacesNothing: 409 }],
  ['no MOVE to a taken name, which is not allowed', { replacesNothing: 405 }],
  ['no MOVE to a taken name, which is a bad request', { replacesNothing: 400 }],
  ['no MOVE to a taken name, which is an error of the server', { replacesNothing: 500 }],
  ['destinations that are paths', { destinations: 'path' }],
  ['hrefs that are URLs', { hrefs: 'absolute' }],
  ['hrefs with other escapes than asked', { hrefs: 'escaped' }],
  ['MKCOL of what is there answered with 201', { remakes: true }],
  ['old names for copies', { keepsNames: true, overwrites: ['COPY', 'MOVE'] }],
  ['COPY that ignores Overwrite', { overwrites: ['COPY'] }],
  ['COPY and MOVE that ignore Overwrite', { overwrites: ['COPY', 'MOVE'] }],
  ['hidden folders refused with 403', { refusesHidden: 403 }],
  ['hidden folders refused with 405', { refusesHidden: 405 }],
  ['packed listings (gzip)', { packs: 'gzip' }],
  ['packed listings (deflate)', { packs: 'deflate' }],
  ['a rate limit', atFirst(429)],
  [
    'files that GET finds only untranslated, as IIS those of types that it does not know',
    {
      instead: ({ method, headers }) =>
        method === 'GET' && headers['translate'] !== 'f' ? { status: 404 } : undefined,
    },
  ],
  ['no times', { untold: ['getlastmodified'] }],
  ['no sizes, times and versions', { untold: ['getcontentlength', 'getlastmodified', 'getetag'] }],
];

describe('dialects of WebDAV', () => {
  it.each(DIALECTS)('a server with %s works', async (_what, dialect) => {
    await workThrough(await open(dialect));
  });

  it.each([{}, { keepsNames: true, overwrites: ['COPY', 'MOVE'] as const }])(
    'copies and moves to another folder cost nothing that has the old name there (%j)',
    async (dialect) => {
      const { stub, adapter, put } = await open(dialect);
      // The first copy goes into a folder whose name can be decomposed.
      for (const folder of ['a', 'é']) {
        await put(`${folder}/x.txt`, folder);
        await put(`${folder}/f/y.txt`, folder);
      }
      await adapter.copyFile(at('a/x.txt'), at('é/copied.txt'), { createOnly: true });
      await adapter.copyFile(at('a/x.txt'), at('a/beside.txt'), { createOnly: true });
      await adapter.copyFolder(at('a/f'), at('é/copied'));
      await adapter.moveFile(at('a/x.txt'), at('é/moved.txt'), { createOnly: true });
      await adapter.moveFolder(at('a/f'), at('é/moved'));
      await adapter.moveFile(at('a/beside.txt'), at('é/copied.txt'));
      const files = ['copied.txt', 'copied/y.txt', 'f/y.txt', 'moved.txt', 'moved/y.txt', 'x.txt'];
      expect(stub.paths.filter((path) => path.endsWith('.txt'))).toEqual(files.map((name) => `é/${name}`));
      expect(stub.paths.filter((path) => path.includes('.tmp'))).toEqual([]);
      expect(files.map((name) => stub.text(`é/${name}`)).join('')).toBe('aaéaaé');
    },
  );

  it('a file that cannot be replaced after it was moved aside comes back, under a number where its name is taken', async () => {
    const replacesNothing = 405;
    for (const isTaken of [false, true]) {
      const { stub, adapter, put } = await open({ replacesNothing });
      await put('a.txt', 'old');
      stub.dialect = {
        replacesNothing,
        instead: ({ method, headers }) => {
          const isLast = method === 'MOVE' && headers.destination === `${stub.url}a.txt`;
          if (!isLast || stub.text('a.txt') !== undefined) return undefined;
          if (isTaken) stub.plant('a.txt', 'of another client');
          stub.dialect = { replacesNothing };
          return { status: isTaken ? 412 : 507 };
        },
      };
      await expect(put('a.txt', 'new')).rejects.toMatchObject({
        code: isTaken ? 'STORAGE_UNAVAILABLE' : 'STORAGE_FULL',
      });
      if (isTaken)
        await expect
          .poll(() =>
            adapter
              .list(at(''))
              .next()
              .then(() => stub.paths),
          )
          .toHaveLength(2);
      expect(stub.paths).toEqual(isTaken ? ['a (1).txt', 'a.txt'] : ['a.txt']);
      expect(stub.text(isTaken ? 'a (1).txt' : 'a.txt')).toBe('old');
    }
  });

  it('a file that was moved aside by a request with a wrong response comes back', async () => {
    const { stub, put, names } = await open({ replacesNothing: 405 });
    await put('a.txt', 'old');
    stub.dialect = {
      replacesNothing: 405,
      instead: ({ method, url = '' }) => {
        if (method === 'MOVE')
          stub.dialect = {
            replacesNothing: 405,
            ...(url.endsWith('/a.txt') && { lies: 500 }),
            instead: stub.dialect.instead,
          };
        return undefined;
      },
    };
    await expect(put('a.txt', 'new')).rejects.toMatchObject({ code: 'STORAGE_DENIED' });
    stub.dialect = {};
    await expect.poll(() => names()).toEqual(['a.txt']);
    expect(stub.text('a.txt')).toBe('old');
  });

  it('a MOVE that a gateway reports as failed after it was done is not repeated', async () => {
    const { stub, put } = await open({ lies: 502 });
    await put('a.txt', 'one', { createOnly: true });
    expect([stub.paths, stub.text('a.txt')]).toEqual([['a.txt'], 'one']);
    expect(stub.seen.filter(({ method }) => method === 'MOVE')).toHaveLength(1);
  });

  it.skipIf(opensslMissing)(
    'a server behind a proxy that ends TLS moves files to URLs without TLS',
    async () => {
      const { stub } = await open({ destinations: 'http:' });
      const certificate = await makeCertificate();
      const front = await startTlsFront(certificate, stub.url);
      const adapter = openDavStore({ url: `${front.origin}/dav/` }, { ca: certificate.cert });
      onTestFinished(async () => {
        await adapter.close();
        await front.close();
      });
      for (const text of ['one', 'two'])
        await adapter.write(at('a.txt'), Readable.from([Buffer.from(text)]), {});
      expect([stub.paths, stub.text('a.txt')]).toEqual([['a.txt'], 'two']);
      // The first form is tried once.
      const moves = stub.seen
        .filter(({ method }) => method === 'MOVE')
        .map(({ headers }) => headers.destination);
      expect(moves.filter((destination) => String(destination).startsWith('https:'))).toHaveLength(1);
    },
  );

  it('new names are promised only where the server decides about them and tells how old a folder is', async () => {
    for (const [, dialect] of DIALECTS) {
      const { adapter, put } = await open(dialect);
      expect(adapter.capabilities.atomicCreate).toBe(false);
      await put('a.txt', 'a', { createOnly: true });
      const { remakes, refusesHidden, untold } = dialect;
      const isKept = remakes === undefined && refusesHidden === undefined && untold === undefined;
      expect([dialect, adapter.capabilities.atomicCreate]).toEqual([dialect, isKept]);
    }
  });

  it('a folder whose clock is not that of the answers keeps no names', async () => {
    const { stub, adapter, put } = await open({});
    stub.dialect = {
      instead: ({ method, url }) =>
        method === 'PROPFIND' &&
        url?.includes('/.') === true &&
        url.endsWith('.tmp') &&
        stub.paths.some((one) => one.endsWith('.tmp/'))
          ? {
              status: 207,
              body: `<multistatus xmlns="DAV:"><response><href>${url}</href><propstat><prop><resourcetype><collection/></resourcetype><getlastmodified>Thu, 01 Jan 1970 00:00:00 GMT</getlastmodified></prop></propstat></response></multistatus>`,
            }
          : undefined,
    };
    await put('a.txt', 'a', { createOnly: true });
    expect(adapter.capabilities.atomicCreate).toBe(false);
    expect(stub.paths).toEqual(['a.txt']);
  });

  it('a name that one client is about to give is given by no other, even where MOVE ignores Overwrite', async () => {
    const { stub, put: putOther } = await open({ overwrites: ['MOVE'] });
    const proxy = await FaultProxy.start(stub.url, ({ method = '' }) => method);
    const adapter = openDavStore({ url: `${proxy.endpoint}/dav/` }, {});
    onTestFinished(async () => {
      await adapter.close();
      await proxy.close();
    });
    const outcomes: string[] = [];
    proxy.before('MOVE', 1, () =>
      putOther('a.txt', 'second', { createOnly: true }).then(
        () => outcomes.push('created'),
        (error: unknown) => outcomes.push((error as { code: string }).code),
      ),
    );
    await adapter.write(at('a.txt'), Readable.from([Buffer.from('first')]), { createOnly: true });
    expect(outcomes).toEqual(['ALREADY_EXISTS']);
    expect(stub.paths).toEqual(['a.txt']);
    expect(stub.text('a.txt')).toBe('first');
  });

  it('one answer that nothing has a name does not cost the file that has it, even where MOVE ignores Overwrite', async () => {
    const { stub, adapter, put } = await open({});
    await put('a.txt', 'mine');
    await put('b.txt', 'theirs');
    let asked = 0;
    stub.dialect = {
      overwrites: ['MOVE'],
      instead: ({ method, url = '' }) => {
        if (method !== 'PROPFIND' || !url.endsWith('/b.txt')) return undefined;
        asked += 1;
        return asked === 1 ? { status: 404 } : undefined;
      },
    };
    const moving = adapter.moveFile(at('a.txt'), at('b.txt'), { createOnly: true });
    await expect(moving).rejects.toMatchObject({ code: 'ALREADY_EXISTS' });
    expect([stub.text('a.txt'), stub.text('b.txt')]).toEqual(['mine', 'theirs']);
  });

  it('a name that is given up while others find out that the server reserves names is free again', async () => {
    const { stub, put } = await open({});
    const steps = new EventEmitter();
    const [asked, released] = [once(steps, 'asked'), once(steps, 'released')];
    const made: string[] = [];
    stub.dialect = {
      instead: ({ method, url = '' }) => {
        if (method !== 'MKCOL') return undefined;
        made.push(url);
        if (made.length !== 2) return undefined;
        steps.emit('asked');

        const body = (async function* (): AsyncGenerator<string> {
          await released;
        })();
        return { status: 405, body };
      },
    };
    const abort = new AbortController();
    const reason = new Error('given up');
    const given = expect(put('first.txt', 'a', { createOnly: true, signal: abort.signal })).rejects.toBe(
      reason,
    );
    await asked;
    await put('second.txt', 'b', { createOnly: true });
    abort.abort(reason);
    steps.emit('released');
    await given;
    expect(made[0]).toBe(made[1]);
    expect(stub.paths).toEqual(['second.txt']);
  });

  it('a listing that says to be packed and is not is damaged data', async () => {
    const { stub, names } = await open({ packs: 'broken' });
    stub.plant('a.txt', 'a');
    await expect(names()).rejects.toMatchObject({ code: 'CORRUPT' });
  });

  it('files without time and size are listed without them, and read whole', async () => {
    const { adapter, put, text } = await open({ untold: ['getcontentlength', 'getlastmodified', 'getetag'] });
    await put('a.txt', 'content');
    for await (const page of adapter.list(at('')))
      expect(page).toEqual([{ name: 'a.txt', kind: 'file', size: undefined, modifiedAt: undefined }]);
    expect(await text('a.txt')).toBe('content');
  });

  it('the listing of the service leaves out time and size that it is not told', async () => {
    const stub = await DavStub.start({ untold: ['getcontentlength', 'getlastmodified'] });
    const source = {
      title: 'Dav',
      baseurl: 'https://files.example/',
      storageAdapter: 'webdav',
      webdav: { url: stub.url },
    };
    const app = createApp({ createThumb: false, sources: { dav: source } }, {}, { logger: silent });
    onTestFinished(async () => {
      await app.close();
      await stub.close();
    });
    const form = new FormData();
    form.append('files[0]', new Blob(['a']), 'a.txt');
    await app.fetch(new Request('http://localhost/fileUpload', { method: 'POST', body: form }));
    const answer = await app.fetch(new Request('http://localhost/files'));
    const { data } = (await answer.json()) as { data: { sources: { files: object[] }[] } };
    expect(data.sources[0]?.files).toEqual([{ file: 'a.txt', name: 'a.txt', type: 'file', isImage: false }]);
  });

  it('bodies have a length, and one that is too large is refused with nothing left', async () => {
    const { stub, put } = await open({ mostBytes: 10_000 });
    await put('a.txt', 'a'.repeat(10_000));
    await put('b.txt', 'b'.repeat(10_000), { size: 10_000 });
    await expect(put('c.txt', 'c'.repeat(10_001))).rejects.toMatchObject({ code: 'STORAGE_DENIED' });
    expect(stub.paths).toEqual(['a.txt', 'b.txt']);
    expect(stub.seen.filter(({ headers }) => headers['transfer-encoding'] !== undefined)).toEqual([]);
  });

  it('content that exists once is not sent again without its bytes after a refusal', async () => {
    const { stub, put } = await open({}, { timeout: 2 });
    stub.plant('f', undefined);
    let refusals = 0;
    const instead: DavDialect['instead'] = ({ method }) =>
      method === 'PUT' && (refusals += 1) === 1 ? { status: 500 } : undefined;
    stub.dialect = { instead };
    const large = Buffer.alloc(1024 * 1024, 'a');
    await expect(put('f/a.bin', large, { size: large.length })).rejects.toMatchObject({
      code: 'STORAGE_UNAVAILABLE',
    });
    expect(stub.seen.filter(({ method }) => method === 'PUT')).toHaveLength(1);
    expect(stub.paths).toEqual(['f/']);
  });

  it('a full disk in the midst of a move is not taken for a name that another client has given', async () => {
    const { stub, adapter, put } = await open({});
    await put('f/a.txt', 'a');
    await put('b.txt', 'b');
    const instead: DavDialect['instead'] = ({ method, headers }) => {
      if (method !== 'MOVE') return undefined;
      // As a server leaves it that copies and then removes.
      stub.plant(
        new URL(String(headers['destination'])).pathname.slice('/dav/'.length).replace(/\/$/u, ''),
        'half',
      );
      return { status: 507 };
    };
    stub.dialect = { instead };
    await expect(adapter.moveFolder(at('f'), at('g'))).rejects.toMatchObject({ code: 'STORAGE_FULL' });
    await expect(adapter.moveFile(at('b.txt'), at('c.txt'), { createOnly: true })).rejects.toMatchObject({
      code: 'STORAGE_FULL',
    });
    expect([stub.text('f/a.txt'), stub.text('b.txt')]).toEqual(['a', 'b']);
  });

  it('a name that is freed after the server has refused it was taken all the same, so that the next one is tried', async () => {
    const { stub, put } = await open({});
    const instead: DavDialect['instead'] = ({ method }) => (method === 'MOVE' ? { status: 412 } : undefined);
    stub.dialect = { instead };
    await expect(put('a.txt', 'a', { createOnly: true })).rejects.toMatchObject({ code: 'ALREADY_EXISTS' });
    expect(stub.paths).toEqual([]);
  });

  it('a file that is replaced while it is opened has changed, and is not damaged, where its length is not told', async () => {
    const { stub, adapter, put } = await open({});
    await put('a.txt', 'content');
    const instead: DavDialect['instead'] = ({ method }) => {
      if (method !== 'GET') return undefined;
      stub.plant('a.txt', 'more content');
      return { status: 200, body: 'more content' };
    };
    stub.dialect = { instead };
    const { stream } = await adapter.read(at('a.txt'));
    await expect(buffer(stream)).rejects.toMatchObject({ code: 'CHANGED_MEANWHILE' });
  });

  it('a part of a folder that a failing server has moved is not taken for a folder of another client', async () => {
    const { stub, adapter, put } = await open({});
    await put('f/a.txt', 'a');
    stub.dialect = {
      instead: ({ method, headers }) => {
        if (method !== 'MOVE') return undefined;
        stub.plant(
          decodeURIComponent(new URL(String(headers['destination'])).pathname.slice(5, -1)),
          undefined,
        );
        return { status: 500 };
      },
    };
    await expect(adapter.moveFolder(at('f'), at('g'))).rejects.toMatchObject({ code: 'STORAGE_UNAVAILABLE' });
    expect(stub.paths).toEqual(['f/', 'f/a.txt', 'g/']);
  });

  it.each([425, 503])(
    'a server that is still at work on a file, and says so by %d, is asked again',
    async (status) => {
      const { stub, adapter, put, text } = await open({});
      await put('a.txt', 'old');
      const busy = new Map<string, number>();
      stub.dialect = {
        instead: ({ method = '' }) => {
          const times = (busy.get(method) ?? 0) + 1;
          busy.set(method, times);
          const methods = status === 425 ? ['PROPFIND', 'MOVE', 'DELETE'] : ['MOVE', 'DELETE'];
          return methods.includes(method) && times <= 2 ? { status } : undefined;
        },
      };
      await put('a.txt', 'new');
      expect(await text('a.txt')).toBe('new');
      busy.clear();
      await adapter.moveFile(at('a.txt'), at('b.txt'), { createOnly: true });
      await adapter.removeFile(at('b.txt'));
      expect(stub.paths).toEqual([]);
    },
  );

  it('a change that a gateway calls unavailable after it was made is not made again', async () => {
    const { stub, adapter, put } = await open({});
    await put('a.txt', 'a');
    stub.dialect = { lies: 503 };
    await adapter.moveFile(at('a.txt'), at('b.txt'), { createOnly: true });
    await adapter.removeFile(at('b.txt'));
    expect(stub.paths).toEqual([]);
  });

  it('a name that a server does not take is refused as such, and leaves nothing', async () => {
    const { stub, adapter, put, names } = await open({});
    await put('a.txt', 'a');
    const isRefused = (url = ''): boolean => decodeURIComponent(url).includes('nul');
    stub.dialect = {
      instead: ({ url, headers }) =>
        isRefused(String(headers['destination'])) || isRefused(url) ? { status: 400 } : undefined,
    };
    expect(await names()).toEqual(['a.txt']);
    const refused = { code: 'UNSAFE_NAME' };
    await expect(put('nul.txt', 'b', { createOnly: true })).rejects.toMatchObject(refused);
    await expect(adapter.makeFolder(at('nul'))).rejects.toMatchObject(refused);
    await expect(adapter.moveFile(at('a.txt'), at('nul.txt'))).rejects.toMatchObject(refused);
    expect(stub.paths).toEqual(['a.txt']);
  });

  it('requests name their client, which firewalls ask for, by another name where the options have one', async () => {
    const { stub, put } = await open({});
    await put('a.txt', 'a');
    expect(new Set(stub.seen.map(({ headers }) => headers['user-agent']))).toEqual(new Set(['stowage']));
    const named = await open({}, { headers: { 'User-Agent': 'Files/2' } });
    await named.put('a.txt', 'a');
    expect(new Set(named.stub.seen.map(({ headers }) => headers['user-agent']))).toEqual(
      new Set(['Files/2']),
    );
  });

  it.each([
    ['and compares with that', 412],
    ['without a look at conditions', 307],
  ])('files whose content another server sends with another ETag, %s, are read', async (_what, status) => {
    const other = await DavStub.start({});
    onTestFinished(() => other.close());
    const { stub, adapter, put } = await open({});
    other.dialect = {
      instead: ({ method, headers }) =>
        method !== 'GET'
          ? undefined
          : headers['if-match'] !== undefined && status === 412
            ? { status }
            : {
                status: 200,
                headers: { etag: `"other-${stub.text('a.txt') ?? ''}"` },
                body: stub.text('a.txt') ?? '',
              },
    };
    await put('a.txt', 'one');
    const { etag } = await adapter.stat(at('a.txt'));
    let isReplaced = false;
    stub.dialect = {
      instead: ({ method, url = '' }) => {
        if (method !== 'GET') return undefined;
        if (isReplaced) stub.plant('a.txt', 'two');
        return { status: 307, headers: { location: new URL(url, other.url).href } };
      },
    };
    const read = async (ifMatch: string | undefined) => {
      const { stat, stream } = await adapter.read(at('a.txt'), { ifMatch });
      return [stat.etag, (await buffer(stream)).toString()];
    };
    expect(await read(etag)).toEqual([etag, 'one']);
    expect(await read(undefined)).toEqual([etag, 'one']);
    isReplaced = true;
    await expect(read(etag)).rejects.toMatchObject({ code: 'CHANGED_MEANWHILE' });
  });

  it.each([
    ['', undefined],
    [', even if the last page leads back to an earlier one', 'b'],
  ])('a folder that a service lists in pages is listed completely%s', async (_how, last) => {
    const { stub, names } = await open({});
    for (const name of ['a', 'b', 'c']) stub.plant(name, name);
    stub.dialect = {
      instead: ({ method, headers, url = '' }) => {
        if (method !== 'PROPFIND' || headers['depth'] !== '1') return undefined;
        const page = new URL(url, stub.url).searchParams.get('mk') ?? 'a';
        const next = { a: 'b', b: 'c', c: last }[page];
        const link =
          next === undefined ? {} : { link: `<https://outside.example/dav/?mk=${next}>; rel="next"` };
        const responses = [...(page === 'a' ? ['/dav/'] : []), `/dav/${page}`].map(
          (href) =>
            `<response><href>${href}</href><propstat><prop><resourcetype/></prop></propstat></response>`,
        );
        return {
          status: 207,
          headers: link,
          body: `<multistatus xmlns="DAV:">${responses.join('').replace('<resourcetype/>', '<resourcetype><collection/></resourcetype>')}</multistatus>`,
        };
      },
    };
    expect(await names()).toEqual(['a', 'b', 'c']);
  });

  it('one failure of the server does not decide that it ignores the letter case', async () => {
    const { stub, adapter } = await open({});
    stub.plant('a.txt', 'a');
    let failures = 0;
    const instead: DavDialect['instead'] = ({ url = '' }) =>
      url.endsWith('A.TXT') && (failures += 1) === 1 ? { status: 408 } : undefined;
    stub.dialect = { instead };
    await adapter.stat(at('a.txt'));
    expect([failures, adapter.capabilities.caseSensitive]).toEqual([1, false]);
    await adapter.stat(at('a.txt'));
    expect(adapter.capabilities.caseSensitive).toBe(true);
  });

  it('a rate limit for a longer time is not tried out', async () => {
    const { stub, adapter } = await open({
      instead: () => ({ status: 429, headers: { 'retry-after': '3600' } }),
    });
    await expect(adapter.stat(at('a.txt'))).rejects.toMatchObject({ code: 'BUSY' });
    expect(stub.seen).toHaveLength(1);
  });

  it('a server that makes no folders has none, instead of having all', async () => {
    const { stub, adapter } = await open({});
    stub.dialect = { instead: ({ method }) => (method === 'MKCOL' ? { status: 405 } : undefined) };
    await expect(adapter.makeFolder(at('f'))).rejects.toMatchObject({ code: 'STORAGE_DENIED' });
    expect(stub.paths).toEqual([]);
  });

  it('a part of a file that has become shorter than it is a change of the file', async () => {
    const { stub, adapter, put } = await open({});
    await put('a.txt', 'content');
    stub.dialect = { instead: ({ method }) => (method === 'GET' ? { status: 416 } : undefined) };
    await expect(adapter.read(at('a.txt'), { range: { start: 5, end: 6 } })).rejects.toMatchObject({
      code: 'CHANGED_MEANWHILE',
    });
  });

  it.each(['MKCOL', 'PUT', 'MOVE', 'COPY', 'DELETE'])(
    'what is locked for a moment at %s is waited for, what stays locked is busy',
    async (method) => {
      const { stub, adapter, put } = await open({});
      await put('f/a.txt', 'a', { createOnly: true });
      let locked = 2;
      stub.dialect = {
        instead: (request): StubAnswer | undefined =>
          request.method === method && locked-- > 0 ? { status: 423 } : undefined,
      };
      const staged = await adapter.stage(Readable.from([Buffer.from('b')]));
      await staged.commit(at('g/b.txt'));
      await adapter.copyFile(at('g/b.txt'), at('g/c.txt'));
      await adapter.removeFile(at('g/b.txt'));
      await adapter.moveFolder(at('g'), at('h'));
      expect(stub.paths).toEqual(['f/', 'f/a.txt', 'h/', 'h/c.txt']);
      locked = Number.POSITIVE_INFINITY;
      const operation = {
        MKCOL: () => adapter.makeFolder(at('x')),
        DELETE: () => adapter.removeFolder(at('f')),
      }[method];
      const other = async () => {
        const again = await adapter.stage(Readable.from([Buffer.from('b')]));
        await again.commit(at('new.txt')).finally((): unknown => again.discard());
      };
      const copy = () => adapter.copyFolder(at('f'), at('x'));
      await expect((operation ?? (method === 'COPY' ? copy : other))()).rejects.toMatchObject({
        code: 'BUSY',
      });
      locked = 0;
      expect(await adapter.stat(at('f/a.txt'))).toMatchObject({ size: 1 });
    },
  );
});

describe('names in decomposed letters on WebDAV', () => {
  const composed = 'Über/Café é.txt';
  const written = composed.normalize('NFD');
  const folder = 'Über';
  const plant = (stub: DavStub): void => {
    stub.plant(folder.normalize('NFD'), undefined);
    stub.plant(written, 'one');
    // As some keyboards write: one letter composed, the other not.
    stub.plant(`${folder.normalize('NFD')}/é${'ö'.normalize('NFD')}.txt`, 'two');
  };

  it('are listed once and reached, whether they were listed before or not', async () => {
    const { stub, adapter, text, names } = await open({});
    plant(stub);
    expect(await text(composed)).toBe('one');
    await expect(text(`${folder}/éö.txt`)).rejects.toMatchObject({ code: 'NOT_FOUND' });
    expect(await names()).toEqual([folder]);
    expect(await names(folder)).toEqual(['Café é.txt', 'éö.txt']);
    expect(await text(`${folder}/éö.txt`)).toBe('two');
    await expect(adapter.makeFolder(at(folder))).rejects.toMatchObject({ code: 'ALREADY_EXISTS' });
  });

  it('are replaced, copied, moved and removed, and new names are composed', async () => {
    const { stub, adapter, put } = await open({});
    plant(stub);
    await expect(put(composed, 'x', { createOnly: true })).rejects.toMatchObject({ code: 'ALREADY_EXISTS' });
    await put(composed, 'new');
    expect(stub.text(written)).toBe('new');
    await adapter.copyFile(at(composed), at('copié.txt'), { createOnly: true });
    await adapter.moveFile(at(composed), at('déplacé.txt'), { createOnly: true });
    await put(composed, 'composed', { createOnly: true });
    const there = folder.normalize('NFD');
    expect(stub.paths).toEqual(
      [
        'copié.txt',
        'déplacé.txt',
        `${there}/`,
        `${there}/Café é.txt`,
        `${there}/é${'ö'.normalize('NFD')}.txt`,
      ].sort(),
    );
    await adapter.moveFolder(at(folder), at('moved'));
    await adapter.removeFolder(at('moved'));
    expect(stub.paths).toEqual(['copié.txt', 'déplacé.txt']);
  });

  it('give way to a composed one beside them', async () => {
    const { stub, names, text } = await open({});
    stub.plant('é.txt'.normalize('NFD'), 'decomposed');
    expect(await text('é.txt')).toBe('decomposed');
    stub.plant('é.txt', 'composed');
    expect(await names()).toEqual(['é.txt']);
    expect(await text('é.txt')).toBe('composed');
  });
});

describe('a WebDAV server that leads elsewhere', () => {
  const elsewhere =
    (status: number, origin: () => string): DavDialect['instead'] =>
    ({ url = '' }) =>
      url.startsWith('/old/')
        ? { status, headers: { location: origin() + url.replace('/old/', '/dav/') } }
        : undefined;

  it.each([301, 302, 307, 308])('with %d works, destinations and bodies go along', async (status) => {
    const { stub, adapter } = await open({ instead: elsewhere(status, () => '') });
    await adapter.close();
    const url = stub.url.replace('/dav/', '/old/');
    const moved = openDavStore({ url }, login);
    onTestFinished(() => moved.close());
    const put = (path: string, text: string | Buffer, more = {}) => {
      const bytes = Buffer.from(text);
      const size = bytes.length;
      return moved.write(at(path), Readable.from([bytes], { objectMode: false }), { size, ...more });
    };
    const names = async (folder = ''): Promise<readonly string[]> => {
      const found: string[] = [];
      for await (const page of moved.list(at(folder))) found.push(...page.map(({ name }) => name));
      return found.sort();
    };
    await moved.makeFolder(at('first'));
    await moved.removeFolder(at('first'));
    const text = async (path: string) => (await buffer((await moved.read(at(path))).stream)).toString();
    await workThrough({ stub, adapter: moved, put, names, text });
    const { authorization } = stub.seen.at(-1)?.headers ?? {};
    expect(authorization).toMatch(/^Basic /u);
  });

  it('to another host is followed there without the login', async () => {
    const other = await DavStub.start({});
    onTestFinished(() => other.close());
    const { stub, adapter, put, names } = await open(
      {
        instead: ({ url = '' }) => ({ status: 308, headers: { location: new URL(url, other.url).href } }),
      },
      login,
    );
    await adapter.makeFolder(at('f'));
    await put('f/a.txt', 'a', { size: 1 });
    await adapter.moveFile(at('f/a.txt'), at('b.txt'), { createOnly: true });
    expect(await names()).toEqual(['b.txt', 'f']);
    expect(stub.seen.every(({ headers }) => headers.authorization !== undefined)).toBe(true);
    expect(other.seen.some(({ headers }) => headers.authorization !== undefined)).toBe(false);
  });
});

describe('logins on WebDAV', () => {
  const digest = { ...login, auth: 'digest' };

  it.each<readonly [algorithm: string | undefined, qop: string | undefined]>([
    [undefined, 'auth'],
    ['MD5', 'auth,auth-int'],
    ['MD5-sess', 'auth'],
    ['SHA-256', 'auth'],
    [undefined, undefined],
  ])(
    'digest with algorithm %s and qop %s works, also with a nonce that gets stale',
    async (algorithm, qop) => {
      const wish = {
        uses: 5,
        ...(algorithm === undefined ? {} : { algorithm }),
        ...(qop === undefined ? {} : { qop }),
      };
      await workThrough(await open({ instead: digestGate(wish) }, digest));
    },
  );

  it('a wrong password ends after few requests, and one that the server asks for otherwise is a refusal', async () => {
    const wrong = await open(
      { instead: digestGate({ uses: 5, qop: 'auth' }) },
      { ...digest, password: 'wrong' },
    );
    await expect(wrong.put('a.txt', 'a')).rejects.toMatchObject({ code: 'STORAGE_DENIED' });
    expect(wrong.stub.seen.length).toBeLessThanOrEqual(6);
    for (const gate of [
      digestGate({ uses: 5, qop: 'auth-int' }),
      digestGate({ uses: 5, algorithm: 'SHA-512' }),
    ]) {
      const { adapter } = await open({ instead: gate }, digest);
      await expect(adapter.stat(at('a'))).rejects.toMatchObject({ code: 'STORAGE_DENIED' });
    }
    const basic = await open({ instead: digestGate({ uses: 5, qop: 'auth' }) }, login);
    await expect(basic.adapter.stat(at('a'))).rejects.toMatchObject({ code: 'STORAGE_DENIED' });
  });

  it('a token is sent as it is, and no login at all without one', async () => {
    const instead: DavDialect['instead'] = ({ headers }) =>
      headers.authorization === 'Bearer t.o-k=' ? undefined : { status: 401 };
    await workThrough(await open({ instead }, { token: 't.o-k=' }));
    const { stub, put } = await open({});
    await put('a.txt', 'a');
    expect(stub.seen.filter(({ headers }) => headers.authorization !== undefined)).toEqual([]);
  });

  it.each([301, 302, 307, 308])(
    'a %i to another port loses the login on the way there, and only there',
    async (status) => {
      const canary = await DavStub.start();
      onTestFinished(() => canary.close());
      const instead: DavDialect['instead'] = ({ method, url = '' }) =>
        method === 'GET' || method === 'PUT'
          ? { status, headers: { location: new URL(url, canary.url).href } }
          : undefined;
      const { stub, adapter, put } = await open({ instead }, login);
      // Sent elsewhere, it is not where it should be.
      await expect(put('a.txt', 'a')).rejects.toMatchObject({
        name: expect.stringMatching(/Error$/u) as string,
      });
      expect(canary.seen.length).toBeGreaterThan(0);
      expect(canary.seen.filter(({ headers }) => headers.authorization !== undefined)).toEqual([]);
      expect(stub.seen.filter(({ headers }) => headers.authorization === undefined)).toEqual([]);
      expect(await adapter.stat(at(''))).toMatchObject({ kind: 'folder' });
    },
  );

  it('redirects without end, to nowhere and to no web address are an unavailable storage', async () => {
    for (const location of ['again', 'http://', 'file:///etc/passwd']) {
      const { stub, adapter } = await open({ instead: () => ({ status: 302, headers: { location } }) });
      await expect(adapter.stat(at('a'))).rejects.toMatchObject({ code: 'STORAGE_UNAVAILABLE' });
      expect(stub.seen.length).toBeLessThanOrEqual(12);
    }
  });
});

describe('XML from a WebDAV server', () => {
  const listing = (body: StubAnswer['body'] & {}): DavDialect => ({
    instead: ({ method, headers }) =>
      method === 'PROPFIND' && headers['depth'] === '1' ? { status: 207, body } : undefined,
  });
  const entry = '<d:response><d:href>/dav/a.txt</d:href></d:response>';

  it.each([
    ['is no XML', 'Internal Server Error'],
    ['ends in the middle', `<d:multistatus xmlns:d="DAV:">${entry}<d:response>`],
    ['is another document', `<html><body>${entry}</body></html>`],
    ['is empty', ''],
    ['has a document type', `<!DOCTYPE d><d:multistatus xmlns:d="DAV:">${entry}</d:multistatus>`],
    [
      'expands entities',
      `<!DOCTYPE d [<!ENTITY a "aaaaaaaaaa"><!ENTITY b "&a;&a;&a;&a;&a;&a;">]><d:multistatus xmlns:d="DAV:"><d:response><d:href>/dav/&b;</d:href></d:response></d:multistatus>`,
    ],
    [
      'reads files by entities',
      `<!DOCTYPE d [<!ENTITY x SYSTEM "file:///etc/passwd">]><d:multistatus xmlns:d="DAV:"><d:response><d:href>/dav/&x;</d:href></d:response></d:multistatus>`,
    ],
    [
      'has unknown entities',
      `<d:multistatus xmlns:d="DAV:"><d:response><d:href>/dav/&x;</d:href></d:response></d:multistatus>`,
    ],
    ['is nested too deep', `<d:multistatus xmlns:d="DAV:">${'<x>'.repeat(1000)}`],
    [
      'has a name without end',
      `<d:multistatus xmlns:d="DAV:"><d:response><d:href>/dav/${'a'.repeat(1_000_000)}`,
    ],
  ])('that %s is damaged data', async (_what, body) => {
    const { names } = await open(listing(body));
    await expect(names()).rejects.toMatchObject({ code: 'CORRUPT' });
  });

  it('entries that lie elsewhere or have no path are left out', async () => {
    const hrefs = [
      '/dav/',
      '/dav/a.txt',
      '/dav/../etc/passwd',
      '/other/b.txt',
      '/dav/x/y.txt',
      '/dav/%2e%2e/c',
      '/dav/%ZZ',
      '/dav/a%00b',
      '/dav/c%2Fd',
      '',
    ];
    const type = '<propstat><prop><resourcetype><collection/></resourcetype></prop></propstat>';
    const responses = hrefs.map((href) => `<response><href>${href}</href>${type}</response>`).join('');
    const { names } = await open(listing(`<multistatus xmlns="DAV:">${responses}</multistatus>`));
    expect(await names()).toEqual(['a.txt']);
  });

  it('has names with characters that are not encoded everywhere', async () => {
    const responses = ['/dav/', '/dav/what?#1&amp;.txt', '/dav/b%3F'].map(
      (href) =>
        `<response><href>${href}</href><propstat><prop><resourcetype>${href === '/dav/' ? '<collection/>' : ''}</resourcetype></prop></propstat></response>`,
    );
    const { names } = await open(listing(`<multistatus xmlns="DAV:">${responses.join('')}</multistatus>`));
    expect(await names()).toEqual(['b?', 'what?#1&.txt']);
  });

  it('that has no end is read as long as it is listed, and stopped by the reader', async () => {
    async function* endless() {
      yield '<d:multistatus xmlns:d="DAV:">';
      for (let index = 0; ; index += 1)
        yield `<d:response><d:href>/dav/${String(index)}</d:href></d:response>`.repeat(1000);
    }
    const { adapter } = await open(listing(endless()));
    let pages = 0;
    for await (const page of adapter.list(at(''))) {
      pages += page.length > 0 ? 1 : 0;
      if (pages === 3) break;
    }
    expect(pages).toBe(3);
  });

  it.each([
    ['an attribute', '<d:multistatus xmlns:d="DAV:"><d:response a="'],
    ['a comment', '<d:multistatus xmlns:d="DAV:"><!-- '],
    ['a tag', '<d:multistatus xmlns:d="DAV:"><d:resp'],
    ['a text', '<d:multistatus xmlns:d="DAV:"><d:response><d:href>'],
    ['nothing', ''],
  ])('in which %s does not end is given up early', async (_what, start) => {
    let sent = 0;
    async function* endless() {
      yield start;
      for (;;) {
        sent += 65_536;
        yield (start === '' ? ' ' : 'a').repeat(65_536);
      }
    }
    const { names } = await open(listing(endless()));
    await expect(names()).rejects.toMatchObject({ code: 'CORRUPT' });
    // What the sockets hold is sent as well, at each of the few attempts.
    expect(sent).toBeLessThan(100 * 1024 * 1024);
  });

  it('of a single look is bounded, whatever the server sends', async () => {
    let sent = 0;
    async function* endless() {
      yield '<d:multistatus xmlns:d="DAV:">';
      for (;;) {
        sent += 65_536;
        yield ' '.repeat(65_536);
      }
    }
    const { adapter } = await open({ instead: () => ({ status: 207, body: endless() }) });
    await expect(adapter.stat(at('a.txt'))).rejects.toMatchObject({ code: 'CORRUPT' });
    expect(sent).toBeLessThan(64 * 1024 * 1024);
  });
});

// What odd servers are known for, all at once.
const ODD: DavDialect = {
  slash: 308,
  created: 204,
  refusals: 'multistatus',
  hrefs: 'absolute',
  remakes: true,
  overwrites: ['COPY', 'MOVE'],
};

const ON_ODD = 'the webdav adapter on a server with an odd dialect';
// What its answers to requests decide.
const OF_DIALECT = ['stat', 'list', 'walk', 'write', 'folders', 'removal', 'copy', 'move', 'names'];
describeStorageConformance({ describe: describeThemes(ON_ODD, onlyThemes(OF_DIALECT)), it }, ON_ODD, {
  open: async () => {
    const stub = await DavStub.start(ODD);
    return { adapter: openDavStore(stub, {}), cleanup: () => stub.close() };
  },
  skip: CANNOT_DECIDE,
});
