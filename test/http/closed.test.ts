import { mkdtemp, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { setImmediate as turn } from 'node:timers/promises';
import { createApp, createRouter, registerStorageAdapter } from 'stowage';
import { NotFoundError, SourcePath } from 'stowage/storage';
import { withFaults } from 'stowage/testing';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { MemoryAdapter } from '#internals';
import { put } from '../pictures/gallery.ts';
import { replacing } from '../protocol/changing-store.ts';

const quiet = { logger: { debug() {}, info() {}, warn() {}, error() {} } };

describe('a connector that has been closed', () => {
  let root: string;
  beforeAll(async () => {
    root = await mkdtemp(join(tmpdir(), 'stowage-closed-'));
  });
  afterAll(() => rm(root, { recursive: true, force: true }));

  const config = () => ({ sources: { files: { title: 'Files', root, baseurl: 'https://files.test/' } } });
  const statusOf = async (connector: ReturnType<typeof createRouter>, path = '/files') =>
    (await connector.fetch(new Request(`https://site.test${path}`))).status;

  it('refuses requests, and may be closed again', async () => {
    const router = createRouter(config(), {}, quiet);
    expect(await statusOf(router)).toBe(200);
    await router.close();
    const answer = await router.fetch(new Request('https://site.test/files'));
    expect([answer.status, await answer.json()]).toEqual([
      503,
      {
        success: false,
        data: { code: 503, error: 'SHUTTING_DOWN', messages: ['The service is shutting down.'] },
      },
    ]);
    await router.close();
    expect(await statusOf(router)).toBe(503);
  });

  it('has ended the changes that were running', async () => {
    const memory = new MemoryAdapter();
    let begun = (): void => undefined;
    const isMoving = new Promise<void>((resolve) => (begun = resolve));
    const removeFile: MemoryAdapter['removeFile'] = async (...given) => {
      begun();
      for (let turns = 0; turns < 100; turns += 1) await turn();
      await memory.removeFile(...given);
    };
    // It moves folders by copying.
    const slow = withFaults(replacing(memory, { removeFile }), [], { hide: ['moveFolder'] });
    registerStorageAdapter('closed while it moves', { create: () => slow });
    const sources = { files: { title: 'Files', baseurl: '/', storageAdapter: 'closed while it moves' } };
    const events: string[] = [];
    const router = createRouter({ sources }, { onEvent: ({ type }) => void events.push(type) }, quiet);
    for (const name of ['a.txt', 'b.txt']) await put(memory, `tree/${name}`, name);
    const moving = statusOf(router, '/folderRename?name=tree&newname=moved');
    await isMoving;
    await router.close();
    expect(events).toEqual(['folder.moved']);
    expect(await moving).toBe(200);
    await expect(memory.stat(SourcePath.parse('tree'))).rejects.toThrow(NotFoundError);
  });

  it('does so for sources of tenants too', async () => {
    const resolveSources = () => ({ id: 'ann', sources: config().sources });
    const router = createRouter({ sources: {} }, { resolveSources }, quiet);
    expect(await statusOf(router)).toBe(200);
    await router.close();
    expect(await statusOf(router)).toBe(503);
  });

  it('does not listen again', async () => {
    const app = createApp(config(), {}, quiet);
    const { port } = await app.listen(0);
    await app.close();
    await expect(app.listen(port)).rejects.toThrow('This app has been closed.');
    await expect(fetch(`http://127.0.0.1:${String(port)}/ping`)).rejects.toThrow('fetch failed');
  });
});
