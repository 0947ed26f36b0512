import { mkdtemp, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { createApp, createRouter } from 'stowage';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';

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
