import { setImmediate as turn } from 'node:timers/promises';
import { registerStorageAdapter } from 'stowage';
import { StorageFullError, type StorageAdapter } from 'stowage/storage';
import { describe, expect, it, onTestFinished, vi } from 'vitest';
import { MemoryAdapter } from '#internals';
import { photo } from '../pictures/pictures.ts';
import { replacing } from '../protocol/changing-store.ts';
import { startService, type Answer, type Service } from '../protocol/service.ts';

const RACERS = 50;
const SIZE = 40_000;

/** A content of its own for each racer, so that a mixture of two would show. */
const contentOf = (racer: number): string =>
  String(racer)
    .padStart(4, '0')
    .repeat(SIZE / 4);

const uploadAtOnce = (service: Service, name: string, count = RACERS): Promise<readonly Answer[]> =>
  Promise.all(
    Array.from({ length: count }, (_, racer) =>
      service.upload([['files[0]', name, contentOf(racer)]], { path: 'sub' }),
    ),
  );

/** The racer whose whole content a file holds; fails when it is nobody's. */
const racerIn = async (service: Service, path: string): Promise<number> => {
  const text = await service.source('files').text(path);
  const racer = Number(text.slice(0, 4));
  expect(text === contentOf(racer), `${path} is whole`).toBe(true);
  return racer;
};

const upTo = (count: number): number[] => Array.from({ length: count }, (_, index) => index);

const ascending = (one: number, other: number): number => one - other;

describe('simultaneous uploads of one name', () => {
  it('give as many whole files under addNumber, and every answer names its own', async () => {
    const service = await startService();
    const files = service.source('files');
    await files.put({ 'sub/': '' });
    const answers = await uploadAtOnce(service, 'a.txt');
    expect(answers.map(({ status }) => status)).toEqual(upTo(RACERS).map(() => 200));
    const expected = upTo(RACERS).map((number) => `sub/a${number === 0 ? '' : `-${String(number)}`}.txt`);
    expect(await files.paths()).toEqual(['sub/', ...expected].sort());
    for (const [racer, { data }] of answers.entries()) {
      const [path] = data['files'] as string[];
      expect(await racerIn(service, path ?? '')).toBe(racer);
    }
  });

  it('skip existing names, whatever created them, and fill gaps', async () => {
    const service = await startService();
    const files = service.source('files');
    const old = upTo(40).map((number) => [`sub/a-${String(2 * number + 1)}.txt`, 'old'] as const);
    await files.put(Object.fromEntries(old));
    await uploadAtOnce(service, 'a.txt', 20);
    const even = upTo(20).map((number) => (number === 0 ? 'sub/a.txt' : `sub/a-${String(2 * number)}.txt`));
    expect(await files.paths()).toEqual(['sub/', ...old.map(([path]) => path), ...even].sort());
    const racers = await Promise.all(even.map((path) => racerIn(service, path)));
    expect(racers.sort(ascending)).toEqual(upTo(20));
  });

  it('give exactly one success under error', async () => {
    const service = await startService({ saveSameFileNameStrategy: 'error' });
    const files = service.source('files');
    await files.put({ 'sub/': '' });
    const answers = await uploadAtOnce(service, 'a.txt');
    const winners = upTo(RACERS).filter((racer) => answers[racer]?.status === 200);
    expect(winners).toHaveLength(1);
    expect(answers.filter(({ status }) => status === 400)).toHaveLength(RACERS - 1);
    expect(await files.paths()).toEqual(['sub/', 'sub/a.txt']);
    expect(await racerIn(service, 'sub/a.txt')).toBe(winners[0]);
  });

  it.each(['error', 'replace', 'addNumber'] as const)(
    'do not fail because of one that fails, under %s',
    async (saveSameFileNameStrategy) => {
      const memory = new MemoryAdapter();
      let [begun, fail] = [(): void => undefined, (): void => undefined];
      const hasBegun = new Promise<void>((resolve) => (begun = resolve));
      const mayFail = new Promise<void>((resolve) => (fail = resolve));
      let count = 0;
      const stage: StorageAdapter['stage'] = async (...given) => {
        const staged = await memory.stage(...given);
        if ((count += 1) > 1) return staged;
        const commit = async (): Promise<never> => {
          begun();
          await mayFail;
          throw new StorageFullError();
        };
        return { size: staged.size, open: () => staged.open(), commit, discard: () => staged.discard() };
      };
      const storageAdapter = `fails once: ${saveSameFileNameStrategy}`;
      registerStorageAdapter(storageAdapter, { create: () => replacing(memory, { stage }) });
      const sources = { files: { storageAdapter, root: undefined } };
      const service = await startService({ saveSameFileNameStrategy, sources });
      const failing = service.upload([['files[0]', 'a.txt', 'one']]);
      await hasBegun;
      const other = service.upload([['files[0]', 'a.txt', 'two']]);
      for (let turns = 0; turns < 100; turns += 1) await turn();
      fail();
      expect((await failing).status).toBe(500);
      expect((await other).status).toBe(200);
    },
  );

  it('give one whole file under replace', async () => {
    const service = await startService({ saveSameFileNameStrategy: 'replace' });
    const files = service.source('files');
    await files.put({ 'sub/a.txt': 'old' });
    const answers = await uploadAtOnce(service, 'a.txt');
    expect(answers.map(({ status }) => status)).toEqual(upTo(RACERS).map(() => 200));
    expect(await files.paths()).toEqual(['sub/', 'sub/a.txt']);
    await racerIn(service, 'sub/a.txt');
  });

  it('store all files of a request or none under error', async () => {
    const service = await startService({ saveSameFileNameStrategy: 'error' });
    const files = service.source('files');
    const answers = await Promise.all(
      upTo(20).map((racer) =>
        service.upload([
          ['files[0]', `own-${String(racer)}.txt`, contentOf(racer)],
          ['files[1]', 'shared.txt', contentOf(racer)],
        ]),
      ),
    );
    const winners = upTo(20).filter((racer) => answers[racer]?.status === 200);
    expect(winners).toHaveLength(1);
    expect(await files.paths()).toEqual([`own-${String(winners[0])}.txt`, 'shared.txt']);
  });

  it('see whole old or whole new bytes while a file is replaced', async () => {
    const service = await startService({ saveSameFileNameStrategy: 'replace' });
    await service.source('files').put({ 'sub/a.txt': contentOf(0) });
    let done = false;
    const writing = uploadAtOnce(service, 'a.txt', 20).finally(() => {
      done = true;
    });
    let reads = 0;
    while (!done || reads === 0) {
      const response = await service.get('fileDownload', { path: 'sub', name: 'a.txt' });
      // A version that is replaced between its headers and its bytes is not sent in halves.
      if (response.status === 412) continue;
      const text = await response.text();
      expect(response.status).toBe(200);
      expect(text === contentOf(Number(text.slice(0, 4)))).toBe(true);
      reads += 1;
    }
    await writing;
  });
});

describe('uploads while their folder is renamed or removed', () => {
  it.each([
    ['folderRename', { name: 'sub', newname: 'other' }, ['other/']],
    ['folderRemove', { name: 'sub' }, []],
  ] as const)('do not make it again after a %s', async (action, fields, left) => {
    const service = await startService(
      {},
      {
        beforeEvent: async ({ type }) => {
          if (type === 'file.created') expect((await service.call(action, fields)).status).toBe(200);
        },
      },
    );
    const files = service.source('files');
    await files.put({ 'sub/': '' });
    const { status, messages } = await service.upload([['files[0]', 'a.txt', 'a']], { path: 'sub' });
    expect([status, messages[0]]).toEqual([404, 'The folder was not found.']);
    expect(await files.paths()).toEqual(left);
  });

  it.each([
    ['folderCreate', { path: 'sub', name: 'new' }],
    ['fileCopy', { path: 'sub', from: 'a.png' }],
    ['imageRotate', { path: 'sub', name: 'b.png', newname: 'c.png', angle: '90' }],
    ['fileUpload', { path: 'sub' }],
  ])('nor does %s, if the hook takes long', async (action, fields) => {
    vi.useFakeTimers({ toFake: ['Date'] });
    onTestFinished(() => void vi.useRealTimers());
    const service = await startService(
      { createThumb: false },
      {
        beforeEvent: async ({ type }) => {
          if (type === 'folder.removed') return;
          expect((await service.call('folderRemove', { name: 'sub' })).status).toBe(200);
          vi.setSystemTime(Date.now() + 6000);
        },
      },
    );
    const files = service.source('files');
    await files.put({ 'sub/b.png': await photo(8, 8), 'a.png': 'a' });
    const answer = await (action === 'fileUpload'
      ? service.upload([['files[0]', 'a.txt', 'a']], fields)
      : service.call(action, fields));
    expect([answer.status, await files.paths()]).toEqual([404, ['a.png']]);
  });

  it('are stored whole or refused, and leave nothing behind', async () => {
    const service = await startService();
    const files = service.source('files');
    for (let round = 0; round < 5; round += 1) {
      await files.put({ 'sub/': '' });
      const [removal, ...answers] = await Promise.all([
        service.call('folderRemove', { name: 'sub' }),
        ...upTo(10).map((racer) =>
          service.upload([['files[0]', `${String(racer)}.txt`, contentOf(racer)]], { path: 'sub' }),
        ),
      ]);
      expect([200, 404]).toContain(removal.status);
      for (const { status } of answers) expect([200, 404]).toContain(status);
      const left = await files.paths();
      for (const path of left) if (!path.endsWith('/')) await racerIn(service, path);
      expect(left.filter((path) => !/^sub\/(?:\d+\.txt)?$/u.test(path))).toEqual([]);
      await service.call('folderRemove', { name: 'sub' });
    }
  });
});
