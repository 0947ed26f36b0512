import { createHash } from 'node:crypto';
import { Readable } from 'node:stream';
import { buffer } from 'node:stream/consumers';
import { createApp, type Logger } from 'stowage';
import { describe, expect, it, onTestFinished } from 'vitest';
import { describeStorageConformance } from 'stowage/testing';
import { SourcePath, StowageError } from 'stowage/storage';
import { KnownServices, S3Adapter, createS3Factory, parseS3Options } from '#internals';
import type { Support } from '../../packages/stowage/dist/adapters/objects/s3/known-services.js';
import { describeThemes, onlyThemes } from './further-servers.ts';
import { optionsFor } from '../../tools/test-servers/bucket.ts';
import { S3Stub, type Dialect } from '../../tools/test-servers/s3-stub.ts';

const MB = 1024 * 1024;
const at = (text: string) => SourcePath.parse(text);
const nothing = (): void => undefined;
const silent: Logger = { debug: nothing, info: nothing, warn: nothing, error: nothing };
const credentials = { accessKeyId: 'testkey', secretAccessKey: 'testsecret' };

const adapterFor = ({ endpoint }: S3Stub, support?: Support): S3Adapter => {
  const parsed = parseS3Options(optionsFor({ endpoint, credentials }, 'bucket', { prefix: 'p' }));
  if ('problems' in parsed) throw new Error(parsed.problems.join('; '));
  const services = new KnownServices();
  if (support !== undefined) services.set(`${endpoint} bucket`, support);
  return new S3Adapter(parsed.value, undefined, services);
};

const open = async (dialect: Dialect, support?: Support) => {
  const stub = await S3Stub.start(dialect);
  const adapter = adapterFor(stub, support);
  onTestFinished(async () => {
    await adapter.close();
    await stub.close();
  });
  const put = (path: string, content: string | Buffer, options = {}) =>
    adapter.write(at(path), Readable.from([Buffer.from(content)], { objectMode: false }), options);
  return { stub, adapter, put, keys: () => [...stub.objects.keys()].sort() };
};

// What Swift's s3api, older Ceph and small servers are known for, all at once.
const ODD: Dialect = {
  conditionalPut: 'refused',
  conditionalCopy: 'refused',
  deleteObjects: 'needs-md5',
  bareErrors: true,
  plainKeys: true,
  startAfter: 'ignored',
};

describe('dialects of S3', () => {
  it('a service without conditional writes: names are looked up first, and not reserved', async () => {
    const dialects: readonly Dialect[] = [
      { conditionalPut: 'refused', conditionalCopy: 'refused' },
      { conditionalPut: 'ignored', conditionalCopy: 'unknown' },
    ];
    for (const dialect of dialects) {
      const { stub, adapter, put } = await open(dialect);
      await put('a.txt', 'first', { createOnly: true });
      expect(adapter.capabilities).toMatchObject({ atomicCreate: false, ifMatch: false });
      await expect(put('a.txt', 'second', { createOnly: true })).rejects.toMatchObject({
        code: 'ALREADY_EXISTS',
      });
      await expect(put('a.txt', 'third', { ifMatch: '"x"' })).rejects.toMatchObject({ code: 'UNSUPPORTED' });
      await adapter.makeFolder(at('f'));
      await expect(adapter.makeFolder(at('f'))).rejects.toMatchObject({ code: 'ALREADY_EXISTS' });
      await put('b.txt', 'b');
      await expect(adapter.moveFile(at('b.txt'), at('a.txt'), { createOnly: true })).rejects.toMatchObject({
        code: 'ALREADY_EXISTS',
      });
      await adapter.moveFile(at('b.txt'), at('c.txt'), { createOnly: true });
      expect([...stub.objects.keys()].sort()).toEqual(['p/a.txt', 'p/c.txt', 'p/f/']);
      expect(stub.objects.get('p/a.txt')?.bytes.toString()).toBe('first');
    }
  });

  it('a service with conditional writes is asked once, and nothing of the question remains', async () => {
    const { stub, adapter, put, keys } = await open({});
    await put('a.txt', 'a', { createOnly: true });
    expect(adapter.capabilities).toMatchObject({ atomicCreate: true, ifMatch: true });
    const before = stub.seen.length;
    await put('b.txt', 'b', { createOnly: true });
    expect(stub.seen.slice(before)).toEqual(['ListObjectsV2', 'PutObject']);
    expect(keys()).toEqual(['p/a.txt', 'p/b.txt']);
  });

  it('a service that is taken for AWS and lacks conditions on copies and removals is asked before', async () => {
    const { stub, adapter, put, keys } = await open(
      { conditionalCopy: 'refused', conditionalDelete: 'refused' },
      { create: true, match: 'quoted', complete: true, copy: true, remove: true },
    );
    for (const name of ['a.txt', 'taken.txt', 'f/one.txt', 'f/two.txt']) await put(name, name);
    const move = (from: string, to: string) => adapter.moveFile(at(from), at(to), { createOnly: true });
    await expect(move('a.txt', 'taken.txt')).rejects.toMatchObject({ code: 'ALREADY_EXISTS' });
    await move('a.txt', 'b.txt');
    await expect(move('b.txt', 'taken.txt')).rejects.toMatchObject({ code: 'ALREADY_EXISTS' });
    stub.seen.length = 0;
    await adapter.moveFolder(at('f'), at('g'));
    expect(keys()).toEqual(['p/b.txt', 'p/g/', 'p/g/one.txt', 'p/g/two.txt', 'p/taken.txt']);
    // Of the claim one, and one before each copy.
    expect(stub.seen.filter((operation) => operation === 'HeadObject')).toHaveLength(3);
    expect(stub.objects.get('p/taken.txt')?.bytes.toString()).toBe('taken.txt');
  });

  it('DeleteObjects carries Content-MD5, and a service without it is served one by one', async () => {
    for (const deleteObjects of ['needs-md5', 'absent'] as const) {
      const { stub, adapter, keys } = await open({ deleteObjects });
      for (let index = 0; index < 30; index += 1) stub.put(`p/f/${index}.txt`, 'x');
      await adapter.removeFolder(at('f'));
      expect(keys()).toEqual([]);
    }
  });

  it('keys that could not be removed are named one by one, the others are gone', async () => {
    const { stub, adapter, keys } = await open({ keeps: (key) => /(?:3|7)\.txt$/u.test(key) });
    for (let index = 0; index < 10; index += 1) stub.put(`p/f/${index}.txt`, 'x');
    const error: unknown = await adapter.removeFolder(at('f')).catch((reason: unknown) => reason);
    expect(error).toBeInstanceOf(StowageError);
    expect(error).toMatchObject({
      code: 'STORAGE_DENIED',
      messages: ['"3.txt" could not be removed.', '"7.txt" could not be removed.'],
    });
    expect(keys()).toEqual(['p/f/3.txt', 'p/f/7.txt']);
  });

  it('a folder of which no key may be removed is not moved, and one of which some may not be in part', async () => {
    const held = await open({ keeps: (key) => key.startsWith('p/f/') });
    const some = await open({ keeps: (key) => key === 'p/f/3.txt' });
    for (const { stub } of [held, some])
      for (let index = 0; index < 5; index += 1) stub.put(`p/f/${index}.txt`, 'x');
    const before = held.keys();
    await expect(held.adapter.moveFolder(at('f'), at('g'))).rejects.toMatchObject({ code: 'STORAGE_DENIED' });
    expect(held.keys()).toEqual(before);
    await expect(some.adapter.moveFolder(at('f'), at('g'))).rejects.toMatchObject({ code: 'MOVED_IN_PART' });
    expect(some.keys().filter((key) => key.startsWith('p/f/'))).toEqual(['p/f/3.txt']);
    expect(some.keys().filter((key) => key.startsWith('p/g/'))).toHaveLength(6);
  });

  it('keys that a busy service has left of a batch are removed by themselves', async () => {
    const { stub, adapter, keys } = await open({
      keeps: (key) => /(?:3|7)\.txt$/u.test(key),
      keepsFor: 'InternalError',
    });
    for (let index = 0; index < 10; index += 1) stub.put(`p/f/${index}.txt`, 'x');
    await adapter.removeFolder(at('f'));
    expect(keys()).toEqual([]);
    expect(stub.seen.filter((operation) => operation === 'DeleteObject')).toHaveLength(2);
  });

  it('a key that XML cannot hold does not cost the others their batch, nor those of later folders', async () => {
    const { stub, adapter, keys } = await open({});
    for (const folder of ['f', 'g'])
      for (let index = 0; index < 10; index += 1) stub.put(`p/${folder}/${index}.txt`, 'x');
    stub.put('p/f/bell\u0007.txt', 'x');
    await adapter.removeFolder(at('f'));
    await adapter.removeFolder(at('g'));
    expect(keys()).toEqual([]);
    expect(stub.seen.filter((operation) => operation.startsWith('Delete'))).toEqual([
      'DeleteObjects',
      'DeleteObject',
      'DeleteObjects',
    ]);
  });

  it('no body is sent with an unknown length or in a framing of its own', async () => {
    const { stub, put, adapter } = await open({});
    const large = Buffer.alloc(9 * MB, 'abcdefg');
    await put('unknown.bin', large);
    await put('created.bin', large, { createOnly: true });
    await put('known.bin', large, { createOnly: true, size: large.length });
    const hash = (bytes: Buffer | undefined) =>
      createHash('md5')
        .update(bytes ?? '')
        .digest('hex');
    for (const name of ['unknown.bin', 'created.bin', 'known.bin']) {
      expect(hash(stub.objects.get(`p/${name}`)?.bytes)).toBe(hash(large));
    }
    expect((await buffer((await adapter.read(at('unknown.bin'))).stream)).length).toBe(large.length);
    expect(stub.uploads.size).toBe(0);
  });

  it('what was stored in parts is copied and moved where no condition on its version is understood', async () => {
    const { stub, adapter, put } = await open({ judgesParts: false });
    const large = Buffer.alloc(20 * MB, 'large');
    await put('a.zip', large);
    await adapter.copyFile(at('a.zip'), at('b.zip'), { createOnly: true });
    await adapter.moveFile(at('b.zip'), at('c.zip'), { createOnly: true });
    expect([...stub.objects.keys()].sort()).toEqual(['p/a.zip', 'p/c.zip']);
    expect(stub.objects.get('p/c.zip')?.bytes.equals(large)).toBe(true);
    expect(stub.uploads.size).toBe(0);
  });

  it.each([
    { what: 'taken at the third attempt', refusesLarge: { times: 2, status: 503 } },
    {
      what: 'stored under its name when the first attempt has stored it all the same',
      refusesLarge: { times: 1, status: 504, stores: true },
    },
  ])('a large upload that the service refuses for the moment is $what', async ({ refusesLarge }) => {
    const { stub, adapter } = await open({ refusesLarge });
    const large = Buffer.alloc(9 * MB, 'large');
    const staged = await adapter.stage(Readable.from([large], { objectMode: false }));
    expect(await staged.commit(at('a.zip'), { createOnly: true })).toMatchObject({ size: large.length });
    expect(stub.objects.get('p/a.zip')?.bytes.equals(large)).toBe(true);
    expect([...stub.objects.keys()]).toEqual(['p/a.zip']);
    await expect(staged.commit(at('b.zip'))).rejects.toMatchObject({ code: 'NOT_FOUND' });
  });

  it('a large upload is sent as often as attempts are allowed, and can be tried again', async () => {
    const { stub, adapter } = await open({ refusesLarge: { times: 3, status: 503 } });
    const staged = await adapter.stage(Readable.from([Buffer.alloc(9 * MB)], { objectMode: false }));
    await expect(staged.commit(at('a.zip'), { createOnly: true })).rejects.toMatchObject({ code: 'BUSY' });
    expect([...stub.objects.keys()]).toEqual([]);
    await staged.commit(at('a.zip'), { createOnly: true });
    expect([...stub.objects.keys()]).toEqual(['p/a.zip']);
  });

  it('dates in ISO 8601 and weak versions, as of Wasabi and behind proxies, keep no large file from its work', async () => {
    for (const dialect of [{ dates: 'iso' }, { weakEtags: true }] as const) {
      const { stub, adapter, put, keys } = await open(dialect);
      await put('a.bin', Buffer.alloc(9 * MB));
      await adapter.copyFile(at('a.bin'), at('b.bin'), { createOnly: true });
      await adapter.moveFile(at('b.bin'), at('c.bin'), { createOnly: true });
      const { modifiedAt } = await adapter.stat(at('c.bin'));
      expect(keys()).toEqual(['p/a.bin', 'p/c.bin']);
      expect(modifiedAt).toBe(Math.floor(Number(stub.objects.get('p/c.bin')?.modifiedAt) / 1000) * 1000);
    }
  });

  it('decomposed names of other tools are listed once, reached, replaced, moved and removed', async () => {
    const { stub, adapter, put, keys } = await open({});
    const there = 'Über'.normalize('NFD');
    const cafe = 'Café é.txt'.normalize('NFD');
    const mixed = `é${'ö'.normalize('NFD')}.txt`;
    for (const name of [cafe, mixed, 'beside.txt']) stub.put(`p/${there}/${name}`, name);
    const names = async (folder: string) => {
      const found: string[] = [];
      for await (const entries of adapter.list(at(folder))) found.push(...entries.map(({ name }) => name));
      return found.sort();
    };
    expect(await adapter.stat(at('Über/Café é.txt'))).toMatchObject({ kind: 'file', name: 'Café é.txt' });
    await expect(adapter.stat(at('Über/éö.txt'))).rejects.toMatchObject({ code: 'NOT_FOUND' });
    expect(await names('')).toEqual(['Über']);
    expect(await names('Über')).toEqual(['Café é.txt', 'beside.txt', 'éö.txt']);
    expect((await buffer((await adapter.read(at('Über/éö.txt'))).stream)).toString()).toBe(mixed);
    await expect(adapter.makeFolder(at('Über'))).rejects.toMatchObject({ code: 'ALREADY_EXISTS' });
    await put('Über/Café é.txt', 'new');
    expect(stub.objects.get(`p/${there}/${cafe}`)?.bytes.toString()).toBe('new');
    await adapter.moveFile(at('Über/Café é.txt'), at('é.txt'), { createOnly: true });
    await adapter.removeFile(at('Über/éö.txt'));
    await adapter.moveFolder(at('Über'), at('ü'));
    expect(keys()).toEqual(['p/é.txt', 'p/ü/', 'p/ü/beside.txt']);
  });

  it('decomposed names are found by a store that has listed nothing, and give way to composed ones', async () => {
    const { stub, adapter, put, keys } = await open({});
    const there = 'Über'.normalize('NFD');
    stub.put(`p/${there}/${'é.txt'.normalize('NFD')}`, 'decomposed');
    const text = async () => (await buffer((await adapter.read(at('Über/é.txt'))).stream)).toString();
    expect(await text()).toBe('decomposed');
    stub.put(`p/${there}/é.txt`, 'composed');
    const names: string[] = [];
    for await (const entries of adapter.list(at('Über'))) names.push(...entries.map(({ name }) => name));
    expect(names).toEqual(['é.txt']);
    expect(await text()).toBe('composed');
    await adapter.removeFolder(at('Über'));
    await put('Über/é.txt', 'new', { createOnly: true });
    expect(keys()).toEqual(['p/Über/é.txt']);
  });

  it('a name that is too long once it is decomposed is missing, and can be made', async () => {
    const { put, adapter, stub } = await open({});
    const path = Array.from({ length: 8 }, () => 'é'.repeat(60)).join('/');
    await expect(adapter.stat(at(path))).rejects.toMatchObject({ code: 'NOT_FOUND' });
    await put(path, 'x', { createOnly: true });
    expect(stub.objects.has(`p/${path}`)).toBe(true);
  });

  it('a file beside a folder of its name can be replaced, and not made', async () => {
    const { stub, put } = await open({});
    stub.put('p/both.txt', 'old');
    stub.put('p/both.txt/in.txt', 'in');
    stub.put('p/folder.txt/in.txt', 'in');
    await put('both.txt', 'new');
    expect(stub.objects.get('p/both.txt')?.bytes.toString()).toBe('new');
    await expect(put('both.txt', 'x', { createOnly: true })).rejects.toMatchObject({
      code: 'ALREADY_EXISTS',
    });
    await expect(put('folder.txt', 'x')).rejects.toMatchObject({ code: 'WRONG_KIND' });
  });

  it('a page of the web in place of a listing is no empty folder', async () => {
    for (const page of ['<html><body>Log in</body></html>', '']) {
      const { stub, adapter, put } = await open({ page });
      const list = async () => {
        for await (const entries of adapter.list(at(''))) expect(entries).toEqual([]);
      };
      await expect(list()).rejects.toMatchObject({ code: 'CORRUPT' });
      await expect(adapter.makeFolder(at('f'))).rejects.toMatchObject({ code: 'CORRUPT' });
      await expect(put('a.txt', 'a')).rejects.toMatchObject({ code: 'CORRUPT' });
      expect(stub.seen.length).toBeLessThan(20);
    }
  });

  it('an upload to what answers every question with a page ends, however many names are tried', async () => {
    const { stub } = await open({ page: '<html></html>' });
    const s3 = optionsFor({ endpoint: stub.endpoint, credentials }, 'bucket');
    const baseurl = 'http://cdn.test/';
    const sources = { cloud: { title: 'Cloud', baseurl, storageAdapter: 's3', s3 } };
    const app = createApp({ sources, extensions: ['txt'] }, {}, { logger: silent });
    onTestFinished(() => app.close());
    const form = new FormData();
    form.append('files[0]', new Blob(['text']), 'a.txt');
    const answer = await app.fetch(new Request('http://x/fileUpload', { method: 'POST', body: form }));
    expect(answer.status).toBe(500);
    expect(await answer.json()).toMatchObject({
      data: { messages: ['The storage returned damaged data.'] },
    });
    expect(stub.seen.length).toBeLessThan(50);
  });

  it('copying and moving folders of many objects is no leak in the eyes of Node', async () => {
    const stub = await S3Stub.start();
    const s3 = optionsFor({ endpoint: stub.endpoint, credentials }, 'bucket');
    const sources = { cloud: { title: 'Cloud', baseurl: 'http://cdn.test/', storageAdapter: 's3', s3 } };
    const app = createApp({ sources, extensions: ['txt'] }, {}, { logger: silent });
    const { port } = await app.listen(0, '127.0.0.1');
    const warnings: string[] = [];
    const note = ({ name, message }: Error): unknown => warnings.push(`${name}: ${message}`);
    process.on('warning', note);
    onTestFinished(async () => {
      process.off('warning', note);
      await app.close();
      await stub.close();
    });
    for (let number = 0; number < 40; number += 1) stub.put(`f/${String(number)}.txt`, 'x');
    for (const action of ['folderCopy?from=f&path=/', 'folderRename?name=f&newname=g'])
      expect((await fetch(`http://127.0.0.1:${String(port)}/${action}`)).status).toBe(200);
    expect([...stub.objects.keys()].filter((key) => key.startsWith('g/')).length).toBe(41);
    expect(warnings).toEqual([]);
  });

  it('a listing that does not say how it goes on is not taken for the whole, and nothing is removed by it', async () => {
    const { stub, adapter } = await open({ tokens: false });
    for (let number = 0; number < 1001; number += 1) stub.put(`p/f/${String(number)}.txt`, 'x');
    await expect(adapter.list(at('f')).next()).rejects.toMatchObject({ code: 'CORRUPT' });
    await expect(adapter.moveFolder(at('f'), at('g'))).rejects.toMatchObject({ code: 'CORRUPT' });
    expect([...stub.objects.keys()].filter((key) => key.startsWith('p/f/')).length).toBe(1001);
    expect([...stub.objects.keys()].filter((key) => key.startsWith('p/g/'))).toEqual([]);
  });

  it('a service that has only ListObjects, as Huawei OBS, is listed and removed beyond the first page', async () => {
    const { stub, adapter } = await open({ tokens: 'markers' });
    const names = Array.from({ length: 1005 }, (_, number) => `${String(number)} +ü%.txt`).sort();
    for (const name of names) stub.put(`p/f/${name}`, 'x');
    stub.put('p/f/zoo/1.txt', 'x');
    const found: string[] = [];
    for await (const page of adapter.list(at('f'))) found.push(...page.map(({ name }) => name));
    expect(found.sort()).toEqual([...names, 'zoo']);
    await adapter.removeFolder(at('f'));
    expect(stub.objects.size).toBe(0);
  });

  it('keys that are said to be encoded and are not are taken as they are', async () => {
    const { stub, adapter } = await open({ encodes: 'in name only' });
    stub.put('p/100%.txt', 'x');
    const names: string[] = [];
    for await (const entries of adapter.list(at(''))) names.push(...entries.map(({ name }) => name));
    expect(names).toEqual(['100%.txt']);
  });

  it('a listing of 5,000 images with their thumbnails costs at most 12 requests', async () => {
    const stub = await S3Stub.start();
    const source = {
      title: 'Bucket',
      baseurl: 'https://files.example/',
      storageAdapter: 's3',
      s3: optionsFor({ endpoint: stub.endpoint, credentials }, 'bucket', { prefix: 'p' }),
    };
    const app = createApp({ sources: { bucket: source } }, {}, { logger: silent });
    onTestFinished(async () => {
      await app.close();
      await stub.close();
    });
    for (let index = 0; index < 5000; index += 1) {
      stub.put(`p/photos/${index}.jpg`, 'x');
      stub.put(`p/photos/_thumbs/${index}.jpg`, 'x');
    }
    const answer = await app.fetch(new Request('http://localhost/files?path=photos'));
    const { data } = (await answer.json()) as { data: { sources: { files: { thumb?: string }[] }[] } };
    const files = data.sources[0]?.files ?? [];
    expect(files).toHaveLength(5000);
    expect(files.every(({ thumb }) => thumb?.startsWith('_thumbs/') === true)).toBe(true);
    expect(stub.seen.length).toBeLessThanOrEqual(12);
  });
});

describe('the factory of the s3 adapter', () => {
  it('names every problem of its options under its key', () => {
    const parse = createS3Factory().parseOptions;
    expect(
      parse?.({
        bukcet: 'b',
        region: '',
        connectTimeout: 0,
        credentials: { accessKeyId: 'a' },
        sseKmsKeyId: 'k',
      }),
    ).toEqual({
      problems: expect.arrayContaining([
        'bucket: is required',
        'bukcet: is not a known key',
        'region: must not be empty',
        'connectTimeout: must be more than 0 seconds',
        'credentials.secretAccessKey: is required',
      ]) as unknown,
    });
    expect(parse?.({ bucket: 'b--use1-az5--x-s3' })).toEqual({
      problems: ['bucket: must not be a directory bucket (S3 Express One Zone)'],
    });
    expect(parse?.({ bucket: 'b' })).toEqual({
      value: {
        bucket: 'b',
        region: 'us-east-1',
        prefix: '',
        connectTimeout: 10,
        readTimeout: 60,
        connections: 48,
        maxAttempts: 3,
      },
    });
  });
});

const ON_ODD = 'the s3 adapter on a service with an odd dialect';
// What its answers to requests decide.
const OF_DIALECT = ['stat', 'list', 'walk', 'write', 'folders', 'removal', 'copy', 'move', 'names'];
describeStorageConformance({ describe: describeThemes(ON_ODD, onlyThemes(OF_DIALECT)), it }, ON_ODD, {
  open: async () => {
    const stub = await S3Stub.start(ODD);
    return { adapter: adapterFor(stub), cleanup: () => stub.close() };
  },
});
