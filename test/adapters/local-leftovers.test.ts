import { writeFileSync } from 'node:fs';
import { spawn } from 'node:child_process';
import { createHash } from 'node:crypto';
import { once } from 'node:events';
import { mkdir, mkdtemp, readdir, readFile, readlink, rm, stat, utimes, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { Readable } from 'node:stream';
import { setTimeout as sleep } from 'node:timers/promises';
import { fileURLToPath } from 'node:url';
import { afterEach, beforeEach, describe, expect, it } from 'vitest';
import { SourcePath } from 'stowage/storage';
import { runsEverything } from '../before-release.ts';
import { createSilentLogger, openLocalAdapter, processState, readProcessMark } from '#internals';

const ROUNDS = runsEverything ? 8 : 4;
const TEMP = '.stowage-tmp';
const HOUR_MS = 60 * 60 * 1000;

const at = (text: string) => SourcePath.parse(text);
const content = (text: string) => Readable.from([Buffer.from(text)], { objectMode: false });

let root: string;
beforeEach(async () => {
  root = await mkdtemp(join(tmpdir(), 'stowage-leftovers-'));
});
afterEach(() => rm(root, { recursive: true, force: true }));

const open = () => openLocalAdapter({ root, log: createSilentLogger() });

/** Paths of everything below the root, as the disk tells, the adapter's own included. */
const everything = async (): Promise<string[]> => (await readdir(root, { recursive: true })).sort();

const isWhole = async (path: string): Promise<boolean> => {
  const bytes = await readFile(path);
  const line = bytes.indexOf('\n');
  const [length, digest] = bytes.subarray(0, line).toString('latin1').split(' ');
  const body = bytes.subarray(line + 1);
  return body.length === Number(length) && createHash('sha256').update(body).digest('hex') === digest;
};

/** Lets a process work on the root for a while and kills it in the middle of it. */
const killInTheMiddle = async (milliseconds: number): Promise<string> => {
  const script = fileURLToPath(new URL('local-victim.mjs', import.meta.url));
  const victim = spawn(process.execPath, [script, root], { stdio: ['ignore', 'pipe', 'pipe'] });
  let complaints = '';
  victim.stderr.setEncoding('utf8').on('data', (text: string) => (complaints += text));
  const closed = once(victim, 'close');
  await Promise.race([once(victim.stdout, 'data'), closed]);
  await sleep(milliseconds);
  victim.kill('SIGKILL');
  await closed;
  return complaints;
};

describe('a process that is killed while it writes, copies, moves and removes', () => {
  it(
    `leaves whole files only, and nothing else after the next start, ${ROUNDS} times`,
    { timeout: 120_000 },
    async () => {
      let leftovers = 0;
      let files = 0;
      // On a busy machine many are killed between two operations.
      for (
        let round = 0;
        round < ROUNDS || ((leftovers === 0 || files === 0) && round < 10 * ROUNDS);
        round += 1
      ) {
        expect(await killInTheMiddle(20 + Math.random() * 180)).toBe('');
        const found = await everything();
        leftovers += found.filter((path) => path.startsWith(`${TEMP}/`)).length;
        await (await open()).close();
        const left = await everything();
        expect(left.filter((path) => path.includes(TEMP))).toEqual([]);
        for (const path of left) {
          if (!(await stat(join(root, path))).isFile()) continue;
          files += 1;
          expect(await isWhole(join(root, path)), path).toBe(true);
        }
      }
      // Else nothing was killed in the middle of anything.
      expect(leftovers).toBeGreaterThan(0);
      expect(files).toBeGreaterThan(0);
    },
  );
});

describe('what is swept at the start, and what is not', () => {
  const plantInstance = async (name: string): Promise<void> => {
    await mkdir(join(root, TEMP, name, 'half-copied/deep'), { recursive: true });
    await writeFile(join(root, TEMP, name, 'staged'), 'half a file');
    await writeFile(join(root, TEMP, name, 'half-copied/deep/a.txt'), 'half a folder');
  };
  const setAge = async (name: string, milliseconds: number): Promise<void> => {
    const time = new Date(Date.now() - milliseconds);
    const below = await readdir(join(root, TEMP, name), { recursive: true });
    for (const path of ['', ...below]) await utimes(join(root, TEMP, name, path), time, time);
  };
  /** The mark of a process like this one, with some of its fields exchanged. */
  const markWith = async (fields: Record<number, string>): Promise<string> =>
    (await readProcessMark())
      .split('-')
      .map((field, index) => fields[index] ?? field)
      .join('-');

  it('files of a running process stay when another one starts', async () => {
    const first = await open();
    const staged = await first.stage(content('still wanted'));
    for (let start = 0; start < 3; start += 1) await (await open()).close();
    await staged.commit(at('a.txt'));
    expect(await readFile(join(root, 'a.txt'), 'utf8')).toBe('still wanted');
    await first.close();
    expect(await everything()).toEqual(['a.txt']);
  });

  it('an id that was given to another process since is no reason to stay', async () => {
    const mark = await markWith({ 4: '1' });
    expect(await processState(mark)).toBe(process.platform === 'linux' ? 'gone' : 'running');
    await plantInstance(`${mark}-12345678`);
    await (await open()).close();
    if (process.platform === 'linux') expect(await everything()).toEqual([]);
  });

  it('files from before the last boot stay for an hour: another machine may have the same name', async () => {
    const name = `${await markWith({ 1: '0123456789ab' })}-12345678`;
    await plantInstance(name);
    await setAge(name, 2 * HOUR_MS);
    await writeFile(join(root, TEMP, name, 'half-copied/deep/a.txt'), 'more of it');
    await (await open()).close();
    expect(await everything()).toContain(`${TEMP}/${name}/half-copied/deep/a.txt`);
    await setAge(name, 2 * HOUR_MS);
    await (await open()).close();
    expect(await everything()).toEqual([]);
  });

  it('no request waits until many are removed, only the end of the store', async () => {
    const name = `${await markWith({ 4: '1' })}-12345678`;
    await plantInstance(name);
    const files = Array.from({ length: 8000 }, (_, index) => join(root, TEMP, name, String(index)));
    for (const file of files) writeFileSync(file, '');
    const adapter = await open();
    await adapter.write(at('a.txt'), content('soon'));
    expect((await everything()).length).toBeGreaterThan(3);
    await adapter.close();
    expect(await everything()).toEqual(['a.txt']);
  });

  it('files of another machine stay for a day', async () => {
    const name = `${await markWith({ 0: '0123456789ab' })}-12345678`;
    await plantInstance(name);
    await setAge(name, 23 * HOUR_MS);
    await (await open()).close();
    expect(await everything()).toContain(`${TEMP}/${name}/staged`);
    await setAge(name, 25 * HOUR_MS);
    await (await open()).close();
    expect(await everything()).toEqual([]);
  });

  it('an old folder with a young file in it stays', async () => {
    const name = `${await markWith({ 2: '0123456789ab' })}-12345678`;
    await plantInstance(name);
    await setAge(name, 25 * HOUR_MS);
    const now = new Date();
    await utimes(join(root, TEMP, name, 'staged'), now, now);
    await (await open()).close();
    expect(await everything()).toContain(`${TEMP}/${name}/staged`);
  });

  it('what has no owner that could be asked stays for a day too', async () => {
    await plantInstance('somebody');
    await (await open()).close();
    expect(await everything()).toContain(`${TEMP}/somebody/staged`);
    await setAge('somebody', 25 * HOUR_MS);
    await (await open()).close();
    expect(await everything()).toEqual([]);
  });

  it('only the own folder is swept, not what looks like it elsewhere', async () => {
    await mkdir(join(root, 'sub'));
    await writeFile(join(root, 'sub/.stowage-tmp'), 'a file of a user');
    await (await open()).close();
    expect(await everything()).toEqual(['sub', 'sub/.stowage-tmp']);
  });
});

describe('the temporary folder', () => {
  it('is made for the first content, holds nothing when all is committed, and goes with the store', async () => {
    const adapter = await open();
    expect(await everything()).toEqual([]);
    const staged = await Promise.all(['a', 'b'].map((name) => adapter.stage(content(name))));
    const own = (await everything()).filter((path) => path.startsWith(TEMP));
    expect(own).toHaveLength(4);
    await staged[0]?.commit(at('a.txt'));
    await staged[1]?.discard();
    expect(await everything()).toEqual([...own.slice(0, 2), 'a.txt']);
    await adapter.close();
    expect(await everything()).toEqual(['a.txt']);
  });

  it('is made again when it was removed between two uploads', async () => {
    const adapter = await open();
    await adapter.write(at('a.txt'), content('first'));
    for (const folder of [join(TEMP, (await readdir(join(root, TEMP)))[0] ?? ''), TEMP]) {
      await rm(join(root, folder), { recursive: true });
      await adapter.write(at('a.txt'), content(folder));
      expect(await readFile(join(root, 'a.txt'), 'utf8')).toBe(folder);
    }
    await adapter.close();
    expect(await everything()).toEqual(['a.txt']);
  });

  it('is open only while it is in use, so that a volume can be unmounted', async () => {
    const adapter = await open();
    await adapter.write(at('a.txt'), content('first'));
    if (process.platform === 'linux') {
      const held = (await readdir('/proc/self/fd')).map((fd) =>
        readlink(`/proc/self/fd/${fd}`).catch(() => ''),
      );
      expect((await Promise.all(held)).filter((path) => path.startsWith(root))).toEqual([]);
    }
    await adapter.close();
  });

  it('goes with the store, and with it what was never committed', async () => {
    const adapter = await open();
    await adapter.stage(content('forgotten'));
    await adapter.close();
    expect(await everything()).toEqual([]);
  });

  it('is shared by many stores of one root that come and go', async () => {
    const rounds = Array.from({ length: 40 }, async (_, index) => {
      const adapter = await open();
      await adapter.write(at(`${index}.txt`), content(String(index)));
      await adapter.close();
    });
    await Promise.all(rounds);
    expect(await everything()).toHaveLength(40);
  });
});
