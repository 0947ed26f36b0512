import { readdirSync } from 'node:fs';
import { readdir, readFile } from 'node:fs/promises';
import { describe, expect, it } from 'vitest';

const ADAPTERS = new URL('../../packages/stowage/src/adapters/', import.meta.url);

/** The files of an adapter by what is in them, so that one is found in every other. */
const SHARED: ReadonlySet<string> = new Set([
  ...['adapter', 'options', 'connection', 'errors', 'login'],
  // One request or command each; the requests of one operation on a server of paths; a service as `objects/core` sees it.
  ...['requests', 'session', 'objects'],
  ...['read', 'write', 'list', 'change'],
]);

/** What only one protocol has. A further name is a further word that a reader has to learn. */
const OWN: Readonly<Record<string, readonly string[]>> = {
  'objects/s3': ['conditional-writes', 'known-services'],
  'remote/webdav': ['address', 'client', 'multistatus', 'reservations', 'store'],
};

const folders = ['objects', 'remote'].flatMap((group) =>
  readdirSync(new URL(`${group}/`, ADAPTERS), { withFileTypes: true })
    .filter((entry) => entry.isDirectory() && !['core', 'paths'].includes(entry.name))
    .map(({ name }) => `${group}/${name}`),
);

describe('the files of remote adapters', () => {
  it.each(folders)('are named alike, and told of in the README: %s', async (folder) => {
    const names = await readdir(new URL(`${folder}/`, ADAPTERS));
    expect(names).toEqual(
      expect.arrayContaining(['README.md', 'adapter.ts', 'options.ts', 'connection.ts', 'errors.ts']),
    );
    const files = names.filter((name) => name.endsWith('.ts'));
    const others = files.map((name) => name.slice(0, -3)).filter((name) => !SHARED.has(name));
    expect(others.sort()).toEqual(OWN[folder] ?? []);
    const readme = await readFile(new URL(`${folder}/README.md`, ADAPTERS), 'utf8');
    expect(files.filter((name) => !readme.includes(`\`${name}\``))).toEqual([]);
  });
});
