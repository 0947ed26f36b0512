import { execFile } from 'node:child_process';
import { mkdir, mkdtemp, readdir, readFile, rm, symlink, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { dirname, join, posix, resolve } from 'node:path';
import { promisify } from 'node:util';
import { packedArchives } from './archives.ts';

export const run = promisify(execFile);
export const root = resolve(import.meta.dirname, '../..');

interface Manifest {
  readonly name: string;
  readonly version: string;
  readonly exports: Readonly<Record<string, unknown>>;
  readonly bundleDependencies: readonly string[];
  readonly dependencies: Readonly<Record<string, string>>;
  readonly peerDependencies: Readonly<Record<string, string>>;
}

export const unpack = async (archive: string, folder: string): Promise<string> => {
  await mkdir(folder, { recursive: true });
  await run('tar', ['-xzf', archive, '--strip-components=1', '-C', folder]);
  return folder;
};

/**
 * A project that has the packed server installed, and beside it only what the package says that it depends
 * on and does not bring along.
 */
export interface Packed {
  readonly project: string;
  readonly manifest: Manifest;
  /** The paths of what the archive of the server holds. */
  readonly files: readonly string[];
  /** The archives, by the name of their package. */
  readonly archives: Readonly<Record<string, string>>;
  /** Installs a package of the repository in the project. */
  readonly link: (name: string) => Promise<void>;
  readonly remove: () => Promise<void>;
}

export const installPacked = async (): Promise<Packed> => {
  const project = await mkdtemp(join(tmpdir(), 'stowage-package-'));
  const link = async (name: string): Promise<void> => {
    const target = join(project, 'node_modules', name);
    await mkdir(dirname(target), { recursive: true });
    await symlink(join(root, 'node_modules', name), target);
  };
  const { paths: archives, stop } = await packedArchives();
  const installed = await unpack(archives['stowage'] ?? '', join(project, 'node_modules/stowage'));
  const files = (await readdir(installed, { recursive: true, withFileTypes: true }))
    .filter((entry) => entry.isFile())
    .map((entry) => posix.relative(installed, posix.join(entry.parentPath, entry.name)));
  const manifest = JSON.parse(await readFile(join(installed, 'package.json'), 'utf8')) as Manifest;
  await writeFile(join(project, 'package.json'), JSON.stringify({ type: 'module', private: true }));
  for (const name of Object.keys(manifest.dependencies))
    if (!manifest.bundleDependencies.includes(name)) await link(name);
  return {
    project,
    manifest,
    files,
    archives,
    link,
    remove: async () => {
      await rm(project, { recursive: true, force: true });
      await stop();
    },
  };
};
