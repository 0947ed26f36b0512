import type { ChildProcess } from 'node:child_process';
import { once } from 'node:events';
import { mkdir, mkdtemp, readFile, rm, symlink, writeFile } from 'node:fs/promises';
import { request, type IncomingMessage } from 'node:http';
import { tmpdir } from 'node:os';
import { join, resolve } from 'node:path';
import { text } from 'node:stream/consumers';
import { createApp, HttpError, type App } from 'stowage';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { quiet } from '../http/hosts.ts';
import { endProcess } from '../../tools/test-servers/server-processes.ts';
import { hasNginx, needsNginx, startNginx } from './nginx-process.ts';

describe.skipIf(!hasNginx)(`nginx sends the files of a protected source${needsNginx}`, () => {
  let folder: string;
  let app: App;
  let nginx: ChildProcess;

  const ask = async (path: string, headers: Record<string, string> = { cookie: 'user=ann' }) => {
    const outgoing = request({ socketPath: join(folder, 'nginx.sock'), path, headers });
    outgoing.end();
    const [answer] = (await once(outgoing, 'response')) as [IncomingMessage];
    return { status: answer.statusCode, headers: answer.headers, body: await text(answer) };
  };

  beforeAll(async () => {
    folder = await mkdtemp(join(tmpdir(), 'stowage-nginx-'));
    const root = join(folder, 'photos');
    await mkdir(join(root, 'trip'), { recursive: true });
    await writeFile(join(root, 'trip', 'Köln 1.txt'), 'hello city');
    await writeFile(join(root, 'page.html'), '<script>alert(1)</script>');
    await writeFile(join(root, 'letter.pdf'), '%PDF-1.4');
    await writeFile(join(folder, 'outside.txt'), 'outside');
    await symlink(join(folder, 'outside.txt'), join(root, 'link.txt'));
    const delivery = { delivery: 'x-accel-redirect' as const, deliveryPrefix: '/internal/photos/' };
    app = createApp(
      {
        publicUrl: '/connector/',
        sources: { photos: { title: 'Photos', root, serve: 'protected', ...delivery } },
      },
      {
        checkAuthentication: ({ headers }) => {
          if (headers['cookie'] === 'user=ann') return 'member';
          throw new HttpError(401, 'Log in first.');
        },
      },
      quiet,
    );
    const { port } = await app.listen(0);
    const sample = await readFile(resolve(import.meta.dirname, '../../examples/nginx-serving.conf'), 'utf8');
    const servers = sample
      .replace('listen 80;', `listen unix:${join(folder, 'nginx.sock')};`)
      .replace('http://127.0.0.1:8081/', `http://127.0.0.1:${String(port)}/`)
      .replace('/srv/photos/', `${root}/`);
    nginx = await startNginx(folder, servers, () => ask('/connector/ping'));
  });

  afterAll(async () => {
    await endProcess(nginx, 'SIGQUIT');
    await app.close();
    await rm(folder, { recursive: true, force: true });
  });

  it('to members, whole and in part, with what keeps browsers from running them', async () => {
    const path = '/connector/file/photos/trip/K%C3%B6ln%201.txt';
    const answer = await ask(path);
    expect([answer.status, answer.body]).toEqual([200, 'hello city']);
    expect(answer.headers).toMatchObject({
      'content-type': 'text/plain; charset=utf-8',
      'x-content-type-options': 'nosniff',
      'content-security-policy': expect.stringMatching(/^sandbox/u) as string,
      'cache-control': 'private, no-cache',
    });
    expect(answer.headers['x-accel-redirect']).toBeUndefined();
    const part = await ask(path, { cookie: 'user=ann', range: 'bytes=6-' });
    expect([part.status, part.body]).toEqual([206, 'city']);
    const page = await ask('/connector/file/photos/page.html');
    expect(page.headers['content-disposition']).toMatch(/^attachment/u);
    const { headers } = await ask('/connector/file/photos/letter.pdf');
    expect(headers['content-security-policy']).toMatch(/^default-src 'none'/u);
  });

  it('to no other role, and nothing that the connector does not show', async () => {
    expect((await ask('/connector/file/photos/page.html', {})).status).toBe(401);
    expect((await ask('/internal/photos/page.html')).status).toBe(404);
    expect((await ask('/connector/file/photos/link.txt')).status).toBe(404);
    expect((await ask('/connector/file/photos/..%2foutside.txt')).status).toBe(404);
  });

  it('by the address that listings give', async () => {
    const { data } = JSON.parse((await ask('/connector/files')).body) as {
      data: { sources: { baseurl: string }[] };
    };
    expect(data.sources[0]?.baseurl).toBe('/connector/file/photos/');
  });
});
