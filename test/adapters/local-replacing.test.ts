import { mkdir, mkdtemp, readdir, readFile, rename, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { Readable } from 'node:stream';
import { afterEach, beforeEach, describe, expect, it } from 'vitest';
import type { LocalAdapter } from '../../dist/adapters/local/adapter.js';
import {
  ChangedMeanwhileError,
  HandleConfinement,
  SourcePath,
  createSilentLogger,
  openLocalAdapter,
  putBack,
} from '../../dist/internals.js';

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
    expect(await readdir(root)).toEqual([]);
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
      await putBack(folder.at('taken'), folder, 'a.txt');
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
