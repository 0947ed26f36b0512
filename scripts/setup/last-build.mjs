import { existsSync } from 'node:fs';
import { readdir, stat } from 'node:fs/promises';
import { join } from 'node:path';
import { root } from './process.mjs';

/** Written at the end of a build. */
const marker = join(root, '.cache', 'built');

/** Sources of `dist`; folders include all their content. */
const SOURCES = [
  ...['stowage', 'browser', 'html-docx'].flatMap((name) =>
    ['src', 'package.json', 'tsconfig.json'].map((part) => `packages/${name}/${part}`),
  ),
  ...[
    'packages/stowage/openapi.json',
    'scripts',
    'package.json',
    'tsconfig.base.json',
    'node_modules/.package-lock.json',
  ],
];

const timeOf = async (path) => (await stat(path)).mtimeMs;

/** The newest modification time; that of a folder changes when names are added or removed. */
const newestOf = async (path) => {
  const names = await readdir(path, { recursive: true }).catch(() => []);
  const times = await Promise.all([path, ...names.map((name) => join(path, name))].map(timeOf));
  return Math.max(...times);
};

/** Whether nothing has changed since the last build. */
export const isBuilt = async () => {
  if (!existsSync(marker) || !existsSync(join(root, 'packages/stowage/dist/index.js'))) return false;
  const newest = await Promise.all(SOURCES.map((name) => newestOf(join(root, name))));
  return (await timeOf(marker)) > Math.max(...newest);
};
