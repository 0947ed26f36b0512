import { randomUUID } from 'node:crypto';
import { buffer } from 'node:stream/consumers';
import { afterAll, afterEach, beforeAll, describe, expect, it } from 'vitest';
import { SourcePath, StowageError } from 'stowage/storage';
import { KnownServices, S3Adapter, parseS3Options } from '#internals';
import { inPieces, outcomeOf } from './outcomes.ts';
import { makeBucket, optionsFor, type PlainBucket } from '../../tools/test-servers/bucket.ts';
import { radosgwMissing, startRadosgw, type Radosgw } from '../../tools/test-servers/radosgw.ts';
import { S3Proxy, type Effect } from '../../tools/test-servers/s3-proxy.ts';

const at = (text: string) => SourcePath.parse(text);
const MB = 1024 * 1024;
const pattern = (seed: number): Uint8Array =>
  Uint8Array.from({ length: 4099 }, (_, index) => (index * 31 + seed + (index >> 5)) & 255);
/** Bytes in a period that no part size is a multiple of, so that a swapped or missing part shows. */
const bytesOf = (length: number, seed = 1): Buffer => Buffer.alloc(length, pattern(seed));

/** A short patience where the server stalls, a long one elsewhere: the machine may be busy. */
const patience = ({ kind }: Effect) => (kind.startsWith('stall') ? { readTimeout: 2 } : {});

describe.skipIf(radosgwMissing !== undefined)(
  `what goes wrong between the s3 adapter and its server${radosgwMissing === undefined ? '' : ` (skipped: ${radosgwMissing})`}`,
  () => {
    let server: Radosgw;
    let bucket: PlainBucket;
    let proxy: S3Proxy;
    const services = new KnownServices();
    const open: S3Adapter[] = [];

    beforeAll(async () => {
      server = await startRadosgw();
      bucket = await makeBucket(server);
      proxy = await S3Proxy.start(server.endpoint);
    });
    afterEach(async () => {
      proxy.reset();
      await Promise.all(open.splice(0).map((adapter) => adapter.close()));
    });
    afterAll(async () => {
      await proxy?.close();
      bucket?.client.destroy();
      await server?.stop();
    });

    const openStore = (more: Readonly<Record<string, unknown>> = {}) => {
      const prefix = randomUUID();
      const timeouts = { connectTimeout: 5, readTimeout: 30, maxAttempts: 2 };
      const input = optionsFor({ ...server, endpoint: proxy.endpoint }, bucket.name, {
        prefix,
        ...timeouts,
        ...more,
      });
      const parsed = parseS3Options(input);
      if ('problems' in parsed) throw new Error(parsed.problems.join('; '));
      const adapter = new S3Adapter(parsed.value, undefined, services);
      open.push(adapter);
      const put = (path: string, bytes: Buffer, options = {}) =>
        adapter.write(at(path), inPieces(bytes), options);
      return {
        adapter,
        prefix,
        put,
        text: async (path: string) => (await buffer((await adapter.read(at(path))).stream)).toString(),
        keys: () => bucket.keys(`${prefix}/`),
        uploads: () => bucket.uploads(`${prefix}/`),
      };
    };
    const secrets = () => [bucket.name, '127.0.0.1', 'testkey', 'testsecret', 'http'];

    const EVERY: readonly (readonly [what: string, effect: Effect, code: string])[] = [
      ['resets every connection', { kind: 'reset' }, 'STORAGE_UNAVAILABLE'],
      ['never answers', { kind: 'stall' }, 'STORAGE_TIMEOUT'],
      ['answers 500', { kind: 'answer', status: 500, code: 'InternalError' }, 'STORAGE_UNAVAILABLE'],
      ['answers 503', { kind: 'answer', status: 503, code: 'ServiceUnavailable' }, 'BUSY'],
      ['answers 503 with a code of its own', { kind: 'answer', status: 503, code: 'SlowDownRead' }, 'BUSY'],
      ['answers 401', { kind: 'answer', status: 401, code: 'Unauthorized' }, 'STORAGE_DENIED'],
      ['answers 403', { kind: 'answer', status: 403, code: 'AccessDenied' }, 'STORAGE_DENIED'],
      ['answers 507', { kind: 'answer', status: 507, code: 'InsufficientStorage' }, 'STORAGE_FULL'],
    ];
    it.each(EVERY)(
      'a service that %s ends every operation in the right error and changes nothing',
      async (_what, effect, code) => {
        const { adapter, put, keys, uploads } = openStore(patience(effect));
        await put('f/a.txt', Buffer.from('a'));
        await put('first.txt', Buffer.from('x'), { createOnly: true });
        const before = await keys();
        proxy.fail({ operation: '*', effect });
        const operations: Readonly<Record<string, () => Promise<unknown>>> = {
          stat: () => adapter.stat(at('f/a.txt')),
          list: async () => {
            for await (const page of adapter.list(at('f'))) expect(page).toBeDefined();
          },
          read: () => adapter.read(at('f/a.txt')),
          write: () => put('f/b.txt', Buffer.from('b')),
          create: () => put('f/b.txt', Buffer.from('b'), { createOnly: true }),
          large: () => put('f/b.bin', bytesOf(9 * MB), { size: 9 * MB }),
          makeFolder: () => adapter.makeFolder(at('g')),
          removeFile: () => adapter.removeFile(at('f/a.txt')),
          removeFolder: () => adapter.removeFolder(at('f')),
          copyFile: () => adapter.copyFile(at('f/a.txt'), at('f/c.txt')),
          moveFile: () => adapter.moveFile(at('f/a.txt'), at('f/c.txt'), { createOnly: true }),
          copyFolder: () => adapter.copyFolder(at('f'), at('g')),
          moveFolder: () => adapter.moveFolder(at('f'), at('g')),
        };
        const outcomes = await Promise.all(
          Object.entries(operations).map(async ([name, run]) => [name, await outcomeOf(run(), secrets())]),
        );
        expect(outcomes).toEqual(Object.keys(operations).map((name) => [name, code]));
        proxy.reset();
        expect(await keys()).toEqual(before);
        expect(await uploads()).toEqual([]);
      },
    );

    it('errors name the path for the log, and neither key id nor host nor bucket', async () => {
      const { adapter, put } = openStore();
      await put('f/a.txt', Buffer.from('a'));
      proxy.fail({ operation: '*', effect: { kind: 'answer', status: 403, code: 'AccessDenied' } });
      const error: unknown = await adapter.read(at('f/a.txt')).catch((reason: unknown) => reason);
      expect(error).toBeInstanceOf(StowageError);
      const { detail } = error as StowageError;
      expect(detail).toMatch(/^GetObject \S*f\/a\.txt failed \(AccessDenied, 403\)$/u);
      for (const secret of secrets()) expect(detail).not.toContain(secret);
    });

    it('SlowDown is a busy service, and one that recovers is not noticed', async () => {
      const { put, text } = openStore();
      const effect: Effect = { kind: 'answer', status: 503, code: 'SlowDown' };
      proxy.fail({ operation: 'PutObject', effect });
      expect(await outcomeOf(put('a.txt', Buffer.from('a')), secrets())).toBe('BUSY');
      proxy.fail({ operation: 'PutObject', effect, times: 1 }, { operation: 'GetObject', effect, times: 1 });
      await put('a.txt', Buffer.from('recovered'));
      expect(await text('a.txt')).toBe('recovered');
    });

    it('a port without a listener is an unavailable storage', async () => {
      const { adapter } = openStore({ endpoint: 'http://127.0.0.1:1' });
      expect(await outcomeOf(adapter.stat(at('a.txt')), secrets())).toBe('STORAGE_UNAVAILABLE');
    });

    it('wrong credentials and a missing bucket are told by cause, without their names', async () => {
      const wrong = openStore({ credentials: { accessKeyId: 'testkey', secretAccessKey: 'wrong' } });
      expect(await outcomeOf(wrong.adapter.stat(at('a.txt')), secrets())).toBe('STORAGE_DENIED');
      const lost = openStore({ bucket: 'no-such-bucket' });
      expect(await outcomeOf(lost.adapter.stat(at('a.txt')), ['no-such-bucket'])).toBe('STORAGE_UNAVAILABLE');
    });

    const READS: readonly (readonly [what: string, effect: Effect, codes: readonly string[]])[] = [
      ['is reset in the middle', { kind: 'cut' }, ['STORAGE_UNAVAILABLE']],
      ['stalls in the middle', { kind: 'stall-answer' }, ['STORAGE_TIMEOUT']],
    ];
    it.each(READS)('a download that %s breaks with the right error', async (_what, effect, codes) => {
      const { adapter, put } = openStore(patience(effect));
      await put('a.bin', bytesOf(2 * MB));
      proxy.fail({ operation: 'GetObject', effect });
      const { stream } = await adapter.read(at('a.bin'));
      expect(codes).toContain(await outcomeOf(buffer(stream), secrets()));
    });

    it('a range that comes back shorter than asked for is damaged data', async () => {
      const { adapter, put } = openStore();
      await put('a.bin', bytesOf(MB));
      proxy.fail({ operation: 'GetObject', effect: { kind: 'short' } });
      const { stream } = await adapter.read(at('a.bin'), { range: { start: 10, end: 9999 } });
      expect(await outcomeOf(buffer(stream), secrets())).toBe('CORRUPT');
    });

    const UPLOADS: readonly (readonly [what: string, operation: string, effect: Effect])[] = [
      ['whose first part is reset', 'UploadPart', { kind: 'cut-upload' }],
      ['whose parts are no longer taken', 'UploadPart', { kind: 'stall-upload' }],
      ['whose parts are refused', 'UploadPart', { kind: 'answer', status: 403, code: 'AccessDenied' }],
      [
        'whose completion is refused',
        'CompleteMultipartUpload',
        { kind: 'answer', status: 500, code: 'InternalError' },
      ],
    ];
    it.each(UPLOADS)(
      'an upload in parts %s leaves the old file and no parts',
      async (_what, operation, effect) => {
        const { put, text, keys, uploads } = openStore(patience(effect));
        await put('a.bin', Buffer.from('old'));
        proxy.fail({ operation, effect });
        expect(await outcomeOf(put('a.bin', bytesOf(20 * MB)), secrets())).toMatch(/^STORAGE_/u);
        proxy.reset();
        expect(await uploads()).toEqual([]);
        expect(await keys()).toEqual(['a.bin']);
        expect(await text('a.bin')).toBe('old');
      },
    );

    it.each([{ kind: 'cut-upload' }, { kind: 'stall-upload' }] satisfies Effect[])(
      'a large create-only upload that meets $kind leaves nothing',
      async (effect) => {
        const { put, keys, uploads } = openStore(patience(effect));
        await put('learn.txt', Buffer.from('x'), { createOnly: true });
        proxy.fail({ operation: 'PutObject', effect });
        const options = { createOnly: true, size: 20 * MB };
        expect(await outcomeOf(put('a.bin', bytesOf(20 * MB), options), secrets())).toMatch(/^STORAGE_/u);
        proxy.reset();
        expect(await keys()).toEqual(['learn.txt']);
        expect(await uploads()).toEqual([]);
      },
    );

    it('answers that get lost are no failures: what was done is found, under one name', async () => {
      const { adapter, put, text, keys, uploads } = openStore();
      await put('learn.txt', Buffer.from('x'), { createOnly: true });
      const lost = (operation: string) => proxy.fail({ operation, effect: { kind: 'lose' }, times: 1 });
      lost('PutObject');
      await put('created.txt', Buffer.from('created'), { createOnly: true });
      lost('PutObject');
      await adapter.makeFolder(at('folder'));
      lost('CompleteMultipartUpload');
      await put('large.bin', bytesOf(17 * MB));
      lost('CopyObject');
      await adapter.moveFile(at('created.txt'), at('moved.txt'), { createOnly: true });
      lost('DeleteObject');
      await adapter.removeFile(at('learn.txt'));
      // The response to the only attempt.
      const once = openStore({ maxAttempts: 1 });
      await once.put('a.txt', Buffer.from('a'));
      lost('DeleteObject');
      await once.adapter.moveFile(at('a.txt'), at('b.txt'), { createOnly: true });
      proxy.reset();
      expect(await once.keys()).toEqual(['b.txt']);
      expect(await keys()).toEqual(['folder/', 'large.bin', 'moved.txt']);
      expect(await uploads()).toEqual([]);
      expect(await text('moved.txt')).toBe('created');
      const { stream } = await adapter.read(at('large.bin'));
      expect((await buffer(stream)).equals(bytesOf(17 * MB))).toBe(true);
    });

    it('an upload in parts of somebody else under the same name goes on while ours begins anew', async () => {
      const { put, prefix, uploads, text } = openStore();
      await bucket.beginUpload(`${prefix}/a.bin`);
      proxy.fail({ operation: 'CreateMultipartUpload', effect: { kind: 'lose' }, times: 1 });
      await put('a.bin', bytesOf(9 * MB));
      // The other one, and what our lost first attempt began, which holds nothing.
      expect(await uploads()).toEqual(['a.bin', 'a.bin']);
      expect(await text('a.bin')).toHaveLength(bytesOf(9 * MB).toString().length);
    });

    it('an upload or copy in parts whose caller leaves while it begins leaves no parts', async () => {
      const { adapter, put, keys, uploads } = openStore();
      await put('a.bin', bytesOf(9 * MB));
      const begun = [
        (signal: AbortSignal) => put('b.bin', bytesOf(9 * MB), { signal }),
        (signal: AbortSignal) => adapter.copyFile(at('a.bin'), at('b.bin'), { signal }),
      ];
      for (const begin of begun) {
        const leaving = new AbortController();
        proxy.reset();
        proxy.before('CreateMultipartUpload', 1, async () => leaving.abort());
        await expect(begin(leaving.signal)).rejects.toThrow('aborted');
        expect([await keys(), await uploads()]).toEqual([['a.bin'], []]);
      }
    });

    it('a folder move that fails while copying leaves the source whole and nothing else', async () => {
      const { adapter, put, keys } = openStore();
      for (let index = 0; index < 22; index += 1) await put(`f/${index}.txt`, Buffer.from(String(index)));
      await put('f/large.bin', bytesOf(9 * MB));
      const before = await keys();
      for (const operation of ['CopyObject', 'UploadPartCopy', 'CompleteMultipartUpload']) {
        proxy.fail({
          operation,
          effect: { kind: 'answer', status: 403, code: 'AccessDenied' },
          from: operation === 'CopyObject' ? 18 : 1,
        });
        expect(await outcomeOf(adapter.moveFolder(at('f'), at('g')), secrets())).toBe('STORAGE_DENIED');
        expect(await outcomeOf(adapter.copyFolder(at('f'), at('g')), secrets())).toBe('STORAGE_DENIED');
        proxy.reset();
        expect(await keys()).toEqual(before);
      }
    });
  },
);
