import { execFile } from 'node:child_process';
import { cp, mkdir, mkdtemp, readFile, rm, symlink, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { dirname, join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { promisify } from 'node:util';

const project = fileURLToPath(new URL('../../packages/stowage', import.meta.url));

/** The built package in a folder of its own, with its dependencies and none of its optional packages. */
export interface BareInstall {
  readonly folder: string;
  /** Adds an optional package. */
  link(name: string): Promise<void>;
  /** Runs the script. */
  run(
    environment?: Readonly<Record<string, string>>,
  ): Promise<{ readonly stdout: string; readonly stderr: string }>;
  remove(): Promise<void>;
}

/** Installs the package beside a script that uses it. */
export const installBare = async (script: string): Promise<BareInstall> => {
  const folder = await mkdtemp(join(tmpdir(), 'stowage-bare-'));
  const installed = join(folder, 'node_modules', 'stowage');
  await mkdir(installed, { recursive: true });
  await cp(join(project, 'dist'), join(installed, 'dist'), { recursive: true });
  await cp(join(project, 'package.json'), join(installed, 'package.json'));
  await writeFile(join(folder, 'ask.mjs'), script);
  const link = async (name: string): Promise<void> => {
    const target = join(folder, 'node_modules', name);
    await mkdir(dirname(target), { recursive: true });
    await symlink(join(project, '../../node_modules', name), target);
  };
  const { dependencies } = JSON.parse(await readFile(join(project, 'package.json'), 'utf8')) as {
    dependencies: Record<string, string>;
  };
  for (const name of Object.keys(dependencies)) await link(name);
  return {
    folder,
    link,
    run: (environment = {}) =>
      promisify(execFile)(process.execPath, ['ask.mjs'], {
        cwd: folder,
        env: { ...process.env, ...environment },
      }),
    remove: () => rm(folder, { recursive: true, force: true }),
  };
};
