import { randomUUID } from 'node:crypto';
import { Readable } from 'node:stream';
import { text } from 'node:stream/consumers';
import { setTimeout as sleep } from 'node:timers/promises';
import { afterAll, afterEach, beforeAll, describe, expect, it } from 'vitest';
import { createApp } from 'stowage';
import { SourcePath } from 'stowage/storage';
import { KnownServices, S3Adapter, parseS3Options } from '#internals';
import { makeBucket, optionsFor } from '../../tools/test-servers/bucket.ts';
import { radosgwMissing, startRadosgw } from '../../tools/test-servers/radosgw.ts';
import { S3Proxy } from '../../tools/test-servers/s3-proxy.ts';
import { S3Stub } from '../../tools/test-servers/s3-stub.ts';
import { photo } from '../pictures/pictures.ts';
import { formOf, silent } from '../protocol/service.ts';
import { callIn } from './object-service.ts';

const MB = 1024 * 1024;
const at = (path: string) => SourcePath.parse(path);
const credentials = { accessKeyId: 'testkey', secretAccessKey: 'testsecret' };

/** A service with a bucket. `decides`: it obeys conditions on copies and removals, as AWS does. */
interface Service {
  readonly endpoint: string;
  readonly bucket: string;
  readonly decides: boolean;
  stop(): Promise<void>;
}

const ceph = async (): Promise<Service> => {
  const server = await startRadosgw();
  const bucket = await makeBucket(server);
  const stop = async (): Promise<void> => {
    bucket.client.destroy();
    await server.stop();
  };
  return { endpoint: server.endpoint, bucket: bucket.name, decides: false, stop };
};

const likeAws = async (): Promise<Service> => {
  const stub = await S3Stub.start({ conditionalCopy: 'obeyed', conditionalDelete: 'obeyed' });
  return { endpoint: stub.endpoint, bucket: 'bucket', decides: true, stop: () => stub.close() };
};

const withoutCeph = radosgwMissing === undefined ? '' : ` (skipped: ${radosgwMissing})`;

const services = [
  [`Ceph${withoutCeph}`, ceph, radosgwMissing === undefined],
  ['a service that decides as AWS does', likeAws, true],
] as const;

for (const [what, start, runs] of services) {
  describe.skipIf(!runs)(`moving while others write, on ${what}`, () => {
    let service: Service;
    let proxy: S3Proxy;
    const open: { close(): Promise<void> }[] = [];

    const known = new KnownServices();

    beforeAll(async () => {
      service = await start();
      proxy = await S3Proxy.start(service.endpoint);
      // The conditions of the service are known before requests are counted.
      for (const { endpoint } of [service, proxy])
        await openAdapter(endpoint, randomUUID()).makeFolder(at('f'));
    });
    afterEach(async () => {
      proxy.reset();
      await Promise.all(open.splice(0).map((adapter) => adapter.close()));
    });
    afterAll(async () => {
      await proxy?.close();
      await service?.stop();
    });

    const openAdapter = (endpoint: string, prefix: string): S3Adapter => {
      const support = { create: true, complete: true, copy: true, remove: true } as const;
      if (service.decides) known.set(`${endpoint} ${service.bucket}`, { ...support, match: 'quoted' });
      const parsed = parseS3Options(optionsFor({ endpoint, credentials }, service.bucket, { prefix }));
      if ('problems' in parsed) throw new Error(parsed.problems.join('; '));
      const adapter = new S3Adapter(parsed.value, undefined, known);
      open.push(adapter);
      return adapter;
    };

    /**
     * The instance whose requests go through the proxy, and another one that works on the same folder past
     * it.
     */
    const openStores = () => {
      const prefix = randomUUID();
      const [mover, other] = [openAdapter(proxy.endpoint, prefix), openAdapter(service.endpoint, prefix)];
      const put = (path: string, content: string, options = {}) =>
        other.write(at(path), Readable.from([Buffer.from(content)], { objectMode: false }), options);
      const contents = async (folder: string): Promise<Readonly<Record<string, string>>> => {
        const found: Record<string, string> = {};
        for await (const page of other.list(at(folder))) {
          for (const { name } of page) {
            const { stream } = await other.read(at(`${folder}/${name}`));
            found[name] = await text(stream);
          }
        }
        return found;
      };
      return { prefix, mover, other, put, contents };
    };

    const isGone = (adapter: S3Adapter, path: string) =>
      expect(adapter.stat(at(path))).rejects.toMatchObject({ code: 'NOT_FOUND' });

    const movedInPart = { code: 'MOVED_IN_PART' };

    it('what is replaced or arrives after the copies stays where it is, and its number is reported', async () => {
      const { mover, put, contents } = openStores();
      await put('f/a.txt', 'old');
      await put('f/b.txt', 'other');
      const change = async (): Promise<void> => {
        await put('f/a.txt', 'new content');
        await put('f/c.txt', 'arrived');
      };
      // The next listing after the copies is the one that removals are decided by.
      proxy.before('CopyObject', 2, async () => proxy.before('ListObjectsV2', 1, change));
      const error: unknown = await mover.moveFolder(at('f'), at('g')).catch((reason: unknown) => reason);
      expect(error).toMatchObject(movedInPart);
      expect((error as Error).message).toMatch(/^2 items stayed/u);
      expect(await contents('g')).toEqual({ 'a.txt': 'old', 'b.txt': 'other' });
      expect(await contents('f')).toEqual({ 'a.txt': 'new content', 'c.txt': 'arrived' });
    });

    it('a file that is uploaded into the target meanwhile is not overwritten: the move fails and the source is whole', async () => {
      const { mover, put, contents } = openStores();
      await put('f/a.txt', 'mine');
      await put('f/b.txt', 'mine too');
      // After the target was claimed and before anything is copied.
      proxy.before('ListObjectsV2', 3, () => put('g/b.txt', 'yours', { createOnly: true }));
      await expect(mover.moveFolder(at('f'), at('g'))).rejects.toMatchObject({ code: 'ALREADY_EXISTS' });
      expect(await contents('f')).toEqual({ 'a.txt': 'mine', 'b.txt': 'mine too' });
      expect(await contents('g')).toEqual({ 'b.txt': 'yours' });
    });

    it.each(['copyFolder', 'moveFolder'] as const)(
      'a %s that fails takes away its own copies, and nothing that others have stored in their place',
      async (operation) => {
        const { mover, other, put, contents } = openStores();
        for (let index = 0; index < 20; index += 1) await put(`f/${index}.txt`, `mine ${index}`);
        proxy.before('CopyObject', 18, async () => {
          // Its copy was sent before, and may still be under way.
          await expect.poll(() => other.stat(at('g/0.txt')).catch(() => undefined)).toBeDefined();
          await put('g/0.txt', 'replaced by others');
          await put('g/more.txt', 'added by others');
        });
        const denied = { kind: 'answer', status: 403, code: 'AccessDenied' } as const;
        proxy.fail({ operation: 'CopyObject', from: 18, effect: denied });
        await expect(mover[operation](at('f'), at('g'))).rejects.toMatchObject({ code: 'STORAGE_DENIED' });
        expect(await contents('g')).toEqual({
          '0.txt': 'replaced by others',
          'more.txt': 'added by others',
        });
        expect(Object.keys(await contents('f'))).toHaveLength(20);
      },
    );

    it('a move whose removals fail has a whole target, and repeating it is refused as any taken name', async () => {
      const { mover, put, contents } = openStores();
      await put('f/a.txt', 'first');
      const down = { kind: 'answer', status: 503, code: 'ServiceUnavailable' } as const;
      proxy.fail({ operation: 'DeleteObjects', effect: down });
      await expect(mover.moveFolder(at('f'), at('g'))).rejects.toMatchObject(movedInPart);
      proxy.reset();
      await put('f/a.txt', 'other');
      await expect(mover.moveFolder(at('f'), at('g'))).rejects.toMatchObject({ code: 'ALREADY_EXISTS' });
      expect(await contents('f')).toEqual({ 'a.txt': 'other' });
      expect(await contents('g')).toEqual({ 'a.txt': 'first' });
    });

    it('a file of more than 8 MB that is replaced while its parts are copied is not removed', async () => {
      const { mover, put, contents } = openStores();
      await put('f/a.bin', 'a'.repeat(9 * MB));
      proxy.before('CompleteMultipartUpload', 1, () => put('f/a.bin', 'new'));
      const move = mover.moveFile(at('f/a.bin'), at('f/b.bin'), { createOnly: true });
      await expect(move).rejects.toMatchObject({ code: 'CHANGED_MEANWHILE' });
      expect(await contents('f')).toEqual({ 'a.bin': 'new' });
    });

    it('a service that removes single versions keeps what is replaced in the very last moment', async ({
      skip,
    }) => {
      skip(!service.decides, 'this service removes whatever has the key');
      const { mover, put, contents } = openStores();
      await put('f/a.txt', 'old');
      await put('f/b.txt', 'b');
      proxy.before('DeleteObjects', 1, () => put('f/a.txt', 'new'));
      await expect(mover.moveFolder(at('f'), at('g'))).rejects.toMatchObject(movedInPart);
      expect(await contents('g')).toEqual({ 'a.txt': 'old', 'b.txt': 'b' });
      expect(await contents('f')).toEqual({ 'a.txt': 'new' });
      await put('f/c.txt', 'old');
      proxy.before('DeleteObject', 1, () => put('f/c.txt', 'new'));
      const move = mover.moveFile(at('f/c.txt'), at('f/d.txt'), { createOnly: true });
      await expect(move).rejects.toMatchObject({ code: 'CHANGED_MEANWHILE' });
      expect(await contents('f')).toEqual({ 'a.txt': 'new', 'c.txt': 'new' });
    });

    it('a move asks nothing that the service decides', async () => {
      const { mover, put, contents } = openStores();
      await put('f/a.txt', 'a');
      proxy.reset();
      await mover.moveFile(at('f/a.txt'), at('f/b.txt'), { createOnly: true });
      const reservation = service.decides ? {} : { PutObject: 1 };
      const asked = { ListObjectsV2: 1, HeadObject: 1, CopyObject: 1, DeleteObject: 1 };
      expect(proxy.counts()).toEqual({ ...asked, ...reservation });
      expect(await contents('f')).toEqual({ 'b.txt': 'a' });
    });

    it.each(['moveFile', 'copyFile'] as const)(
      '%s replaces nothing that one answer says is not there',
      async (verb) => {
        const { mover, put, contents } = openStores();
        await put('f/a.txt', 'mine');
        await put('f/b.txt', 'theirs');
        // Of the source first, and then of the target.
        proxy.fail({
          operation: 'HeadObject',
          effect: { kind: 'answer', status: 404 },
          from: 2,
          times: 1,
        });
        const giving = mover[verb](at('f/a.txt'), at('f/b.txt'), { createOnly: true });
        await expect(giving).rejects.toMatchObject({ code: 'ALREADY_EXISTS' });
        expect(await contents('f')).toEqual({ 'a.txt': 'mine', 'b.txt': 'theirs' });
      },
    );

    it('a replacing move whose source cannot be removed leaves both names their content', async () => {
      const { mover, put, contents } = openStores();
      await put('f/a.txt', 'moved');
      await put('f/b.txt', 'replaced');
      const denied = { kind: 'answer', status: 403, code: 'AccessDenied' } as const;
      proxy.fail({ operation: 'DeleteObject', effect: denied, times: 1 });
      const moving = mover.moveFile(at('f/a.txt'), at('f/b.txt'));
      await expect(moving).rejects.toMatchObject({ code: 'STORAGE_DENIED' });
      expect(await contents('f')).toEqual({ 'a.txt': 'moved', 'b.txt': 'moved' });
    });

    it('a removal takes what it has looked at, and no later upload of this process', async () => {
      const { mover, put, contents } = openStores();
      await put('f/a.txt', 'old');
      const seen = await mover.stat(at('f/a.txt'));
      const content = Readable.from([Buffer.from('new')], { objectMode: false });
      let writing: Promise<unknown> = Promise.resolve();
      proxy.before('DeleteObject', 1, async () => {
        writing = mover.write(at('f/a.txt'), content);
        // It waits for the removal, which waits here.
        await Promise.race([writing, sleep(200)]);
      });
      await mover.removeFile(at('f/a.txt'), { ifUnchanged: seen });
      await writing;
      expect(await contents('f')).toEqual({ 'a.txt': 'new' });
    });

    it('a moved folder keeps what is uploaded by this process just before its files are removed', async () => {
      const { mover, put, contents } = openStores();
      await put('f/a.txt', 'old');
      await put('f/b.txt', 'b');
      const content = Readable.from([Buffer.from('new')], { objectMode: false });
      let writing: Promise<unknown> = Promise.resolve();
      proxy.before('DeleteObjects', 1, async () => {
        writing = mover.write(at('f/a.txt'), content);
        // It waits for the removal, which waits here, or is seen by a service that decides by versions.
        await Promise.race([writing, sleep(200)]);
      });
      await mover.moveFolder(at('f'), at('g')).catch((error: unknown) => {
        expect(error).toMatchObject(movedInPart);
      });
      await writing;
      expect(await contents('g')).toEqual({ 'a.txt': 'old', 'b.txt': 'b' });
      expect(await contents('f')).toEqual({ 'a.txt': 'new' });
    });

    it('a moved folder keeps files that others replace, or that this process writes, until the last look', async ({
      skip,
    }) => {
      skip(service.decides, 'this service decides by versions');
      const { mover, put, contents } = openStores();
      // Two steps: what comes behind the first is looked at behind its last key.
      for (let index = 100; index < 210; index += 1) await put(`f/${index}.txt`, 'old');
      const content = Readable.from([Buffer.from('mine')], { objectMode: false });
      let [writing, end]: [Promise<unknown>, () => void] = [Promise.resolve(), () => undefined];
      const after = new Promise<void>((resolve) => {
        end = resolve;
      });
      // From here on: the listing of the first step, its last look, and the same of the second step.
      const watch = async (): Promise<void> => {
        proxy.fail({ operation: 'PutObject', effect: { kind: 'late', after } });
        proxy.before('ListObjectsV2', 2, () => put('f/120.txt', 'theirs'));
        proxy.before('ListObjectsV2', 3, async () => {
          const before = proxy.counts()['PutObject'];
          writing = mover.write(at('f/208.txt'), content);
          await expect.poll(() => proxy.counts()['PutObject']).not.toBe(before);
        });
        // The fourth is that of the upload.
        proxy.before('ListObjectsV2', 5, () => put('f/205.txt', 'theirs'));
      };
      proxy.before('CopyObject', 109, watch);
      const moving = mover.moveFolder(at('f'), at('g'));
      await expect(moving).rejects.toMatchObject(movedInPart);
      end();
      await writing;
      expect(await contents('f')).toEqual({
        '120.txt': 'theirs',
        '205.txt': 'theirs',
        '208.txt': 'mine',
      });
      expect(Object.keys(await contents('g'))).toHaveLength(110);
    }, 30_000);

    it('a removal takes the versions that it has seen where the service removes single versions', async ({
      skip,
    }) => {
      skip(!service.decides, 'this service removes whatever has the key');
      const { mover, put, contents } = openStores();
      for (const name of ['a', 'b', 'c']) await put(`f/${name}.txt`, 'old');
      proxy.before('DeleteObject', 1, () => put('f/a.txt', 'new'));
      const changed = { code: 'CHANGED_MEANWHILE' };
      await expect(mover.removeFile(at('f/a.txt'))).rejects.toMatchObject(changed);
      proxy.before('DeleteObjects', 1, () => put('f/b.txt', 'new'));
      await expect(mover.removeFolder(at('f'))).rejects.toMatchObject(changed);
      expect(await contents('f')).toEqual({ 'b.txt': 'new' });
    });

    it.each(['copyFolder', 'moveFolder'] as const)(
      'a %s that is aborted while a copy is under way leaves the source whole and nothing else',
      async (operation) => {
        const { mover, other, put, contents } = openStores();
        for (const name of ['a', 'b', 'c']) await put(`f/${name}.txt`, name);
        const abort = new AbortController();
        const reason = new Error('enough');
        // A service that is slower than whoever clears away.
        const after = new Promise((resolve) => {
          abort.signal.addEventListener('abort', () => setTimeout(resolve, 300));
        });
        proxy.fail({ operation: 'CopyObject', from: 2, times: 1, effect: { kind: 'late', after } });
        proxy.before('CopyObject', 2, async () => {
          setImmediate(() => abort.abort(reason));
        });
        const running = mover[operation](at('f'), at('g'), { signal: abort.signal });
        await expect(running).rejects.toBe(reason);
        await after;
        await sleep(200);
        await isGone(other, 'g');
        expect(await contents('f')).toEqual({ 'a.txt': 'a', 'b.txt': 'b', 'c.txt': 'c' });
      },
    );

    it('a folder that is being made when its signal is aborted does not remain', async () => {
      const { mover, other, put, contents } = openStores();
      await put('f/a.txt', 'a');
      await mover.makeFolder(at('learnt'));
      for (const run of [
        (signal: AbortSignal) => mover.makeFolder(at('g'), { signal }),
        (signal: AbortSignal) => mover.copyFolder(at('f'), at('g'), { signal }),
        (signal: AbortSignal) => mover.moveFolder(at('f'), at('g'), { signal }),
      ]) {
        const abort = new AbortController();
        const reason = new Error('enough');
        proxy.reset();
        proxy.before('PutObject', 1, async () => abort.abort(reason));
        await expect(run(abort.signal)).rejects.toBe(reason);
        await isGone(other, 'g');
        expect(await contents('f')).toEqual({ 'a.txt': 'a' });
      }
    });

    const openInstance = (endpoint: string, prefix: string, more: object = {}) => {
      const s3 = optionsFor({ endpoint, credentials }, service.bucket, { prefix });
      const source = { title: 'Files', baseurl: 'https://f.test/', storageAdapter: 's3', s3, ...more };
      const app = createApp({ createThumb: false, sources: { files: source } }, {}, { logger: silent });
      open.push(app);
      return app;
    };

    it('a file that the service does not remove is not in the trash as well', async () => {
      const { prefix, other, put } = openStores();
      for (const name of ['a.txt', 'b.txt']) await put(name, 'held');
      const app = openInstance(proxy.endpoint, prefix, { trash: {} });
      // It first learns which conditions the service knows.
      expect(await callIn(app, '/fileRemove?name=b.txt')).toMatchObject({ status: 200 });
      const denied = { kind: 'answer', status: 403, code: 'AccessDenied' } as const;
      proxy.fail({ operation: 'DeleteObject', effect: denied, times: 1 });
      const refused = { status: 500, error: 'STORAGE_DENIED' };
      expect(await callIn(app, '/fileRemove?name=a.txt')).toMatchObject(refused);
      expect(await callIn(app, '/trashList')).toMatchObject({ items: [{ name: 'b.txt' }] });
      expect(await other.stat(at('a.txt'))).toMatchObject({ size: 4 });
    });

    it.each([
      ['CopyObject', 1, 'fileMove'],
      ['CopyObject', 1, 'fileCopy'],
      ['CopyObject', 1, 'fileUpload'],
      ['CompleteMultipartUpload', 9 * MB, 'fileMove'],
      ['CompleteMultipartUpload', 9 * MB, 'fileUpload'],
    ] as const)(
      'a name that one instance is giving by %s of %i bytes is not given by a %s of another one',
      async (operation, size, taking) => {
        const { prefix, put, contents } = openStores();
        const [mine, theirs] = ['m'.repeat(size), 'theirs'];
        for (const folder of ['p', 'q', 'g']) await put(`${folder}/other.txt`, folder);
        await put('p/x.txt', mine);
        await put('q/x.txt', theirs);
        const [one, other] = [openInstance(proxy.endpoint, prefix), openInstance(service.endpoint, prefix)];
        for (const [app, path] of [[one, 'first'] as const, [other, 'second'] as const])
          expect(await callIn(app, `/folderCreate?name=${path}`)).toMatchObject({ status: 200 });
        let second: { readonly status: number } = { status: 0 };
        let shown: readonly string[] = [];
        proxy.before(operation, 1, async () => {
          shown = Object.keys(await contents('g'));
          const form = formOf([['files[0]', 'x.txt', theirs]], { path: 'g' });
          const action = taking === 'fileUpload' ? '/fileUpload' : `/${taking}?from=q/x.txt&path=g`;
          second = await callIn(other, action, taking === 'fileUpload' ? form : undefined);
        });
        const first = await callIn(one, '/fileMove?from=p/x.txt&path=g');
        expect(shown).toEqual(['other.txt']);
        const kept = { ...(await contents('g')), 'other.txt': '' };
        const left = (await contents('p'))['x.txt'];
        // The second gets another name, or is rejected, or the first is.
        expect([first.status, second.status]).toContain(200);
        expect(Object.values({ ...kept, left }).filter((content) => content === mine)).toHaveLength(1);
        const isThere = Object.values(kept).includes(theirs);
        expect(isThere).toBe(second.status === 200);
        expect('x.txt' in (await contents('q'))).toBe(taking !== 'fileMove' || !isThere);
      },
    );

    it('a folder is created under the name of one that moves away after it has left', async () => {
      const { prefix, put, contents } = openStores();
      await put('d/b.txt', 'b');
      const app = openInstance(proxy.endpoint, prefix);
      expect(await callIn(app, '/folderCreate?path=d&name=tree')).toMatchObject({ status: 200 });
      await put('d/tree/a.txt', 'a');
      let [creating, end] = [Promise.resolve<unknown>(undefined), (): void => undefined];
      const hasMoved = new Promise<void>((resolve) => (end = resolve));
      proxy.before('CopyObject', 1, async () => {
        proxy.fail({ operation: 'HeadObject', effect: { kind: 'late', after: hasMoved }, times: 1 });
        creating = callIn(app, '/folderCreate?path=d&name=tree');
        await sleep(100);
      });
      const moved = await callIn(app, '/folderRename?path=d&name=tree&newname=other');
      end();
      expect([moved, await creating]).toMatchObject([{ status: 200 }, { status: 200 }]);
      expect(await contents('d/other')).toEqual({ 'a.txt': 'a' });
      expect(await contents('d/tree')).toEqual({});
    });

    it('a thumbnail that is made while its folder moves away does not stay behind', async () => {
      const { prefix, other, put } = openStores();
      const picture = await photo(40, 30);
      await other.write(at('d/tree/p.jpg'), Readable.from([picture], { objectMode: false }));
      await put('d/b.txt', 'b');
      const app = openInstance(proxy.endpoint, prefix, { createThumb: true });
      expect(await callIn(app, '/folderCreate?name=first')).toMatchObject({ status: 200 });
      proxy.before('CopyObject', 1, async () => {
        expect(await callIn(app, '/files?path=d/tree')).toMatchObject({ status: 200 });
      });
      expect(await callIn(app, '/folderRename?path=d&name=tree&newname=other')).toMatchObject({
        status: 200,
      });
      await isGone(other, 'd/tree');
    });

    it('answers that get lost are no failures of a copy that only the service decided', async ({ skip }) => {
      skip(!service.decides, 'this service ignores conditions on copies');
      const { mover, put, contents } = openStores();
      await put('f/a.txt', 'a');
      for (const operation of ['CopyObject', 'DeleteObject']) {
        proxy.fail({ operation, effect: { kind: 'lose' }, times: 1 });
        const [from, to] = operation === 'CopyObject' ? ['f/a.txt', 'f/b.txt'] : ['f/b.txt', 'f/c.txt'];
        await mover.moveFile(at(from), at(to), { createOnly: true });
      }
      expect(await contents('f')).toEqual({ 'c.txt': 'a' });
    });
  });
}
