import { mkdir, mkdtemp, rm, symlink, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { createApp } from 'stowage';
import { afterEach, beforeEach, describe, expect, it } from 'vitest';
import { createSilentLogger } from '../../dist/internals.js';

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
