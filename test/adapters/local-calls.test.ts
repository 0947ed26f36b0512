import { execFile } from 'node:child_process';
import { existsSync } from 'node:fs';
import { mkdtemp, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { promisify } from 'node:util';
import { afterEach, beforeEach, describe, expect, it } from 'vitest';

const run = promisify(execFile);

const SCRIPT = fileURLToPath(new URL('local-calls.mjs', import.meta.url));
const HOOK = ['--import', new URL('local-calls-hook.mjs', import.meta.url).href];

const MAKE_DEEP = `
  process.chdir(process.argv[1]);
  fs.mkdirSync('deep');
  process.chdir('deep');
  for (let level = 0; level < 700; level += 1) {
    fs.mkdirSync('level');
    fs.writeFileSync('file', '');
    process.chdir('level');
  }`;

let root: string;
beforeEach(async () => {
  root = await mkdtemp(join(existsSync('/dev/shm') ? '/dev/shm' : tmpdir(), 'stowage-calls-'));
});
afterEach(() => rm(root, { recursive: true, force: true }));

const answerOf = async <Answer>(scenario: string): Promise<Answer> => {
  const { stdout } = await run(process.execPath, [...HOOK, SCRIPT, root, scenario]);
  return JSON.parse(stdout) as Answer;
};

describe.skipIf(process.platform !== 'linux')('the calls of the local adapter (needs /proc)', () => {
  it('flush content before it gets its name, and the folder after, before the answer', async () => {
    const calls = await answerOf<Record<string, string[]>>('flushes');
    /** Without the temporary folder's coming and going. */
    const namesAndFlushes = (operation: string) =>
      (calls[operation] ?? []).filter((call) => !call.includes('AREA') && call !== 'unlink TEMP');
    expect(namesAndFlushes('created')).toEqual([
      'writev TEMP',
      'fdatasync TEMP',
      'mkdir f',
      'fsync .',
      'link TEMP f/new.txt',
      'fsync f',
    ]);
    expect(namesAndFlushes('replaced')).toEqual([
      'writev TEMP',
      'fdatasync TEMP',
      'chmod TEMP',
      'rename TEMP f/new.txt',
      'fsync f',
    ]);
    expect(namesAndFlushes('big').slice(-3)).toEqual(['fdatasync TEMP', 'rename TEMP f/big.bin', 'fsync f']);
    expect(namesAndFlushes('copied').slice(-3)).toEqual([
      'fdatasync TEMP',
      'rename TEMP f/copy.txt',
      'fsync f',
    ]);
    expect(namesAndFlushes('movedNew')).toEqual([
      'link f/copy.txt moved.txt',
      'rename f/copy.txt TEMP',
      'fsync .',
      'fsync f',
    ]);
    expect(namesAndFlushes('movedOver')).toEqual(['rename moved.txt f/new.txt', 'fsync f', 'fsync .']);
    expect(namesAndFlushes('madeFolder')).toEqual([
      'mkdir f/sub',
      'fsync f',
      'mkdir f/sub/deep',
      'fsync f/sub',
    ]);
    expect(namesAndFlushes('movedFolder')).toEqual(['mkdir sub', 'rename f/sub sub', 'fsync .', 'fsync f']);
    expect(namesAndFlushes('copiedFolder').slice(-4)).toEqual([
      'fsync TEMP',
      'mkdir g',
      'rename TEMP g',
      'fsync .',
    ]);
  });

  it('flush every file of a copied folder, and nothing that can be made again', async () => {
    const calls = await answerOf<Record<string, string[]>>('flushes');
    expect(calls['copiedFolder']?.filter((call) => call === 'fdatasync TEMP').length).toBeGreaterThanOrEqual(
      3,
    );
    expect(calls['derived']?.filter((call) => call.includes('sync'))).toEqual([]);
  });

  it('leave a file its only name when its old one is not found', async () => {
    expect(await answerOf('askedTwice')).toEqual({
      outcomes: { upload: 'done', move: 'done' },
      left: ['moved.txt', 'new.txt'],
    });
  });

  it('move and remove files where a full disk has no room for a folder', async () => {
    expect(await answerOf('fullDisk')).toEqual(['moved.txt']);
  });

  it('read a folder once for all concurrent lookups of missing names', async () => {
    expect(await answerOf('missing')).toEqual({ found: 0, readings: 1 });
  });

  it('keep no handle of reads that are refused, aborted, or have nothing to yield', async () => {
    const grown = await answerOf<Record<string, number>>('handles');
    expect(Object.keys(grown)).toHaveLength(6);
    for (const [what, handles] of Object.entries(grown)) expect(handles, what).toBeLessThan(10);
  });

  it('let no folder appear, vanish or be left by half when they are aborted at any of them', async () => {
    const outcomes =
      await answerOf<Record<string, { rejected: number; resolved: number; faults: string[] }>>('aborts');
    expect(outcomes['copyFolder']?.faults).toEqual([]);
    expect(outcomes['moveFolder']?.faults).toEqual([]);
    expect(outcomes['copyFolder']?.rejected).toBeGreaterThan(10);
    expect(outcomes['moveFolder']?.rejected).toBeGreaterThan(0);
  }, 60_000);

  it('open few files at once, so that a tree of 700 levels is removed by a process that may open 256', async () => {
    // Made level by level: its path is longer than one call may name.
    await run(process.execPath, ['-e', MAKE_DEEP, root]);
    await writeFile(join(root, 'kept.txt'), 'kept');
    const command = 'ulimit -n 256; exec "$@"';
    const { stdout } = await run('sh', ['-c', command, 'sh', process.execPath, SCRIPT, root, 'deep']);
    expect(JSON.parse(stdout)).toEqual({ left: ['kept.txt'], limit: '256' });
  }, 60_000);
});
