import { execFile } from 'node:child_process';
import { mkdtemp, readdir, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join, resolve } from 'node:path';
import { promisify } from 'node:util';
import { sharedServer } from '../../tools/test-servers/shared.ts';

const run = promisify(execFile);

/** The archives as a registry would serve them, by the name of their package, in a temporary folder. */
export interface Archives {
  readonly paths: Readonly<Record<string, string>>;
  readonly stop: () => Promise<void>;
}

export const packAll = async (): Promise<Archives> => {
  const folder = await mkdtemp(join(tmpdir(), 'stowage-archives-'));
  await run(process.execPath, ['scripts/pack.mjs', folder], { cwd: resolve(import.meta.dirname, '../..') });
  const names = await readdir(folder);
  return {
    paths: Object.fromEntries(names.map((name) => [name.replace(/-\d.*$/u, ''), join(folder, name)])),
    stop: () => rm(folder, { recursive: true, force: true }),
  };
};

/** The archives that the test files of a run share; outside of a run new ones. */
export const packedArchives = async (): Promise<Archives> => {
  const shared = (await sharedServer('archives')) as Pick<Archives, 'paths'> | undefined;
  return shared === undefined ? packAll() : { ...shared, stop: () => Promise.resolve() };
};
