import type { ChildProcess } from 'node:child_process';
import { mkdtemp, readFile, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join, resolve } from 'node:path';
import { createApp, type App } from 'stowage';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { createSilentLogger } from '#internals';
import { endProcess, freePort } from '../../tools/test-servers/server-processes.ts';
import { hasNginx, needsNginx, startNginx } from './nginx-process.ts';

describe.skipIf(!hasNginx)(`nginx before two instances${needsNginx}`, () => {
  let folder: string;
  let nginx: ChildProcess;
  let connector: string;
  const running = new Map<string, App>();
  /** The instances that requests came to, in their order. */
  const seen: string[] = [];

  const startInstance = async (name: string): Promise<number> => {
    const app = createApp(
      {
        onlyPOST: true,
        sources: { files: { title: 'Files', root: join(folder, 'files'), serve: 'public' } },
      },
      {},
      {
        logger: createSilentLogger(),
        observe: () => {
          seen.push(name);
          return () => undefined;
        },
      },
    );
    running.set(name, app);
    const { port } = await app.listen(0);
    return port;
  };

  const upload = async (name: string): Promise<unknown> => {
    const body = new FormData();
    body.append('files[0]', new Blob(['content']), name);
    const response = await fetch(`${connector}fileUpload`, { method: 'POST', body });
    return response.json();
  };

  beforeAll(async () => {
    folder = await mkdtemp(join(tmpdir(), 'stowage-instances-'));
    const [first, second] = [await startInstance('first'), await startInstance('second')];
    const port = String(await freePort());
    const sample = await readFile(
      resolve(import.meta.dirname, '../../examples/nginx-instances.conf'),
      'utf8',
    );
    const servers = sample
      .replace('listen 80;', `listen 127.0.0.1:${port};`)
      .replace('10.0.0.11:8081', `127.0.0.1:${String(first)}`)
      .replace('10.0.0.12:8081', `127.0.0.1:${String(second)}`);
    connector = `http://127.0.0.1:${port}/connector/`;
    nginx = await startNginx(folder, servers, () => fetch(connector));
  });

  afterAll(async () => {
    await endProcess(nginx, 'SIGQUIT');
    await Promise.all([...running.values()].map((app) => app.close()));
    await rm(folder, { recursive: true, force: true });
  });

  it('keeps a client at one instance, and leads it to the other when that one is stopped', async () => {
    seen.length = 0;
    for (const name of ['a.txt', 'b.txt'])
      expect(await upload(name)).toMatchObject({ data: { files: [name] } });
    const [own = '', again] = seen;
    expect(again).toBe(own);
    await running.get(own)?.close();
    expect(await upload('c.txt')).toMatchObject({ data: { files: ['c.txt'] } });
    expect(seen.at(-1)).not.toBe(own);
    const listing = await fetch(`${connector}files`, { method: 'POST' });
    const names = JSON.stringify(await listing.json());
    for (const name of ['a.txt', 'b.txt', 'c.txt']) expect(names).toContain(name);
  });
});
