import { randomUUID } from 'node:crypto';
import { mkdir, readdir, readFile, utimes, writeFile } from 'node:fs/promises';
import { basename, join } from 'node:path';
import { buffer } from 'node:stream/consumers';
import { afterAll, afterEach, beforeAll, describe, expect, it, vi } from 'vitest';
import type { WebdavAdapter } from '../../packages/stowage/dist/adapters/remote/webdav/adapter.js';
import { SourcePath } from 'stowage/storage';
import { inPieces, outcomeOf } from './outcomes.ts';
import { FaultProxy, type Effect } from '../../tools/test-servers/fault-proxy.ts';
import {
  login,
  openDavStore,
  programs,
  startApache,
  type DavServer,
} from '../../tools/test-servers/webdav.ts';

const at = (text: string) => SourcePath.parse(text);
const MB = 1024 * 1024;
const LARGE = Buffer.alloc(8 * MB, 'abcdefg');
const put = (adapter: WebdavAdapter, path: string, bytes: Buffer | string, options = {}) =>
  adapter.write(at(path), inPieces(Buffer.from(bytes)), options);

const SECRETS = ['127.0.0.1', 'http', 'bob', 'secret', '/dav'];
const codeOf = (operation: Promise<unknown>): Promise<string> => outcomeOf(operation, SECRETS);

/** A short patience where the server stalls, a long one elsewhere: the machine may be busy. */
const patience = ({ kind }: Effect) => ({ timeout: kind.startsWith('stall') ? 1 : 20 });

/**
 * Does something ten minutes later, as far as the clocks of the process and of the server's hidden folders
 * tell.
 */
const later = async (folder: string, work: () => Promise<void>): Promise<void> => {
  const then = new Date(Date.now() - 600_000);
  for (const name of await readdir(folder)) {
    if (name.endsWith('.tmp')) await utimes(join(folder, name), then, then);
  }
  vi.useFakeTimers({ toFake: ['Date'], now: Date.now() + 600_000 });
  try {
    await work();
  } finally {
    vi.useRealTimers();
  }
};

describe.skipIf(!programs.apache)(
  `what goes wrong between the webdav adapter and its server${programs.apache ? '' : ' (apache2 is not installed)'}`,
  () => {
    let server: DavServer;
    let proxy: FaultProxy;
    const open: WebdavAdapter[] = [];

    beforeAll(async () => {
      server = await startApache('basic');
      proxy = await FaultProxy.start(server.url, ({ method = '', headers }) =>
        headers['depth'] === '1' ? 'LIST' : method,
      );
    });
    afterEach(async () => {
      proxy.reset();
      await Promise.all(open.splice(0).map((adapter) => adapter.close()));
    });
    afterAll(async () => {
      await proxy?.close();
      await server?.stop();
    });

    const openStore = (more: Readonly<Record<string, unknown>> = {}) => {
      const root = randomUUID();
      const adapter = openDavStore({ url: `${proxy.endpoint}/dav/` }, { ...login, ...more }, root);
      /** Another client of the same store, for what must not fail. */
      const patient = openDavStore(server, login, root);
      open.push(adapter, patient);
      const folder = join(server.data, root);
      /** Every path below the store on the disk, temporary ones too. */
      const onDisk = async (): Promise<readonly string[]> => {
        const entries = await readdir(folder, { recursive: true });
        return entries.filter((name) => !name.includes('.DAV')).sort();
      };
      /** As `onDisk`, once what could not be cleared away at first is gone. */
      const settled = async (expected: readonly string[]): Promise<void> => {
        await expect
          .poll(async () => {
            await adapter.stat(at('')).catch(() => undefined);
            return onDisk();
          })
          .toEqual(expected);
      };
      return {
        adapter,
        patient,
        folder,
        onDisk,
        settled,
        text: async (path: string) => readFile(join(folder, path), 'utf8'),
      };
    };

    it('tells what it has made, moved or removed, also when the signal comes in the middle of it', async () => {
      const { adapter, onDisk } = openStore();
      await put(adapter, 'a.txt', 'a');
      const during = async (method: string, run: (signal: AbortSignal) => Promise<unknown>) => {
        const abort = new AbortController();
        proxy.reset();
        proxy.before(method, 1, async () => {
          abort.abort(new Error('enough'));
          // Time for the client to go away.
          await new Promise((resolve) => setTimeout(resolve, 50));
        });
        const outcome = await run(abort.signal).then(
          () => 'done',
          () => 'not done',
        );
        return [outcome, await onDisk()];
      };
      expect(await during('MKCOL', (signal) => adapter.makeFolder(at('f'), { signal }))).toEqual([
        'done',
        ['a.txt', 'f'],
      ]);
      expect(
        await during('MOVE', (signal) => adapter.moveFile(at('a.txt'), at('b.txt'), { signal })),
      ).toEqual(['done', ['b.txt', 'f']]);
      expect(await during('DELETE', (signal) => adapter.removeFile(at('b.txt'), { signal }))).toEqual([
        'done',
        ['f'],
      ]);
    });

    it('a folder is made where its parent has gone at that moment', async () => {
      const { adapter, patient, onDisk } = openStore();
      await adapter.makeFolder(at('f'));
      proxy.before('MKCOL', 1, () => patient.removeFolder(at('f')));
      await adapter.makeFolder(at('f/g'));
      expect(await onDisk()).toEqual(['f', 'f/g']);
    });

    const EVERY: readonly (readonly [what: string, effect: Effect, code: string])[] = [
      ['resets every connection', { kind: 'reset' }, 'STORAGE_UNAVAILABLE'],
      ['never answers', { kind: 'stall' }, 'STORAGE_TIMEOUT'],
      ['answers 500', { kind: 'answer', status: 500 }, 'STORAGE_UNAVAILABLE'],
      ['answers 503', { kind: 'answer', status: 503 }, 'STORAGE_UNAVAILABLE'],
      ['answers 401', { kind: 'answer', status: 401 }, 'STORAGE_DENIED'],
      [
        'wants another login',
        { kind: 'answer', status: 401, headers: { 'www-authenticate': 'Basic realm="x"' } },
        'STORAGE_DENIED',
      ],
      ['answers 403', { kind: 'answer', status: 403 }, 'STORAGE_DENIED'],
      ['answers 429', { kind: 'answer', status: 429 }, 'BUSY'],
      ['answers 504', { kind: 'answer', status: 504 }, 'STORAGE_TIMEOUT'],
      ['answers 507', { kind: 'answer', status: 507 }, 'STORAGE_FULL'],
      ['answers with a page', { kind: 'answer', status: 200 }, 'STORAGE_UNAVAILABLE'],
      ['answers with no multistatus', { kind: 'answer', status: 207 }, 'CORRUPT'],
    ];
    it.each(EVERY)(
      'a server that %s ends every operation in the right error and changes nothing',
      async (_what, effect, code) => {
        const { adapter, patient, onDisk, settled } = openStore(patience(effect));
        await put(patient, 'f/a.txt', 'a');
        const before = await onDisk();
        proxy.fail({ operation: '*', effect });
        const operations: Readonly<Record<string, () => Promise<unknown>>> = {
          stat: () => adapter.stat(at('f/a.txt')),
          list: async () => {
            for await (const page of adapter.list(at('f'))) expect(page).toBeDefined();
          },
          read: () => adapter.read(at('f/a.txt')),
          write: () => put(adapter, 'f/b.txt', 'b'),
          create: () => put(adapter, 'f/b.txt', 'b', { createOnly: true }),
          large: () => put(adapter, 'f/b.bin', LARGE, { size: LARGE.length }),
          makeFolder: () => adapter.makeFolder(at('g')),
          removeFile: () => adapter.removeFile(at('f/a.txt')),
          removeFolder: () => adapter.removeFolder(at('f')),
          copyFile: () => adapter.copyFile(at('f/a.txt'), at('f/c.txt')),
          moveFile: () => adapter.moveFile(at('f/a.txt'), at('f/c.txt'), { createOnly: true }),
          copyFolder: () => adapter.copyFolder(at('f'), at('h')),
          moveFolder: () => adapter.moveFolder(at('f'), at('i')),
        };
        const outcomes = await Promise.all(
          Object.entries(operations).map(async ([name, run]) => [name, await codeOf(run())]),
        );
        expect(outcomes).toEqual(Object.keys(operations).map((name) => [name, code]));
        proxy.reset();
        await settled(before);
      },
    );

    it('a port without a listener is an unavailable storage', async () => {
      const adapter = openDavStore({ url: 'http://127.0.0.1:1/dav/' }, login);
      open.push(adapter);
      expect(await codeOf(adapter.stat(at('a.txt')))).toBe('STORAGE_UNAVAILABLE');
      expect(await codeOf(put(adapter, 'a.txt', 'a'))).toBe('STORAGE_UNAVAILABLE');
    });

    it('a wrong login is a refusal, at the first request and in the middle of an upload', async () => {
      const { adapter, onDisk } = openStore();
      await put(adapter, 'a.txt', 'old');
      expect(await codeOf(openStore({ password: 'wrong' }).adapter.stat(at('a.txt')))).toBe('STORAGE_DENIED');
      proxy.fail({ operation: 'PUT', effect: { kind: 'answer', status: 401 } });
      expect(await codeOf(put(adapter, 'a.txt', LARGE))).toBe('STORAGE_DENIED');
      proxy.fail({ operation: 'MOVE', effect: { kind: 'answer', status: 401 } });
      expect(await codeOf(put(adapter, 'a.txt', LARGE))).toBe('STORAGE_DENIED');
      expect(await onDisk()).toEqual(['a.txt']);
    });

    const READS: readonly (readonly [what: string, effect: Effect, code: string])[] = [
      ['is reset in the middle', { kind: 'cut' }, 'STORAGE_UNAVAILABLE'],
      ['ends in the middle', { kind: 'end-early' }, 'STORAGE_UNAVAILABLE'],
      ['stalls in the middle', { kind: 'stall-answer' }, 'STORAGE_TIMEOUT'],
      ['is shorter than the file', { kind: 'short' }, 'CORRUPT'],
    ];
    it.each(READS)('a download that %s breaks with the right error', async (_what, effect, code) => {
      const { adapter, patient } = openStore(patience(effect));
      await put(patient, 'a.bin', LARGE);
      proxy.fail({ operation: 'GET', effect });
      const whole = async () => buffer((await adapter.read(at('a.bin'))).stream);
      const part = async () =>
        buffer((await adapter.read(at('a.bin'), { range: { start: 9, end: MB } })).stream);
      expect(await Promise.all([codeOf(whole()), codeOf(part())])).toEqual([code, code]);
    });

    it.each<readonly [string, Effect, string]>([
      ['is cut', { kind: 'cut' }, 'STORAGE_UNAVAILABLE'],
      ['ends early', { kind: 'end-early' }, 'STORAGE_UNAVAILABLE'],
      ['stalls', { kind: 'stall-answer' }, 'STORAGE_TIMEOUT'],
      ['is half of one', { kind: 'short' }, 'CORRUPT'],
    ])('a listing that %s is no short listing but an error', async (_what, effect, code) => {
      const { adapter, patient, folder } = openStore(patience(effect));
      await put(patient, 'first.txt', 'a');
      for (let index = 0; index < 50; index += 1) await writeFile(join(folder, `${String(index)}.txt`), 'x');
      proxy.fail({ operation: 'LIST', effect });
      const list = async (): Promise<void> => {
        for await (const page of adapter.list(at(''))) expect(page).toBeDefined();
      };
      expect(await codeOf(list())).toBe(code);
    });

    const UPLOADS: readonly (readonly [what: string, operation: string, effect: Effect, code: RegExp])[] = [
      ['is reset', 'PUT', { kind: 'cut-upload' }, /^STORAGE_UNAVAILABLE$/u],
      ['is no longer taken', 'PUT', { kind: 'stall-upload' }, /^STORAGE_TIMEOUT$/u],
      ['is refused for its size', 'PUT', { kind: 'answer', status: 413 }, /^STORAGE_DENIED$/u],
      ['gets no answer', 'PUT', { kind: 'stall' }, /^STORAGE_TIMEOUT$/u],
      ['loses its answer', 'PUT', { kind: 'lose' }, /^STORAGE_UNAVAILABLE$/u],
      ['finds no room', 'PUT', { kind: 'answer', status: 507 }, /^STORAGE_FULL$/u],
      ['cannot be named', 'MOVE', { kind: 'answer', status: 500 }, /^STORAGE_UNAVAILABLE$/u],
      ['gets no answer to its naming', 'MOVE', { kind: 'stall' }, /^STORAGE_TIMEOUT$/u],
    ];
    it.each(UPLOADS)(
      'an upload that %s leaves the old file and nothing temporary',
      async (_what, operation, effect, code) => {
        const { adapter, patient, settled, text } = openStore(patience(effect));
        await put(patient, 'a.bin', 'old');
        proxy.fail({ operation, effect });
        const uploads = [
          put(adapter, 'a.bin', LARGE, { size: LARGE.length }),
          put(adapter, 'new.bin', LARGE, { createOnly: true }),
        ];
        for (const upload of await Promise.all(uploads.map(codeOf))) expect(upload).toMatch(code);
        proxy.reset();
        await settled(['a.bin']);
        expect(await text('a.bin')).toBe('old');
      },
    );

    it('answers that get lost are no failures where what was done can be seen', async () => {
      const { adapter, onDisk, text } = openStore();
      await put(adapter, 'a.txt', 'old');
      await put(adapter, 'learnt.txt', 'x', { createOnly: true });
      const lose = (operation: string) => proxy.fail({ operation, effect: { kind: 'lose' }, times: 1 });
      lose('MOVE');
      await put(adapter, 'created.txt', 'created', { createOnly: true });
      lose('MOVE');
      await adapter.moveFile(at('created.txt'), at('moved.txt'), { createOnly: true });
      proxy.fail({ operation: 'MOVE', effect: { kind: 'lose' }, from: 2, times: 1 });
      await put(adapter, 'a.txt', 'new');
      await put(adapter, 'f/b.txt', 'b');
      lose('MOVE');
      await adapter.moveFolder(at('f'), at('g'));
      lose('MKCOL');
      await put(adapter, 'made/c.txt', 'c');
      const late = (operation: string) =>
        proxy.fail({ operation, effect: { kind: 'lose', status: 504 }, times: 1 });
      late('MOVE');
      await adapter.moveFolder(at('made'), at('h'));
      late('DELETE');
      await adapter.removeFolder(at('h'));
      lose('DELETE');
      await adapter.removeFile(at('learnt.txt'));
      lose('PROPFIND');
      await adapter.stat(at('a.txt'));
      proxy.reset();
      expect(await onDisk()).toEqual(['a.txt', 'g', 'g/b.txt', 'moved.txt']);
      expect([await text('a.txt'), await text('moved.txt')]).toEqual(['new', 'created']);
    });

    it.each([{ kind: 'lose' }, { kind: 'lose', status: 504 }] satisfies Effect[])(
      'the reservation of a name is recognised without its response (%o), and that of another process is not',
      async (effect) => {
        const { adapter, folder, onDisk, text } = openStore();
        const other = openDavStore({ url: `${proxy.endpoint}/dav/` }, login, basename(folder));
        open.push(other);
        const lose = () => proxy.fail({ operation: 'MKCOL', effect, times: 1 });
        await put(adapter, 'learnt.txt', 'x', { createOnly: true });
        lose();
        await put(adapter, 'a.txt', 'a', { createOnly: true });
        const long = new Date(Date.now() - 4000);
        proxy.before('MOVE', 1, async () => {
          const reserved = (await readdir(folder)).find((name) => /-8\w+-\w+-\w+\.tmp$/u.test(name));
          await utimes(join(folder, reserved ?? ''), long, long);
          lose();
          expect(await codeOf(put(other, 'b.txt', 'other', { createOnly: true }))).toBe('ALREADY_EXISTS');
        });
        await put(adapter, 'b.txt', 'b', { createOnly: true });
        expect(await onDisk()).toEqual(['a.txt', 'b.txt', 'learnt.txt']);
        expect([await text('a.txt'), await text('b.txt')]).toEqual(['a', 'b']);
      },
    );

    it('wherever in an operation the server goes away, the file is the old or the new one and nothing remains', async () => {
      const { adapter, folder, settled } = openStore();
      await put(adapter, 'learnt.txt', 'x', { createOnly: true });
      const old = { 'a.txt': 'old', 'b.txt': 'other' };
      const runs: readonly (readonly [
        name: string,
        run: () => Promise<unknown>,
        done: Readonly<Record<string, string>>,
      ])[] = [
        ['replace', () => put(adapter, 'a.txt', 'new'), { ...old, 'a.txt': 'new' }],
        ['create', () => put(adapter, 'c.txt', 'new', { createOnly: true }), { ...old, 'c.txt': 'new' }],
        [
          'copy',
          () => adapter.copyFile(at('a.txt'), at('c.txt'), { createOnly: true }),
          { ...old, 'c.txt': 'old' },
        ],
        ['copy over', () => adapter.copyFile(at('a.txt'), at('b.txt')), { 'a.txt': 'old', 'b.txt': 'old' }],
        [
          'move',
          () => adapter.moveFile(at('a.txt'), at('c.txt'), { createOnly: true }),
          { 'b.txt': 'other', 'c.txt': 'old' },
        ],
        ['move over', () => adapter.moveFile(at('a.txt'), at('b.txt')), { 'b.txt': 'old' }],
        ['remove', () => adapter.removeFile(at('a.txt')), { 'b.txt': 'other' }],
      ];
      const contents = async (): Promise<Readonly<Record<string, string>>> => {
        const names = (await readdir(folder)).filter((name) => /^[abc]\.txt$/u.test(name));
        return Object.fromEntries(
          await Promise.all(
            names.map(async (name) => [name, await readFile(join(folder, name), 'utf8')] as const),
          ),
        );
      };
      for (const [name, run, done] of runs) {
        for (let from = 1, reached = true; reached; from += 1) {
          expect(from, name).toBeLessThan(20);
          await adapter.removeFile(at('c.txt')).catch(() => undefined);
          for (const [file, text] of Object.entries(old)) await put(adapter, file, text);
          // Away for this operation and what it clears away.
          proxy.reset();
          const isLost = from % 2 === 0;
          proxy.fail({ operation: '*', effect: { kind: isLost ? 'lose' : 'reset' }, from });
          const code = await codeOf(run());
          const hit = proxy.seen[from - 1];
          reached = hit !== undefined;
          proxy.reset();
          const after = await contents();
          if (code === 'succeeded') expect([name, from, after]).toEqual([name, from, done]);
          else {
            expect([name, from, code]).toEqual([name, from, 'STORAGE_UNAVAILABLE']);
            expect(
              [after, old, done].filter((one) => JSON.stringify(one) === JSON.stringify(after)),
            ).toHaveLength(2);
          }
          const rest = [...Object.keys(after), 'learnt.txt'].sort();
          if (isLost && hit?.operation === 'MKCOL') await later(folder, () => settled(rest));
          else await settled(rest);
        }
      }
    }, 60_000);

    it('all connections in use by readers that do not read is a timeout, not a wait without end', async () => {
      const { adapter, patient } = openStore({ connections: 2, timeout: 2 });
      await put(patient, 'a.bin', LARGE);
      const readers = [await adapter.read(at('a.bin'))];
      expect(await codeOf(adapter.read(at('a.bin')))).toBe('STORAGE_TIMEOUT');
      // Downloads leave a connection to everything else.
      await put(adapter, 'b.txt', 'b');
      // Readers that give up without having read anything free their connections.
      for (const { stream } of readers) stream.destroy();
      expect((await adapter.stat(at('a.bin'))).size).toBe(LARGE.length);
    });

    it('an abort ends a stalled operation with its reason, at the latest when the server has had its time', async () => {
      // What changes something is not broken off on its way.
      const { adapter, patient, settled } = openStore({ timeout: 2 });
      await put(patient, 'f/a.txt', 'a');
      for (const operation of ['PUT', 'MOVE', 'MKCOL']) {
        proxy.fail({ operation, effect: { kind: 'stall' } });
        const abort = new AbortController();
        const { signal } = abort;
        const writing = put(adapter, 'f/b.txt', 'b', { createOnly: true, signal });
        await expect.poll(() => proxy.counts()[operation] ?? 0).toBeGreaterThan(0);
        abort.abort(new Error('enough'));
        await expect(writing).rejects.toThrow('enough');
        proxy.reset();
      }
      await settled(['f', 'f/a.txt']);
    });

    it.each([412, 500])(
      'copies a folder again whose contents have changed meanwhile (%i)',
      async (status) => {
        const { adapter, onDisk } = openStore();
        await put(adapter, 'f/a.txt', 'a');
        // As a server leaves it that has copied a part.
        proxy.fail({ operation: 'COPY', effect: { kind: 'lose', status }, times: 2 });
        await adapter.copyFolder(at('f'), at('g'));
        expect(await onDisk()).toEqual(['f', 'f/a.txt', 'g', 'g/a.txt']);
        proxy.fail({ operation: 'COPY', effect: { kind: 'lose', status } });
        expect(await codeOf(adapter.copyFolder(at('f'), at('h')))).toBe('STORAGE_UNAVAILABLE');
        expect(await onDisk()).toEqual(['f', 'f/a.txt', 'g', 'g/a.txt']);
      },
    );

    it('a folder that the server moved in part, or not, is lost nowhere', async () => {
      const { adapter, folder, text } = openStore();
      await put(adapter, 'f/a.txt', 'a');
      proxy.fail({ operation: 'MOVE', effect: { kind: 'answer', status: 500 } });
      expect(await codeOf(adapter.moveFolder(at('f'), at('g')))).toBe('STORAGE_UNAVAILABLE');
      // As a server leaves it that copies and then fails.
      await mkdir(join(folder, 'g'));
      await writeFile(join(folder, 'g', 'a.txt'), 'a');
      expect(await codeOf(adapter.moveFolder(at('f'), at('g')))).toBe('ALREADY_EXISTS');
      expect([await text('f/a.txt'), await text('g/a.txt')]).toEqual(['a', 'a']);
    });
  },
);
