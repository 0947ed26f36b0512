import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { existsSync } from 'node:fs';
import { lstat, mkdir, mkdtemp, readdir, readFile, readlink, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { createSilentLogger, openLocalAdapter } from '#internals';
import type { LocalOptions } from '../../packages/stowage/dist/adapters/local/factory.js';
import type { LocalAdapter } from '../../packages/stowage/dist/adapters/local/adapter.js';

/** Begins every byte that lies outside of the root: whatever shows it has left the root. */
export const SECRET = 'SECRET-OUTSIDE';
/** Size of every file outside; none inside has it. */
export const SECRET_SIZE = 7777;

/** Everything below a folder as text: names, kinds, bytes, inodes, link targets and times. */
export const describeTree = async (folder: string): Promise<readonly string[]> => {
  const lines: string[] = [];
  for (const name of (await readdir(folder)).sort()) {
    const path = join(folder, name);
    const stats = await lstat(path, { bigint: true });
    const content = stats.isFile()
      ? await readFile(path, 'base64')
      : stats.isSymbolicLink()
        ? await readlink(path)
        : '';
    lines.push(`${name} ${stats.mode} ${stats.ino} ${stats.mtimeNs} ${content}`);
    if (stats.isDirectory()) lines.push(...(await describeTree(path)).map((line) => `${name}/${line}`));
  }
  return lines;
};

/** A store beside a folder that it must never touch. */
export interface Ground {
  readonly root: string;
  readonly outside: string;
  readonly adapter: LocalAdapter;
  /** Whether the outside is byte for byte, inode for inode as it was. */
  readonly isOutsideUntouched: () => Promise<boolean>;
  readonly clear: () => Promise<void>;
}

/** A root with a store, and an outside whose files bear the names that a folder of the root may have. */
export const prepareGround = async (
  names: readonly string[],
  confinement?: LocalOptions['confinement'],
): Promise<Ground> => {
  // In memory where there is such a place: races need many rounds, not a disk.
  const place = existsSync('/dev/shm') ? '/dev/shm' : tmpdir();
  const base = await mkdtemp(join(place, 'stowage-confinement-'));
  const [root, outside] = [join(base, 'root'), join(base, 'outside')];
  await mkdir(join(outside, 'sub/deep'), { recursive: true });
  const secret = SECRET.padEnd(SECRET_SIZE, '.');
  for (const name of [...names, 'sub/secret.txt', 'sub/deep/secret.txt'])
    await writeFile(join(outside, name), secret);
  const adapter = await openLocalAdapter({ root, log: createSilentLogger(), confinement });
  const before = await describeTree(outside);
  return {
    root,
    outside,
    adapter,
    isOutsideUntouched: async () => JSON.stringify(await describeTree(outside)) === JSON.stringify(before),
    clear: async () => {
      await adapter.close();
      await rm(base, { recursive: true });
    },
  };
};

/** Swaps a folder for a link to the outside again and again while `work` runs. Returns how often. */
export const whileSwapping = async (
  folder: string,
  outside: string,
  manner: 'fast' | 'sly',
  work: () => Promise<void>,
): Promise<number> => {
  const script = fileURLToPath(new URL('swapper.mjs', import.meta.url));
  const attacker = spawn(process.execPath, [script, folder, outside, manner], {
    stdio: ['pipe', 'pipe', 'inherit'],
  });
  const output: string[] = [];
  attacker.stdout.setEncoding('utf8').on('data', (text: string) => output.push(text));
  const closed = once(attacker, 'close');
  await once(attacker.stdout, 'data');
  try {
    await work();
  } finally {
    attacker.stdin.end();
    await closed;
  }
  return Number(output.join('').split('\n')[1]);
};
