import { describe, expect, it } from 'vitest';
import { startService, type Answer } from '../protocol/service.ts';

const RACERS = 20;
const upTo = (count: number): number[] => Array.from({ length: count }, (_, index) => index);
const count = (answers: readonly Answer[], status: number): number =>
  answers.filter((answer) => answer.status === status).length;

describe('simultaneous changes of items', () => {
  it('rename a file to exactly one of many names', async () => {
    const service = await startService();
    const files = service.source('files');
    await files.put({ 'a.txt': 'content' });
    const answers = await Promise.all(
      upTo(RACERS).map((racer) =>
        service.call('fileRename', { name: 'a.txt', newname: `b${String(racer)}` }),
      ),
    );
    expect(count(answers, 200)).toBe(1);
    expect(count(answers, 404)).toBe(RACERS - 1);
    const [path, ...others] = await files.paths();
    expect(others).toEqual([]);
    expect(await files.text(path ?? '')).toBe('content');
  });

  it('give one name to exactly one of many files and lose none', async () => {
    const service = await startService();
    const files = service.source('files');
    await files.put(
      Object.fromEntries(upTo(RACERS).map((racer) => [`a${String(racer)}.txt`, String(racer)])),
    );
    const answers = await Promise.all(
      upTo(RACERS).map((racer) =>
        service.call('fileRename', { name: `a${String(racer)}.txt`, newname: 'b' }),
      ),
    );
    expect(count(answers, 200)).toBe(1);
    expect(count(answers, 400)).toBe(RACERS - 1);
    const paths = await files.paths();
    expect(paths).toHaveLength(RACERS);
    const contents = await Promise.all(paths.map((path) => files.text(path)));
    expect(contents.sort()).toEqual(upTo(RACERS).map(String).sort());
  });

  it('move many files of one name to exactly one place', async () => {
    const service = await startService();
    const files = service.source('files');
    await files.put({
      'target/': '',
      ...Object.fromEntries(upTo(RACERS).map((racer) => [`${String(racer)}/a.txt`, String(racer)])),
    });
    const answers = await Promise.all(
      upTo(RACERS).map((racer) =>
        service.call('fileMove', { from: `${String(racer)}/a.txt`, path: 'target' }),
      ),
    );
    expect(count(answers, 200)).toBe(1);
    expect(count(answers, 400)).toBe(RACERS - 1);
    expect((await files.paths()).filter((path) => path.endsWith('a.txt'))).toHaveLength(RACERS);
  });

  it('create a folder exactly once', async () => {
    const service = await startService();
    const answers = await Promise.all(upTo(RACERS).map(() => service.call('folderCreate', { name: 'new' })));
    expect(count(answers, 200)).toBe(1);
    expect(count(answers, 400)).toBe(RACERS - 1);
    expect(await service.source('files').paths()).toEqual(['new/']);
  });

  it('remove a file exactly once', async () => {
    const service = await startService();
    await service.source('files').put({ 'a.txt': 'a' });
    const answers = await Promise.all(upTo(RACERS).map(() => service.call('fileRemove', { name: 'a.txt' })));
    expect(count(answers, 200)).toBe(1);
    expect(count(answers, 404)).toBe(RACERS - 1);
  });

  it('copy a folder as often as asked, each copy whole', async () => {
    const service = await startService();
    const files = service.source('files');
    const inside = Object.fromEntries(upTo(8).map((file) => [`dir/deep/${String(file)}.txt`, String(file)]));
    await files.put(inside);
    const answers = await Promise.all(upTo(8).map(() => service.call('folderCopy', { from: 'dir' })));
    expect(count(answers, 200)).toBe(8);
    const paths = await files.paths();
    for (const copy of ['dir', ...upTo(8).map((number) => `dir (${String(number + 1)})`)]) {
      expect(paths.filter((path) => path.startsWith(`${copy}/`))).toHaveLength(2 + 8);
    }
  });

  it('lose nothing when two folders are moved into each other', async () => {
    const service = await startService();
    const files = service.source('files');
    for (let round = 0; round < 5; round += 1) {
      await files.put({ 'one/a.txt': 'a', 'two/b.txt': 'b' });
      const answers = await Promise.all([
        service.call('folderMove', { from: 'one', path: 'two' }),
        service.call('folderMove', { from: 'two', path: 'one' }),
      ]);
      expect(count(answers, 200)).toBe(1);
      const paths = await files.paths();
      expect(paths.filter((path) => path.endsWith('/a.txt'))).toHaveLength(1);
      expect(paths.filter((path) => path.endsWith('/b.txt'))).toHaveLength(1);
      for (const name of ['one', 'two']) await service.call('folderRemove', { name });
    }
  });
});
