import { mkdir, mkdtemp, readdir, readFile, rename, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { Readable } from 'node:stream';
import { text } from 'node:stream/consumers';
import { afterEach, beforeEach, describe, expect, it } from 'vitest';
import type { LocalAdapter } from '../../packages/stowage/dist/adapters/local/adapter.js';
import { ChangedMeanwhileError, SourcePath } from 'stowage/storage';
import { HandleConfinement, createSilentLogger, openLocalAdapter, restoreName } from '#internals';

const ROUNDS = 60;
const at = (path: string) => SourcePath.parse(path);
const content = (bytes: string) => Readable.from([Buffer.from(bytes)], { objectMode: false });

describe('a file that is replaced at the same moment', () => {
  let base: string;
  let root: string;
  let adapter: LocalAdapter;

  beforeEach(async () => {
    base = await mkdtemp(join(tmpdir(), 'stowage-replacing-'));
    root = join(base, 'root');
    await mkdir(root);
    adapter = await openLocalAdapter({ root, log: createSilentLogger() });
  });
  afterEach(async () => {
    await adapter.close();
    await rm(base, { recursive: true });
  });

  const files = async (): Promise<Record<string, string>> => {
    const names = (await readdir(root)).filter((name) => !name.startsWith('.'));
    return Object.fromEntries(
      await Promise.all(names.map(async (name) => [name, await readFile(join(root, name), 'utf8')] as const)),
    );
  };

  /** Another process that knows nothing of this one. */
  const replaceFromOutside = async (name: string, bytes: string): Promise<void> => {
    await writeFile(join(base, 'waiting'), bytes);
    await rename(join(base, 'waiting'), join(root, name));
  };

  it.each(['this process', 'another one'])('by %s keeps both versions when it is renamed', async (who) => {
    for (let round = 0; round < ROUNDS; round += 1) {
      const [old, fresh] = [`old ${String(round)}`, `fresh ${String(round)}`];
      await adapter.write(at('a.txt'), content(old));
      await Promise.all([
        adapter.moveFile(at('a.txt'), at(`b${String(round)}.txt`), { createOnly: true }),
        who === 'another one'
          ? replaceFromOutside('a.txt', fresh)
          : adapter.write(at('a.txt'), content(fresh)),
      ]);
      expect(Object.values(await files())).toContain(fresh);
    }
  });

  it('stays when the version that was to be removed is another one', async () => {
    let removed = 0;
    for (let round = 0; round < ROUNDS; round += 1) {
      const seen = await adapter.write(at('a.txt'), content('old'));
      const removing = adapter.removeFile(at('a.txt'), { ifUnchanged: seen }).then(
        () => (removed += 1),
        (error: unknown) => expect(error).toBeInstanceOf(ChangedMeanwhileError),
      );
      await Promise.all([removing, replaceFromOutside('a.txt', `fresh ${String(round)}`)]);
      expect(Object.values(await files())).toContain(`fresh ${String(round)}`);
    }
    const seen = await adapter.stat(at('a.txt'));
    await adapter.removeFile(at('a.txt'), { ifUnchanged: seen });
    expect(await files()).toEqual({});
    expect((await readdir(root)).filter((name) => !name.startsWith('.'))).toEqual([]);
  });

  it('is not replaced by an edit of the version before, and a removed one does not come back', async () => {
    const { etag: ifMatch } = await adapter.write(at('a.txt'), content('old'));
    await adapter.write(at('a.txt'), content('fresh'));
    await expect(adapter.write(at('a.txt'), content('edited'), { ifMatch })).rejects.toBeInstanceOf(
      ChangedMeanwhileError,
    );
    expect(await files()).toEqual({ 'a.txt': 'fresh' });
    const { etag } = await adapter.stat(at('a.txt'));
    await adapter.removeFile(at('a.txt'));
    await expect(adapter.write(at('a.txt'), content('edited'), { ifMatch: etag })).rejects.toBeInstanceOf(
      ChangedMeanwhileError,
    );
    expect(await files()).toEqual({});
  });

  it('loses none of many edits of one version but one', async () => {
    for (let round = 0; round < 20; round += 1) {
      const { etag: ifMatch } = await adapter.write(at('a.txt'), content('old'));
      const outcomes = await Promise.allSettled(
        Array.from({ length: 8 }, (_, index) =>
          adapter.write(at('a.txt'), content(`edit ${String(index)}`), { ifMatch }),
        ),
      );
      const winners = outcomes.flatMap(({ status }, index) => (status === 'fulfilled' ? [index] : []));
      expect(winners).toHaveLength(1);
      expect(await files()).toEqual({ 'a.txt': `edit ${String(winners[0])}` });
    }
  });

  it('by another that gets its name is not lost by an edit of the version before', async () => {
    for (let round = 0; round < ROUNDS; round += 1) {
      const { etag: ifMatch } = await adapter.write(at('a.txt'), content('old'));
      await adapter.write(at('b.txt'), content('moved'));
      const staged = await adapter.stage(content('edited'));
      const [edit] = await Promise.allSettled([
        staged.commit(at('a.txt'), { ifMatch }),
        adapter.moveFile(at('b.txt'), at('a.txt')),
      ]);
      await staged.discard();
      // An edit that succeeds was the first of the two.
      expect(await files(), edit.status).toEqual({ 'a.txt': 'moved' });
    }
  });
});

describe('names that Unicode composes to others', () => {
  // Bengali, Hindi and Hebrew letters, a CJK compatibility ideograph, and the signs of Kelvin, Angstrom and
  // Ohm.
  const raws = [
    '\u09df.txt',
    '\u09dc.txt',
    '\u0958.txt',
    '\ufb2a.txt',
    '\uf900.txt',
    '\u212a.txt',
    '\u212b.txt',
    '\u2126.txt',
  ];

  it('are shown, read, renamed and removed, in a small folder and in a big one', async () => {
    for (const others of [0, 700]) {
      const root = await mkdtemp(join(tmpdir(), 'stowage-spelling-'));
      for (const raw of raws) await writeFile(join(root, raw), raw);
      for (let number = 0; number < others; number += 1)
        await writeFile(join(root, `${String(number)}.x`), '');
      const adapter = await openLocalAdapter({ root, log: createSilentLogger() });
      try {
        const shown: string[] = [];
        for await (const page of adapter.list(at(''))) shown.push(...page.map(({ name }) => name));
        expect(shown.filter((name) => name.endsWith('.txt')).sort()).toEqual(
          raws.map((raw) => raw.normalize('NFC')).sort(),
        );
        for (const raw of raws) {
          const { stream } = await adapter.read(at(raw));
          expect(await text(stream)).toBe(raw);
        }
        const [first = '', second = ''] = raws;
        await adapter.moveFile(at(first), at('renamed.txt'), { createOnly: true });
        await adapter.write(at(second), content('replaced'));
        await adapter.removeFile(at(raws[2] ?? ''));
        const left = (await readdir(root)).filter((name) => name.endsWith('.txt')).sort();
        expect(left).toEqual(['renamed.txt', second, ...raws.slice(3)].sort());
        expect(await readFile(join(root, second), 'utf8')).toBe('replaced');
      } finally {
        await adapter.close();
        await rm(root, { recursive: true });
      }
    }
  });

  it('are counted when a listing leaves them out', async () => {
    for (const others of [0, 700]) {
      const root = await mkdtemp(join(tmpdir(), 'stowage-omitted-'));
      for (const raw of ['back\\slash.txt', 'a\u202eb.txt', '\u00e9.txt', 'e\u0301.txt'])
        await writeFile(join(root, raw), '');
      for (let number = 0; number < others; number += 1)
        await writeFile(join(root, `${String(number)}.x`), '');
      const adapter = await openLocalAdapter({ root, log: createSilentLogger() });
      try {
        for (const detail of ['names', 'full'] as const) {
          let omitted = 0;
          let seen = 0;
          const onOmitted = (count: number) => void (omitted += count);
          for await (const page of adapter.list(at(''), { detail, onOmitted })) seen += page.length;
          expect([omitted, seen]).toEqual([3, 1 + others]);
        }
      } finally {
        await adapter.close();
        await rm(root, { recursive: true });
      }
    }
  });
});

it.skipIf(process.platform !== 'linux')(
  'what was taken away is given back under a number when its name is taken meanwhile',
  async () => {
    const base = await mkdtemp(join(tmpdir(), 'stowage-given-back-'));
    const folder = await new HandleConfinement(base).openRoot();
    try {
      for (const [name, text] of Object.entries({ taken: 'ours', 'a.txt': 'theirs', 'a (1).txt': 'theirs' }))
        await writeFile(join(base, name), text);
      await writeFile(join(base, 'a-1.txt'), 'theirs');
      await restoreName(folder.at('taken'), folder, 'a.txt');
      const texts = await Promise.all(
        (await readdir(base)).map((name) => readFile(join(base, name), 'utf8')),
      );
      expect(texts.sort()).toEqual(['ours', 'theirs', 'theirs', 'theirs']);
      expect(await readFile(join(base, 'a.txt'), 'utf8')).toBe('theirs');
      expect(await readdir(base)).not.toContain('taken');
    } finally {
      await folder.close();
      await rm(base, { recursive: true });
    }
  },
);

it('a file that two processes move at the same moment arrives once', async () => {
  const root = await mkdtemp(join(tmpdir(), 'stowage-moved-twice-'));
  // Stores that share nothing in memory, as those of two processes.
  const log = createSilentLogger();
  const stores = await Promise.all([openLocalAdapter({ root, log }), openLocalAdapter({ root, log })]);
  try {
    for (let round = 0; round < ROUNDS; round += 1) {
      await stores[0].write(at(`${String(round)}/a.txt`), content('a'));
      await Promise.allSettled(
        stores.map((store, index) =>
          store.moveFile(at(`${String(round)}/a.txt`), at(`${String(round)}/to-${String(index)}.txt`), {
            createOnly: true,
          }),
        ),
      );
      expect(await readdir(join(root, String(round)))).toHaveLength(1);
    }
  } finally {
    await Promise.all(stores.map((store) => store.close()));
    await rm(root, { recursive: true });
  }
});
