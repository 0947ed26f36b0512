import { mkdir, mkdtemp, readdir, rm, symlink, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { Readable } from 'node:stream';
import { text } from 'node:stream/consumers';
import { createApp } from 'stowage';
import { afterEach, beforeEach, describe, expect, it } from 'vitest';
import { SourcePath, StorageUnavailableError } from 'stowage/storage';
import { createLocalFactory, createSilentLogger, openLocalAdapter } from '#internals';

let folder: string;

beforeEach(async () => {
  folder = await mkdtemp(join(tmpdir(), 'stowage-roots-'));
});

afterEach(() => rm(folder, { recursive: true, force: true }));

/** What a listing of a source with this root answers. */
const list = async (root: string): Promise<{ status: number; body: unknown }> => {
  const sources = { files: { title: 'Files', root, baseurl: 'https://cdn.example.com/' } };
  const app = createApp({ createThumb: false, sources }, {}, { logger: createSilentLogger() });
  try {
    const response = await app.fetch(new Request('http://localhost/files'));
    return { status: response.status, body: await response.json() };
  } finally {
    await app.close();
  }
};

describe('the root of a local source', () => {
  it('is made with all above it, whatever its name', async () => {
    expect(await list(join(folder, 'a b', 'Fotografías', '写真'))).toMatchObject({ status: 200 });
  });

  it('may be a link to a folder', async () => {
    await mkdir(join(folder, 'real'));
    await writeFile(join(folder, 'real', 'a.txt'), 'a');
    await symlink('real', join(folder, 'link'));
    expect(await list(join(folder, 'link'))).toMatchObject({
      status: 200,
      body: { data: { sources: [{ files: [{ name: 'a.txt' }] }] } },
    });
  });

  it('may be a link that leads elsewhere from now on: what lies there is found, in folders too', async () => {
    const root = join(folder, 'link');
    for (const name of ['one', 'other']) {
      await mkdir(join(folder, name, 'a', 'b'), { recursive: true });
      await writeFile(join(folder, name, 'a', 'b', 'which.txt'), name);
    }
    await symlink('one', root);
    const store = await openLocalAdapter({ root, log: createSilentLogger() });
    const file = SourcePath.parse('a/b/which.txt');
    const contentNow = async (): Promise<string> => text((await store.read(file)).stream);
    expect(await contentNow()).toBe('one');
    await rm(root);
    await symlink('other', root);
    expect(await contentNow()).toBe('other');
    await store.write(SourcePath.parse('a/b/new.txt'), Readable.from([Buffer.from('n')]));
    await store.close();
    expect(await readdir(join(folder, 'other/a/b'))).toEqual(['new.txt', 'which.txt']);
    expect(await readdir(join(folder, 'one/a/b'))).toEqual(['which.txt']);
  });

  it('that has gone is an outage, for the actions and for a store that is opened again, and is not made again', async () => {
    const root = join(folder, 'volume');
    const factory = createLocalFactory();
    const context = { root, log: createSilentLogger(), sourceName: 'files', options: undefined };
    const store = await factory.create(context);
    await rm(root, { recursive: true });
    const file = SourcePath.parse('a.txt');
    const listing = async (): Promise<void> => {
      for await (const _page of store.list(SourcePath.root));
    };
    for (const failing of [
      () => store.stat(SourcePath.root),
      () => store.stat(file),
      () => store.stat(SourcePath.parse('f/a.txt')),
      () => listing(),
      () => store.read(file),
      () => store.write(file, Readable.from([Buffer.from('a')])),
      () => store.removeFile(file),
      () => store.makeFolder(SourcePath.parse('f')),
      () => store.removeFolder(SourcePath.parse('f')),
      () => store.moveFile(file, SourcePath.parse('b.txt')),
    ])
      await expect(failing()).rejects.toBeInstanceOf(StorageUnavailableError);
    await store.close?.();
    await expect(factory.create(context)).rejects.toBeInstanceOf(StorageUnavailableError);
    expect(await readdir(folder)).toEqual([]);
  });

  it.each(['file', 'file/below'])('is the fault of the service when it is no folder: %s', async (name) => {
    await writeFile(join(folder, 'file'), 'not a folder');
    expect(await list(join(folder, name))).toEqual({
      status: 500,
      body: {
        success: false,
        data: { code: 500, error: 'STORAGE_UNAVAILABLE', messages: ['The storage is not available.'] },
      },
    });
  });
});
