import { Readable } from 'node:stream';
import { buffer, text } from 'node:stream/consumers';
import { inspect } from 'node:util';
import { setImmediate as turn, setTimeout as sleep } from 'node:timers/promises';
import { describe, expect, it, onTestFinished, vi } from 'vitest';
import { SourcePath, UnsupportedError } from 'stowage/storage';
import { KnownServices, measure, S3Adapter, parseS3Options } from '#internals';
import type { Support } from '../../packages/stowage/dist/adapters/objects/s3/known-services.js';
import { memoryInUse } from '../memory-in-use.ts';
import { replacing } from '../protocol/changing-store.ts';
import { inPieces } from './outcomes.ts';
import { optionsFor } from '../../tools/test-servers/bucket.ts';
import { S3Proxy } from '../../tools/test-servers/s3-proxy.ts';
import type { StoredObject } from '../../tools/test-servers/s3-listing.ts';
import { S3Stub, type Dialect } from '../../tools/test-servers/s3-stub.ts';

const MB = 1024 * 1024;
const at = (path: string) => SourcePath.parse(path);
const credentials = { accessKeyId: 'testkey', secretAccessKey: 'testsecret' };
const aws: Support = { create: true, match: 'quoted', complete: true, copy: true, remove: true };
const likeAws: Dialect = {
  conditionalCopy: 'obeyed',
  conditionalDelete: 'obeyed',
  conditionalComplete: 'obeyed',
};
const taken = { code: 'ALREADY_EXISTS' };

/** A store whose requests go through the proxy to a stub. */
const open = async (dialect: Dialect, support?: Support, more: Readonly<Record<string, unknown>> = {}) => {
  const stub = await S3Stub.start(dialect);
  const proxy = await S3Proxy.start(stub.endpoint);
  const { endpoint } = proxy;
  const parsed = parseS3Options(optionsFor({ endpoint, credentials }, 'bucket', { prefix: 'p', ...more }));
  if ('problems' in parsed) throw new Error(parsed.problems.join('; '));
  const services = new KnownServices();
  if (support !== undefined) services.set(`${endpoint} bucket`, support);
  const adapter = new S3Adapter(parsed.value, undefined, services);
  const another = new S3Adapter(parsed.value, undefined, new KnownServices());
  onTestFinished(async () => {
    await Promise.all([adapter.close(), another.close()]);
    await proxy.close();
    await stub.close();
  });
  const put = (path: string, content: string | Buffer, options = {}) =>
    adapter.write(at(path), inPieces(Buffer.from(content)), options);
  const names = async (folder: string, onOmitted?: (count: number) => void) => {
    const found: string[] = [];
    for await (const page of adapter.list(at(folder), { onOmitted }))
      found.push(...page.map(({ name }) => name));
    return found.sort();
  };
  const stored = (key: string) => stub.objects.get(`p/${key}`)?.bytes.toString();
  const keys = () => [...stub.objects.keys()].map((key) => key.slice(2)).sort();
  return { stub, proxy, adapter, another, put, names, stored, keys };
};

const answer = (status: number, code: string) => ({ kind: 'answer', status, code }) as const;

describe('copies above 8 MB', () => {
  it.each(['absent', 'unconditional'] as const)(
    'are made where copies of parts are %s',
    async (partCopies) => {
      const { stub, adapter, put, keys } = await open({ partCopies });
      const large = Buffer.alloc(9 * MB, 'large');
      await put('a.bin', large);
      await adapter.copyFile(at('a.bin'), at('b.bin'), { createOnly: true });
      await adapter.moveFile(at('b.bin'), at('c.bin'), { createOnly: true });
      await put('f/d.bin', large);
      await adapter.moveFolder(at('f'), at('g'));
      expect(keys()).toEqual(['a.bin', 'c.bin', 'g/', 'g/d.bin']);
      for (const key of keys().filter((one) => !one.endsWith('/')))
        expect(stub.objects.get(`p/${key}`)?.bytes.equals(large)).toBe(true);
      expect(stub.uploads.size).toBe(0);
    },
  );

  it('are of one version: a source that is replaced between two parts fails the copy', async () => {
    const { proxy, stub, adapter, put, keys } = await open({});
    await put('a.bin', Buffer.alloc(40 * MB, 'a'));
    proxy.before('UploadPartCopy', 3, async () =>
      stub.put('p/a.bin', Buffer.alloc(40 * MB, 'b'), {}, '"other"'),
    );
    await expect(adapter.copyFile(at('a.bin'), at('b.bin'))).rejects.toMatchObject({
      code: 'CHANGED_MEANWHILE',
    });
    expect(keys()).toEqual(['a.bin']);
  });
});

describe('a name that is reserved for a copy, as only PutObject has conditions,', () => {
  const createOnly = { createOnly: true };
  const old = 700_000;

  /** A store whose conditions are known. `leave` puts a reservation where a process was killed before its copy. */
  const openReserving = async (clockAhead = 0, more = {}) => {
    const opened = await open({ clockAhead }, undefined, more);
    const { stub, proxy, adapter, put } = opened;
    await put('a.txt', 'a', createOnly);
    const reservations: StoredObject[] = [];
    const copy = (to: string, options = {}) =>
      adapter.copyFile(at('a.txt'), at(to), { ...createOnly, ...options });
    const leave = (key: string, ageMs: number, number = 0) => {
      const [left] = reservations.slice(number);
      if (left !== undefined)
        stub.objects.set(`p/${key}`, { ...left, modifiedAt: new Date(Date.now() + clockAhead - ageMs) });
    };
    for (const _first of [true, false]) {
      leave('sample.txt', old);
      proxy.before('CopyObject', 1, async () => {
        const reserved = stub.objects.get('p/sample.txt');
        if (reserved !== undefined) reservations.push(reserved);
      });
      await copy('sample.txt');
    }
    expect(new Set(reservations.map(({ etag }) => etag)).size).toBe(2);
    expect(reservations[0]?.headers['cache-control']).toBe('no-store');
    await adapter.removeFile(at('sample.txt'));
    proxy.reset();
    return { ...opened, copy, leave };
  };

  it('is no file, and free again ten minutes after its process was killed', async () => {
    const { adapter, put, names, stored, copy, leave } = await openReserving();
    for (const take of [() => put('f/x.txt', 'a', createOnly), () => copy('f/x.txt')]) {
      leave('f/x.txt', 0);
      expect(await names('f')).toEqual([]);
      const view = () => ({ enters: () => true, wants: () => true });
      for await (const { found } of adapter.walk(at(''), { detail: 'full', words: [], most: 100, view }))
        expect(found.map(({ path }) => path.toString())).not.toContain('f/x.txt');
      const missing = { code: 'NOT_FOUND' };
      await expect(adapter.stat(at('f/x.txt'))).rejects.toMatchObject(missing);
      await expect(adapter.read(at('f/x.txt'))).rejects.toMatchObject(missing);
      await expect(take()).rejects.toMatchObject(taken);
      leave('f/x.txt', old);
      await take();
      expect(await names('f')).toEqual(['x.txt']);
      expect(stored('f/x.txt')).toBe('a');
      await expect(take()).rejects.toMatchObject(taken);
    }
  });

  it('is free for the first copy of a new process', async () => {
    const { another, stored, leave } = await openReserving();
    leave('x.txt', old);
    await another.copyFile(at('a.txt'), at('x.txt'), createOnly);
    expect(stored('x.txt')).toBe('a');
  });

  it('stays in a folder that is moved, with the copy that another process makes meanwhile', async () => {
    const { stub, proxy, adapter, put, stored, keys, leave } = await openReserving();
    await put('f/b.txt', 'b');
    leave('f/x.txt', 0);
    proxy.before('DeleteObjects', 1, async () => stub.put('p/f/x.txt', 'theirs'));
    await expect(adapter.moveFolder(at('f'), at('g'))).rejects.toMatchObject({ code: 'MOVED_IN_PART' });
    expect(keys()).toEqual(['a.txt', 'f/x.txt', 'g/', 'g/b.txt']);
    expect(stored('f/x.txt')).toBe('theirs');
  });

  it('is taken over by one process only', async () => {
    const { stub, proxy, put, stored, copy, leave } = await openReserving();
    for (const [others, take] of [
      [() => leave('x.txt', 0, 1), () => copy('x.txt')],
      [() => leave('x.txt', 0, 1), () => put('x.txt', 'mine', createOnly)],
      [() => stub.put('p/x.txt', 'theirs'), () => copy('x.txt')],
    ] as const) {
      leave('x.txt', old);
      proxy.before('PutObject', 2, async () => others());
      await expect(take()).rejects.toMatchObject(taken);
      proxy.reset();
    }
    expect(stored('x.txt')).toBe('theirs');
  });

  it('is free again after a copy that failed or was aborted, and given where answers were lost', async () => {
    const { proxy, adapter, put, keys, copy } = await openReserving();
    proxy.fail({ operation: 'CopyObject', effect: answer(403, 'AccessDenied'), times: 1 });
    await expect(copy('b.txt')).rejects.toMatchObject({ code: 'STORAGE_DENIED' });
    const abort = new AbortController();
    const reason = new Error('enough');
    proxy.before('PutObject', 1, async () => abort.abort(reason));
    await expect(copy('b.txt', { signal: abort.signal })).rejects.toBe(reason);
    await put('large.bin', Buffer.alloc(9 * MB, 'l'));
    const large = () => adapter.copyFile(at('large.bin'), at('b.bin'), createOnly);
    proxy.fail({ operation: 'CompleteMultipartUpload', effect: answer(403, 'AccessDenied'), times: 1 });
    await expect(large()).rejects.toMatchObject({ code: 'STORAGE_DENIED' });
    expect(keys()).toEqual(['a.txt', 'large.bin']);
    const lost = ['PutObject', 'CopyObject', 'CompleteMultipartUpload'];
    proxy.fail(...lost.map((operation) => ({ operation, effect: { kind: 'lose' as const }, times: 1 })));
    await copy('b.txt');
    await large();
    expect(keys()).toEqual(['a.txt', 'b.bin', 'b.txt', 'large.bin']);
  });

  it('moves and goes with its folder', async () => {
    const { adapter, put, keys, leave } = await openReserving();
    await put('f/b.txt', 'b');
    leave('f/x.txt', old);
    await adapter.copyFolder(at('f'), at('copied'));
    await adapter.moveFolder(at('f'), at('g'));
    expect(keys()).toEqual(['a.txt', 'copied/', 'copied/b.txt', 'g/', 'g/b.txt']);
    leave('g/x.txt', old);
    await adapter.removeFolder(at('g'));
    expect(keys()).toEqual(['a.txt', 'copied/', 'copied/b.txt']);
  });

  it('is in use while a completion runs whose caller has gone', async () => {
    const { proxy, adapter, another, put, stored } = await openReserving();
    const large = Buffer.alloc(9 * MB, 'l');
    await put('large.bin', large);
    let release = (): void => undefined;
    const after = new Promise<void>((resolve) => (release = resolve));
    const abort = new AbortController();
    proxy.fail({ operation: 'CompleteMultipartUpload', effect: { kind: 'late', after }, times: 1 });
    const begun = new Promise<void>((resolve) => {
      proxy.before('CompleteMultipartUpload', 1, async () => void setImmediate(resolve));
    });
    const copying = adapter
      .copyFile(at('large.bin'), at('b.bin'), { ...createOnly, signal: abort.signal })
      .catch(() => undefined);
    await begun;
    abort.abort();
    // It waits for the completion, which waits here.
    await Promise.race([copying, sleep(300)]);
    const theirs = another.write(at('b.bin'), inPieces(Buffer.from('theirs')), createOnly);
    await expect(theirs).rejects.toMatchObject(taken);
    release();
    await copying;
    expect(stored('b.bin')).toBe(large.toString());
  });

  it.each([-900_000, 900_000])(
    'is in use by the clock of the service, which is %i ms ahead of that of the process',
    async (clockAhead) => {
      const { adapter, put, keys, copy, leave } = await openReserving(clockAhead);
      await put('f/b.txt', 'b');
      leave('f/x.txt', old - 200_000);
      for (const take of [() => put('f/x.txt', 'mine', createOnly), () => copy('f/x.txt')])
        await expect(take()).rejects.toMatchObject(taken);
      await expect(adapter.moveFolder(at('f'), at('g'))).rejects.toMatchObject({ code: 'MOVED_IN_PART' });
      expect(keys()).toEqual(['a.txt', 'f/x.txt', 'g/', 'g/b.txt']);
      leave('g/x.txt', old);
      await copy('g/x.txt');
      expect(keys()).toContain('g/x.txt');
    },
  );

  it('is free again for its process after an outage that began before the copy', async () => {
    const { proxy, another, put, stored, keys, copy } = await openReserving();
    for (const take of [() => put('x.txt', 'a', createOnly), () => copy('x.txt')]) {
      proxy.before('CopyObject', 1, async () => proxy.fail({ operation: '*', effect: { kind: 'reset' } }));
      await expect(copy('x.txt')).rejects.toMatchObject({ code: 'STORAGE_UNAVAILABLE' });
      proxy.reset();
      expect(keys()).toContain('x.txt');
      await expect(another.copyFile(at('a.txt'), at('x.txt'), createOnly)).rejects.toMatchObject(taken);
      await take();
      expect(stored('x.txt')).toBe('a');
      await another.removeFile(at('x.txt'));
    }
    // Not that of another process, which came after it.
    proxy.before(
      'CopyObject',
      1,
      async () => void (await expect(copy('x.txt')).rejects.toMatchObject(taken)),
    );
    await another.copyFile(at('a.txt'), at('x.txt'), createOnly);
    expect(stored('x.txt')).toBe('a');
  });

  it('is not used or freed by its former process when another has reserved it since', async () => {
    const { proxy, another, put, stored, keys, copy } = await openReserving();
    const theirs = (to: string) => another.copyFile(at('a.txt'), at(to), createOnly);
    await theirs('sample.txt');
    // Removed with its folder after an outage.
    proxy.before('CopyObject', 1, async () => proxy.fail({ operation: '*', effect: { kind: 'reset' } }));
    await expect(copy('f/x.txt')).rejects.toMatchObject({ code: 'STORAGE_UNAVAILABLE' });
    proxy.reset();
    await another.removeFolder(at('f'));
    const outcomes: unknown[] = [];
    const note = (error?: unknown) => outcomes.push(error);
    proxy.before('CopyObject', 1, async () => copy('f/x.txt').then(note, note));
    await theirs('f/x.txt');
    expect(outcomes).toMatchObject([taken]);
    // Removed with its folder during a copy that fails.
    await put('g/a.txt', 'a');
    proxy.before('CopyObject', 1, async () => {
      await another.removeFolder(at('g'));
      proxy.fail({ operation: 'CopyObject', effect: answer(403, 'AccessDenied'), times: 1 });
      let copying: Promise<unknown> = Promise.resolve();
      await new Promise<void>((resolve) => {
        proxy.before('CopyObject', 1, async () => {
          resolve();
          await mine;
          outcomes.push(keys().includes('g/x.txt'));
        });
        copying = theirs('g/x.txt');
      });
      void copying;
    });
    const mine = copy('g/x.txt').then(note, note);
    await mine;
    await expect.poll(() => stored('g/x.txt')).toBe('a');
    expect(outcomes.slice(1)).toMatchObject([{ code: 'STORAGE_DENIED' }, true]);
  });

  it('is free again for its process after an outage that began with the reservation', async () => {
    const { proxy, stored, keys, copy } = await openReserving();
    proxy.fail({ operation: 'PutObject', effect: { kind: 'lose' } });
    proxy.before('PutObject', 3, async () => proxy.fail({ operation: '*', effect: { kind: 'reset' } }));
    await expect(copy('x.txt')).rejects.toMatchObject({ code: 'STORAGE_UNAVAILABLE' });
    proxy.reset();
    expect(keys()).toContain('x.txt');
    await copy('x.txt');
    expect(stored('x.txt')).toBe('a');
  });

  it('is in use while the service may still make the copy that it has not made in time', async () => {
    const { stub, proxy, adapter, put, stored } = await openReserving(0, { readTimeout: 1, maxAttempts: 1 });
    const large = 'l'.repeat(9 * MB);
    await put('large.bin', large);
    for (const [operation, from, content] of [
      ['CopyObject', 'a.txt', 'a'],
      ['CompleteMultipartUpload', 'large.bin', large],
    ] as const) {
      let release = (): void => undefined;
      const after = new Promise<void>((resolve) => (release = resolve));
      // The service completes what it has begun.
      const aborting = answer(404, 'NoSuchUpload');
      proxy.fail(
        { operation, effect: { kind: 'late', after } },
        { operation: 'AbortMultipartUpload', effect: aborting },
      );
      const copying = adapter.copyFile(at(from), at('x.txt'), createOnly);
      await expect(copying).rejects.toMatchObject({ code: 'STORAGE_TIMEOUT' });
      await expect(put('x.txt', 'mine', createOnly)).rejects.toMatchObject(taken);
      release();
      await expect.poll(() => stored('x.txt') === content).toBe(true);
      stub.objects.delete('p/x.txt');
    }
  });

  it('keeps an empty folder only until it is left', async () => {
    const { proxy, adapter, keys, leave } = await openReserving();
    await adapter.makeFolder(at('f/e'));
    leave('f/e/x.txt', 0);
    await expect(adapter.removeEmptyFolder(at('f/e'))).rejects.toMatchObject({ code: 'NOT_EMPTY' });
    leave('f/e/x.txt', old);
    leave('f/e/y.txt', old);
    const body =
      '<DeleteResult><Error><Key>p/f/e/y.txt</Key><Code>AccessDenied</Code></Error></DeleteResult>';
    proxy.fail({ operation: 'DeleteObjects', effect: { kind: 'answer', status: 200, body }, times: 1 });
    await expect(adapter.removeEmptyFolder(at('f/e'))).rejects.toMatchObject({ code: 'STORAGE_DENIED' });
    await adapter.removeEmptyFolder(at('f/e'));
    expect(keys()).toEqual(['a.txt', 'f/']);
  });

  it('is only looked up where an ETag is no digest', async () => {
    const { stub, adapter, put } = await open({ randomEtags: true });
    await put('a.txt', 'a', createOnly);
    stub.seen.length = 0;
    await adapter.copyFile(at('a.txt'), at('b.txt'), createOnly);
    expect(stub.seen.sort()).toEqual(['CopyObject', 'HeadObject', 'HeadObject', 'ListObjectsV2']);
  });
});

describe('conditional copies', () => {
  it('are trusted after a trial, and one that applies to the source is not', async () => {
    for (const [conditionalCopy, sent] of [
      ['obeyed', ['CopyObject', 'HeadObject', 'ListObjectsV2']],
      ['ignored', ['CopyObject', 'HeadObject', 'ListObjectsV2', 'PutObject']],
      ['refused', ['CopyObject', 'HeadObject', 'ListObjectsV2', 'PutObject']],
      ['of the source', ['CopyObject', 'HeadObject', 'ListObjectsV2', 'PutObject']],
    ] as const) {
      const { stub, adapter, put } = await open({ conditionalCopy });
      await put('a.txt', 'a', { createOnly: true });
      stub.seen.length = 0;
      await adapter.copyFile(at('a.txt'), at('b.txt'), { createOnly: true });
      expect(stub.seen.sort()).toEqual(sent);
      await expect(adapter.copyFile(at('a.txt'), at('b.txt'), { createOnly: true })).rejects.toMatchObject(
        taken,
      );
    }
  });

  it('have the header of R2', async () => {
    const { stub, put, adapter } = await open({ conditionalCopy: 'as in R2' });
    await put('a.txt', 'a', { createOnly: true });
    stub.seen.length = 0;
    await adapter.copyFile(at('a.txt'), at('b.txt'), { createOnly: true });
    expect(stub.seen).not.toContain('PutObject');
  });
});

describe('conditional writes', () => {
  it('are still trusted after a first try that failed for another reason', async () => {
    const { proxy, adapter, put } = await open({});
    proxy.fail({ operation: 'PutObject', effect: answer(400, 'ExpiredToken'), times: 1 });
    await expect(put('a.txt', 'a', { createOnly: true })).rejects.toMatchObject({ code: 'STORAGE_DENIED' });
    await put('a.txt', 'a', { createOnly: true });
    expect(adapter.capabilities).toMatchObject({ atomicCreate: true, ifMatch: true });
  });

  it('are sent again when the service reports a conflict for the moment', async () => {
    const { proxy, adapter, put, keys } = await open(likeAws, aws);
    const conflict = answer(409, 'ConditionalRequestConflict');
    proxy.fail({ operation: 'PutObject', effect: conflict, times: 1 });
    await put('a.txt', 'a', { createOnly: true });
    proxy.fail({ operation: 'DeleteObject', effect: conflict, times: 1 });
    await adapter.moveFile(at('a.txt'), at('b.txt'), { createOnly: true });
    expect(keys()).toEqual(['b.txt']);
    // A conflict that stays may be with an attempt of our own that had no answer: the copy is not removed.
    proxy.fail({ operation: 'DeleteObject', effect: conflict, times: 3 });
    const move = () => adapter.moveFile(at('b.txt'), at('c.txt'), { createOnly: true });
    await expect(move()).rejects.toMatchObject({ code: 'MOVED_IN_PART' });
    expect(keys()).toEqual(['b.txt', 'c.txt']);
  });

  it('of another tool, copied under a key of a key service, are recognised by their content', async () => {
    const { proxy, stub, adapter, keys, stored } = await open({ ...likeAws, randomEtags: true }, aws);
    const move = (from: string, to: string) => adapter.moveFile(at(from), at(to), { createOnly: true });
    stub.put('p/a.txt', 'content');
    proxy.fail({ operation: 'CopyObject', effect: { kind: 'lose' }, times: 1 });
    await move('a.txt', 'b.txt');
    expect(keys()).toEqual(['b.txt']);
    // This one had no effect, and something else of the same size has the name.
    proxy.fail({ operation: 'CopyObject', effect: { kind: 'reset' }, times: 1 });
    proxy.before('CopyObject', 1, async () => stub.put('p/c.txt', 'CONTENT'));
    await expect(move('b.txt', 'c.txt')).rejects.toMatchObject(taken);
    expect([stored('b.txt'), stored('c.txt')]).toEqual(['content', 'CONTENT']);
  });

  it('are removed again after a refused move only where they are new, and still our own', async () => {
    const { proxy, stub, adapter, put, stored } = await open({});
    const refuse = () =>
      proxy.fail({ operation: 'DeleteObject', effect: answer(403, 'AccessDenied'), times: 1 });
    await put('a.txt', 'new', { createOnly: true });
    await put('b.txt', 'old');
    refuse();
    await expect(adapter.moveFile(at('a.txt'), at('b.txt'))).rejects.toMatchObject({
      code: 'STORAGE_DENIED',
    });
    expect(stored('b.txt')).toBe('new');
    proxy.before('DeleteObject', 1, async () => stub.put('p/c.txt', 'theirs'));
    refuse();
    const move = adapter.moveFile(at('a.txt'), at('c.txt'), { createOnly: true });
    await expect(move).rejects.toMatchObject({ code: 'STORAGE_DENIED' });
    expect([stored('a.txt'), stored('c.txt')]).toEqual(['new', 'theirs']);
  });

  it.each(['digests', 'random'])('whose answer is lost are recognised where ETags are %s', async (etags) => {
    const dialect = etags === 'random' ? { ...likeAws, randomEtags: true as const } : likeAws;
    const { proxy, adapter, put, keys, stored } = await open(dialect, aws);
    const lose = (operation: string) => proxy.fail({ operation, effect: { kind: 'lose' }, times: 1 });
    lose('PutObject');
    await put('a.txt', 'a', { createOnly: true });
    lose('PutObject');
    await adapter.makeFolder(at('f'));
    lose('CompleteMultipartUpload');
    await put('large.bin', Buffer.alloc(9 * MB), { createOnly: true });
    lose('CopyObject');
    await adapter.moveFile(at('a.txt'), at('b.txt'), { createOnly: true });
    // AWS answers the second attempt with 404.
    lose('DeleteObject');
    await adapter.moveFile(at('b.txt'), at('c.txt'), { createOnly: true });
    expect(keys()).toEqual(['c.txt', 'f/', 'large.bin']);
    expect(stored('c.txt')).toBe('a');
  });

  it('of copies are still trusted after AWS has called something else an invalid argument', async () => {
    const { proxy, stub, adapter, put, stored } = await open(likeAws, aws);
    await put('a.txt', 'mine');
    proxy.fail({ operation: 'CopyObject', effect: answer(400, 'InvalidArgument'), times: 1 });
    const copy = () => adapter.copyFile(at('a.txt'), at('b.txt'), { createOnly: true });
    await expect(copy()).rejects.toMatchObject({ code: 'STORAGE_UNAVAILABLE' });
    proxy.before('CopyObject', 1, async () => stub.put('p/b.txt', 'theirs'));
    await expect(copy()).rejects.toMatchObject(taken);
    expect(stored('b.txt')).toBe('theirs');
  });

  it('of a version that is gone by now are refused where AWS calls it not found', async () => {
    const { proxy, stub, put, keys } = await open({ ...likeAws, missingVersion: 404 }, aws);
    const { etag: ifMatch } = await put('a.bin', 'a');
    const changed = { code: 'CHANGED_MEANWHILE' };
    await expect(put('b.txt', 'b', { ifMatch })).rejects.toMatchObject(changed);
    proxy.before('CompleteMultipartUpload', 1, async () => stub.objects.delete('p/a.bin'));
    await expect(put('a.bin', Buffer.alloc(9 * MB), { ifMatch })).rejects.toMatchObject(changed);
    expect(keys()).toEqual([]);
    expect(stub.uploads.size).toBe(0);
  });

  it('onto an equal object of somebody else are refused, also when an answer was lost', async () => {
    const { proxy, stub, put } = await open({});
    await put('learn.txt', 'x', { createOnly: true });
    stub.put('p/a.txt', 'equal');
    await expect(put('a.txt', 'equal', { createOnly: true })).rejects.toMatchObject(taken);
    proxy.fail({ operation: 'PutObject', effect: { kind: 'lose' }, times: 1 });
    await expect(put('a.txt', 'equal', { createOnly: true })).rejects.toMatchObject(taken);
  });

  it('of large contents do not replace what came meanwhile, where the service has none', async () => {
    const { proxy, stub, put, stored, keys } = await open({ conditionalPut: 'ignored' });
    proxy.before('UploadPart', 2, async () => stub.put('p/a.bin', 'of somebody else'));
    const large = put('a.bin', Buffer.alloc(9 * MB), { createOnly: true });
    await expect(large).rejects.toMatchObject(taken);
    expect(stored('a.bin')).toBe('of somebody else');
    expect(keys()).toEqual(['a.bin']);
    expect(stub.uploads.size).toBe(0);
  });
});

describe('a success without an ETag', () => {
  it.each([
    ['as any service', {}, undefined],
    ['as AWS', likeAws, aws],
  ] as const)('is none where nothing was stored, %s', async (_, dialect, support) => {
    const { stub, adapter, put, keys, stored } = await open({ ...dialect, endings: 'failed' }, support);
    stub.put('p/f/a.txt', 'a');
    const unavailable = { code: 'STORAGE_UNAVAILABLE' };
    const move = adapter.moveFile(at('f/a.txt'), at('f/b.txt'), { createOnly: true });
    await expect(move).rejects.toMatchObject(unavailable);
    await expect(adapter.moveFolder(at('f'), at('g'))).rejects.toMatchObject(unavailable);
    await expect(put('large.bin', Buffer.alloc(9 * MB))).rejects.toMatchObject(unavailable);
    stub.put('p/f/old.txt', 'old');
    await expect(adapter.moveFile(at('f/a.txt'), at('f/old.txt'))).rejects.toMatchObject(unavailable);
    expect(keys()).toEqual(['f/a.txt', 'f/old.txt']);
    expect(stored('f/old.txt')).toBe('old');
  });

  it('of an upload in parts that has no id is none either, and leaves the file that is there', async () => {
    const { proxy, stub, put, stored } = await open({});
    await put('a.bin', 'a');
    const body = '<InitiateMultipartUploadResult/>';
    proxy.fail({ operation: 'CreateMultipartUpload', effect: { kind: 'answer', status: 200, body } });
    await expect(put('a.bin', Buffer.alloc(9 * MB))).rejects.toMatchObject({ code: 'CORRUPT' });
    expect(stub.seen).toEqual(['ListObjectsV2', 'PutObject', 'ListObjectsV2']);
    expect(stored('a.bin')).toBe('a');
  });

  it('is one where a look finds what was stored', async () => {
    const { stub, adapter, put, keys } = await open({ endings: 'without-etag' });
    stub.put('p/f/a.txt', 'a');
    await adapter.moveFile(at('f/a.txt'), at('f/b.txt'), { createOnly: true });
    await adapter.moveFolder(at('f'), at('g'));
    await put('large.bin', Buffer.alloc(9 * MB));
    await adapter.moveFile(at('large.bin'), at('moved.bin'));
    expect(keys()).toEqual(['g/', 'g/b.txt', 'moved.bin']);
  });
});

describe('listings', () => {
  it('that begin with an empty page are read to their end', async () => {
    const { stub, adapter, put, names } = await open({ emptyPages: true });
    stub.put('p/f/a.txt', 'a');
    expect(await adapter.stat(at('f'))).toMatchObject({ kind: 'folder' });
    expect(await names('f')).toEqual(['a.txt']);
    await expect(adapter.makeFolder(at('f'))).rejects.toMatchObject(taken);
    await expect(put('f', 'a file')).rejects.toMatchObject({ code: 'WRONG_KIND' });
    await expect(adapter.removeEmptyFolder(at('f'))).rejects.toMatchObject({ code: 'NOT_EMPTY' });
  });

  it('that have an order of their own leave open what may be on a later page', async () => {
    const { stub, adapter, names } = await open({ order: 'own' });
    const all = Array.from({ length: 300 }, (_, index) => `${String(index).padStart(3, '0')}.txt`);
    for (const name of all) stub.put(`p/f/${name}`, name);
    const seen = await adapter.glimpse(at('f'), { most: 200 });
    const shown = all.map((name) => seen(name));
    expect(shown.filter((one) => typeof one === 'object')).toHaveLength(200);
    expect(shown.filter((one) => one === 'unknown')).toHaveLength(100);
    expect(await names('f')).toEqual(all);
    const whole = { bytes: 7 * all.length, files: all.length };
    expect(await measure(adapter, at('f'), 'folder')).toEqual(whole);
    // The order may also end behind the first page.
    const late = replacing(adapter, {
      walk: async function* (folder, { view }) {
        await Promise.resolve();
        view(folder).wants({ name: '000.txt', kind: 'file', size: 7, modifiedAt: undefined });
        yield { found: [], seen: 1, position: '000.txt' };
        throw new UnsupportedError();
      },
    });
    expect(await measure(late, at('f'), 'folder')).toEqual(whole);
  });

  it('that repeat their token are damaged data', async () => {
    const { stub, names } = await open({ repeatsToken: true });
    await expect(names('')).rejects.toMatchObject({ code: 'CORRUPT' });
    expect(stub.seen.length).toBeLessThan(5);
  });

  it('report how many keys no path can name, and an empty folder is removed only where none lies', async () => {
    const { stub, adapter, names, keys } = await open({});
    const hidden = ['reports\\2024.pdf', `${'ж'.repeat(128)}.txt`, '/double.txt', `Ä.txt`.normalize('NFD')];
    for (const name of ['cat.jpg', 'Ä.txt', ...hidden]) stub.put(`p/photos/${name}`, 'x');
    const counts: number[] = [];
    expect(await names('photos', (count) => counts.push(count))).toEqual(['cat.jpg', 'Ä.txt']);
    expect(counts).toEqual([4]);
    await names('', (count) => counts.push(count));
    expect(counts).toHaveLength(1);
    for (const name of ['cat.jpg', 'Ä.txt']) stub.objects.delete(`p/photos/${name}`);
    await expect(adapter.removeEmptyFolder(at('photos'))).rejects.toMatchObject({ code: 'NOT_EMPTY' });
    expect(keys()).toHaveLength(4);
    // Inside one bucket keys move by their prefix, whatever they are.
    await adapter.moveFolder(at('photos'), at('moved'));
    expect(keys()).toEqual(['moved/', ...hidden.map((name) => `moved/${name}`)].sort());
    await adapter.makeFolder(at('empty'));
    await adapter.removeEmptyFolder(at('empty'));
    await expect(adapter.removeEmptyFolder(at('empty'))).rejects.toMatchObject({ code: 'NOT_FOUND' });
  });
});

describe('a removal that is said to find nothing', () => {
  it('is not taken for made while a look still finds the file', async () => {
    const { proxy, adapter, put, keys } = await open({});
    await put('a.txt', 'a', { createOnly: true });
    const deny = () => proxy.fail({ operation: 'DeleteObject', effect: answer(404, 'NoSuchKey'), times: 1 });
    deny();
    await expect(adapter.removeFile(at('a.txt'))).rejects.toMatchObject({ code: 'STORAGE_UNAVAILABLE' });
    deny();
    const moving = adapter.moveFile(at('a.txt'), at('b.txt'), { createOnly: true });
    await expect(moving).rejects.toMatchObject({ code: 'MOVED_IN_PART' });
    expect(keys()).toContain('a.txt');
  });
});

describe('the object of a folder', () => {
  it('in which another tool has stored something is copied and moved with its content', async () => {
    for (const dialect of [{}, likeAws]) {
      const { stub, adapter, keys, stored } = await open(dialect, dialect === likeAws ? aws : undefined);
      stub.put('p/f/', 'content of a folder');
      stub.put('p/f/a.txt', 'a');
      await adapter.copyFolder(at('f'), at('copy'));
      await adapter.moveFolder(at('f'), at('moved'));
      expect(keys()).toEqual(['copy/', 'copy/a.txt', 'moved/', 'moved/a.txt']);
      expect([stored('copy/'), stored('moved/')]).toEqual(['content of a folder', 'content of a folder']);
    }
  });
});

describe('a file that is removed only while it is unchanged', () => {
  it('stays when it is another one by now', async () => {
    const { proxy, stub, adapter, put, stored } = await open(likeAws, aws);
    await put('a.txt', 'a');
    const ifUnchanged = await adapter.stat(at('a.txt'));
    stub.put('p/a.txt', 'another');
    const remove = () => adapter.removeFile(at('a.txt'), { ifUnchanged });
    await expect(remove()).rejects.toMatchObject({ code: 'CHANGED_MEANWHILE' });
    stub.put('p/a.txt', 'a');
    proxy.before('DeleteObject', 1, async () => stub.put('p/a.txt', 'last moment'));
    const again = adapter.removeFile(at('a.txt'), { ifUnchanged: await adapter.stat(at('a.txt')) });
    await expect(again).rejects.toMatchObject({ code: 'CHANGED_MEANWHILE' });
    expect(stored('a.txt')).toBe('last moment');
    await adapter.removeFile(at('a.txt'), { ifUnchanged: await adapter.stat(at('a.txt')) });
    expect(stored('a.txt')).toBeUndefined();
  });
});

describe('connections', () => {
  it('of a paused reader end, and its download goes on where it was', async () => {
    const { proxy, adapter, put } = await open({}, undefined, { readTimeout: 1 });
    const content = Buffer.alloc(30 * MB, 'abcdefghijk');
    await put('a.bin', content);
    const { stream } = await adapter.read(at('a.bin'), { range: { start: 5, end: content.length - 6 } });
    const received: Buffer[] = [];
    for await (const chunk of stream as AsyncIterable<Buffer>) {
      if (received.length === 3) await sleep(2500);
      received.push(chunk);
    }
    expect(Buffer.concat(received).equals(content.subarray(5, -5))).toBe(true);
    expect(proxy.counts()['GetObject']).toBe(2);
  });

  it('are not used up by downloads that fail', async () => {
    const limits = { connections: 2, readTimeout: 30, connectTimeout: 0.5, maxAttempts: 1 };
    const { proxy, adapter, put } = await open({}, undefined, limits);
    await put('a.txt', 'a');
    for (const effect of [
      answer(404, 'NoSuchKey'),
      answer(403, 'AccessDenied'),
      answer(412, 'PreconditionFailed'),
    ]) {
      proxy.fail({ operation: 'GetObject', effect });
      for (let index = 0; index < 5; index += 1) await expect(adapter.read(at('a.txt'))).rejects.toThrow();
    }
    proxy.reset();
    for (let index = 0; index < 5; index += 1) await expect(adapter.read(at('none.txt'))).rejects.toThrow();
    expect(await text((await adapter.read(at('a.txt'))).stream)).toBe('a');
  });

  it('of readers that pause become free for others, and each download arrives whole', async () => {
    const { adapter, put } = await open({}, undefined, {
      connections: 2,
      readTimeout: 1.5,
      connectTimeout: 5,
    });
    const content = Buffer.alloc(20 * MB, 'abcdefghijk');
    await put('a.bin', content);
    const paused = [await adapter.read(at('a.bin')), await adapter.read(at('a.bin'))];
    const third = await adapter.read(at('a.bin'));
    expect((await buffer(third.stream)).equals(content)).toBe(true);
    for (const { stream } of paused) expect((await buffer(stream)).equals(content)).toBe(true);
  });

  it('that stay in use are waited for only so long', async () => {
    // A busy machine must not make the download seem to be paused.
    const limits = { connections: 1, readTimeout: 4, connectTimeout: 2, maxAttempts: 1 };
    const { stub, adapter } = await open({}, undefined, limits);
    stub.put('p/a.bin', Buffer.alloc(50 * MB));
    const { stream } = await adapter.read(at('a.bin'));
    // Slow, but never silent: its connection stays in use for as long as others wait.
    let isOver = false;
    const reading = (async () => {
      for await (const _chunk of stream) if (!isOver) await sleep(50);
    })();
    const waiting = adapter.read(at('a.bin'), { signal: AbortSignal.timeout(50) });
    await expect(waiting).rejects.toMatchObject({ name: 'TimeoutError' });
    await expect(adapter.read(at('a.bin'))).rejects.toMatchObject({ code: 'STORAGE_TIMEOUT' });
    isOver = true;
    await reading;
  });

  it('of small uploads that wait for a large one under the same name leave it the memory that it needs', async () => {
    const { adapter, stored } = await open({});
    let goOn = (): void => undefined;
    const waiting = new Promise<void>((resolve) => (goOn = resolve));
    const pieces = (async function* () {
      yield Buffer.alloc(9 * MB, 'large');
      await waiting;
      yield Buffer.alloc(9 * MB, 'large');
    })();
    const options = { isNoFolder: true };
    const large = adapter.write(at('image.jpg'), Readable.from(pieces, { objectMode: false }), options);
    const small = Array.from({ length: 30 }, () =>
      adapter.write(at('image.jpg'), inPieces(Buffer.from('small')), options),
    );
    for (let turns = 0; turns < 100; turns += 1) await turn();
    goOn();
    expect((await large).size).toBe(18 * MB);
    await Promise.all(small);
    expect(stored('image.jpg')).toBe('small');
  });

  it('of a service that hangs do not let uploads pile up in memory', async () => {
    const { proxy, adapter } = await open({}, undefined, { readTimeout: 60 });
    proxy.fail({ operation: 'PutObject', effect: { kind: 'stall' } });
    const abort = new AbortController();
    const before = memoryInUse().arrayBuffers;
    const uploads = Array.from({ length: 80 }, (_, index) => {
      const pieces = (function* () {
        for (let piece = 0; piece < 100; piece += 1) yield Buffer.alloc(70_000);
      })();
      const content = Readable.from(pieces, { objectMode: false });
      return adapter.write(at(`${String(index)}.bin`), content, { signal: AbortSignal.any([abort.signal]) });
    });
    await expect.poll(() => proxy.counts()['PutObject'] ?? 0, { timeout: 20_000 }).toBeGreaterThanOrEqual(24);
    await sleep(500);
    const held = memoryInUse().arrayBuffers - before;
    abort.abort(new Error('enough'));
    // Requests that were sent are waited for.
    await adapter.close();
    await Promise.allSettled(uploads);
    // 80 uploads of 7 MB would take 560 MB, and more with what their contents hold.
    expect(held / MB).toBeLessThan(400);
  }, 60_000);
});

describe('a service that asks its clients to wait', () => {
  it.each([
    ['a second', { ...answer(503, 'SlowDown'), headers: { 'retry-after': '1' } }],
    ['as after too many requests', answer(429, 'TooManyRequests')],
    ['as after SlowDown', answer(503, 'SlowDown')],
  ])('%s gets the request again when that is over', async (_time, effect) => {
    const { proxy, adapter, put } = await open({});
    await put('a.txt', 'a');
    proxy.fail({ operation: 'HeadObject', effect, times: 1 });
    const times: number[] = [];
    for (const number of [1, 2])
      proxy.before('HeadObject', number, async () => void times.push(performance.now()));
    expect((await adapter.stat(at('a.txt'))).kind).toBe('file');
    const [refused = 0, again = 0] = times;
    expect(again - refused).toBeGreaterThanOrEqual(1000);
  });
});

describe('a name that only this service refuses', () => {
  // MinIO, Supabase for names that are not in English, and StorageGRID.
  it.each(['XMinioInvalidObjectName', 'InvalidKey', 'KeyTooLong'])('by %s is not allowed', async (code) => {
    const { proxy, put } = await open({});
    proxy.fail({ operation: 'PutObject', effect: answer(400, code) });
    await expect(put('ä.txt', 'a')).rejects.toMatchObject({ code: 'UNSAFE_NAME' });
  });
});

describe('what the log learns', () => {
  it('of a refused signature is its name, and nothing that the service has written beside it', async () => {
    const { proxy, adapter } = await open({}, undefined, { maxAttempts: 1 });
    const headers = { 'x-amz-bucket-region': 'eu-central-1', 'x-amz-request-id': 'request-1' };
    const Code = 'SignatureDoesNotMatch</Code><AWSAccessKeyId>testkey</AWSAccessKeyId><Code>';
    proxy.fail({ operation: 'GetObject', effect: { ...answer(403, Code), headers } });
    proxy.before('ListObjectsV2', 1, async () => undefined);
    const error: unknown = await adapter.read(at('a.txt')).catch((reason: unknown) => reason);
    const shown = inspect(error, { depth: 10 });
    expect(shown).not.toMatch(/testkey|authorization|Credential|127\.0\.0\.1/iu);
  });

  it('includes the region of a bucket that lies elsewhere', async () => {
    const { proxy, adapter } = await open({}, undefined, { maxAttempts: 1 });
    const headers = { 'x-amz-bucket-region': 'eu-central-1' };
    proxy.fail({ operation: '*', effect: { ...answer(301, 'PermanentRedirect'), headers } });
    await expect(adapter.stat(at('a.txt'))).rejects.toMatchObject({
      code: 'STORAGE_UNAVAILABLE',
      detail: expect.stringContaining('bucket in region eu-central-1') as string,
    });
  });

  it('is nothing from the SDK itself', async () => {
    const written = [vi.spyOn(console, 'warn'), vi.spyOn(console, 'error'), vi.spyOn(console, 'log')];
    onTestFinished(() => void vi.restoreAllMocks());
    const { adapter, put } = await open({ refusesLarge: { times: 1, status: 503 } });
    const staged = await adapter.stage(inPieces(Buffer.alloc(9 * MB)));
    await staged.commit(at('a.zip'), { createOnly: true });
    await put('b.txt', 'b');
    for (const spy of written) expect(spy).not.toHaveBeenCalled();
  });
});

describe('a removal of many whose answer is lost', () => {
  it('is made where the service finds no version any more', async () => {
    const { proxy, adapter, put, keys } = await open(likeAws, aws);
    for (const name of ['f/a.txt', 'f/b.txt', 'g/a.txt', 'g/b.txt']) await put(name, name);
    const lose = () => proxy.fail({ operation: 'DeleteObjects', effect: { kind: 'lose' }, times: 1 });
    lose();
    await adapter.removeFolder(at('f'));
    lose();
    await adapter.moveFolder(at('g'), at('h'));
    lose();
    await Promise.all(['h/a.txt', 'h/b.txt'].map((name) => adapter.removeFile(at(name))));
    expect(keys()).toEqual(['h/']);
  });
});

describe('a removal whose client has left', () => {
  it('removes nothing that is stored after it', async () => {
    const { stub, proxy, adapter, put, stored } = await open({});
    await put('a.txt', 'old');
    const abort = new AbortController();
    let storing: Promise<unknown> = Promise.resolve();
    proxy.before('DeleteObject', 1, async () => {
      abort.abort(new Error('gone'));
      storing = put('a.txt', 'new');
      // More requests than it takes to store a file where nothing holds its name.
      for (let looks = 0; looks < 20; looks += 1) await adapter.stat(at('a.txt'));
    });
    await adapter.removeFile(at('a.txt'), { signal: abort.signal }).catch(() => undefined);
    await storing;
    await expect.poll(() => stub.seen).toContain('DeleteObject');
    expect(stored('a.txt')).toBe('new');
  });
});

describe('what objects keep and are sent with', () => {
  it('is the storage class of the source, with renames of files and folders of any size', async () => {
    const { stub, adapter } = await open({});
    const headers = { 'x-amz-storage-class': 'STANDARD_IA' };
    stub.put('p/f/a.txt', 'a', headers);
    stub.put('p/f/b.bin', Buffer.alloc(9 * MB), headers);
    await adapter.moveFile(at('f/a.txt'), at('f/c.txt'), { createOnly: true });
    await adapter.moveFile(at('f/b.bin'), at('f/d.bin'), { createOnly: true });
    await adapter.moveFolder(at('f'), at('g'));
    for (const key of ['p/g/c.txt', 'p/g/d.bin'])
      expect(stub.objects.get(key)?.headers['x-amz-storage-class']).toBe('STANDARD_IA');
  });

  it('is the class for new objects where the service reports one that it does not accept, as MinIO the name of a tier', async () => {
    const { stub, adapter, stored, keys } = await open({ classes: ['STANDARD', 'REDUCED_REDUNDANCY'] });
    const headers = { 'x-amz-storage-class': 'COLDTIER' };
    const large = Buffer.alloc(9 * MB, 'large');
    stub.put('p/f/a.txt', 'a', headers);
    stub.put('p/f/b.bin', large, headers);
    await adapter.copyFile(at('f/a.txt'), at('c.txt'), { createOnly: true });
    await adapter.moveFile(at('f/b.bin'), at('f/d.bin'), { createOnly: true });
    stub.put('p/f/e.bin', large, headers);
    await adapter.moveFolder(at('f'), at('g'));
    expect(keys()).toEqual(['c.txt', 'g/', 'g/a.txt', 'g/d.bin', 'g/e.bin']);
    expect([stored('c.txt'), stored('g/a.txt')]).toEqual(['a', 'a']);
    for (const key of ['p/g/d.bin', 'p/g/e.bin'])
      expect(stub.objects.get(key)?.bytes.equals(large)).toBe(true);
    expect(stub.uploads.size).toBe(0);
  });

  it('are checksums of the SDK where the options ask for them', async () => {
    for (const checksums of [true, undefined]) {
      const { stub, put } = await open({}, aws, checksums === undefined ? {} : { checksums });
      await put('a.txt', 'a', { createOnly: true });
      await put('b.bin', Buffer.alloc(9 * MB), { createOnly: true });
      for (const operation of ['PutObject', 'UploadPart']) {
        const sent = stub.requests.find((request) => request.operation === operation);
        expect(sent?.headers['x-amz-checksum-crc32'] !== undefined).toBe(checksums === true);
      }
    }
  });

  it('is an identity by the service, the bucket and the prefix', async () => {
    const identityOf = (options: object, root?: string) => {
      const parsed = parseS3Options({ bucket: 'b', credentials, ...options });
      if ('problems' in parsed) throw new Error(parsed.problems.join('; '));
      return new S3Adapter(parsed.value, root).identity;
    };
    expect(identityOf({ prefix: '/one/two/' }, 'three')).toEqual({
      backend: 's3:aws/b',
      root: ['one', 'two', 'three'],
    });
    const endpoints = ['https://S3.example', 'https://s3.example/'];
    expect(endpoints.map((endpoint) => identityOf({ endpoint }).backend)).toEqual([
      's3:https://s3.example/b',
      's3:https://s3.example/b',
    ]);
  });
});
