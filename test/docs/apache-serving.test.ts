import { execFileSync, type ChildProcess } from 'node:child_process';
import { existsSync } from 'node:fs';
import { mkdir, mkdtemp, readFile, rm, symlink, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join, resolve } from 'node:path';
import { createApp, HttpError, type App } from 'stowage';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { quiet } from '../http/hosts.ts';
import { endProcess, freePort, startServer } from '../../tools/test-servers/server-processes.ts';

const APACHE = '/usr/sbin/apache2';
const MODULES = '/usr/lib/apache2/modules';
const isThere = existsSync(APACHE) && existsSync(`${MODULES}/mod_xsendfile.so`);
const reason = isThere ? '' : ' [left out: install the Debian packages apache2, libapache2-mod-xsendfile]';

describe.skipIf(!isThere)(`Apache sends the files of a protected source${reason}`, () => {
  let folder: string;
  let app: App;
  let apache: ChildProcess;
  let base: string;

  const ask = (path: string, headers: Record<string, string> = {}): Promise<Response> =>
    fetch(`${base}${path}`, { headers: { cookie: 'user=ann', ...headers } });

  beforeAll(async () => {
    folder = await mkdtemp(join(tmpdir(), 'stowage-apache-'));
    // Apache reads files as a user of its own.
    execFileSync('chmod', ['755', folder]);
    const root = join(folder, 'photos');
    await mkdir(join(root, 'trip'), { recursive: true });
    await writeFile(join(root, 'trip', 'Köln 100% 1.txt'), 'hello city');
    await writeFile(join(root, 'page.html'), '<script>alert(1)</script>');
    await writeFile(join(folder, 'outside.txt'), 'outside');
    await symlink(join(folder, 'outside.txt'), join(root, 'link.txt'));
    app = createApp(
      {
        publicUrl: '/connector/',
        sources: { photos: { title: 'Photos', root, serve: 'protected', delivery: 'x-sendfile' } },
      },
      {
        checkAuthentication: ({ headers }) => {
          if (headers['cookie'] === 'user=ann') return 'member';
          throw new HttpError(401, 'Log in first.');
        },
      },
      quiet,
    );
    const { port } = await app.listen(0, '127.0.0.1');
    const own = String(await freePort());
    base = `http://127.0.0.1:${own}`;
    const sample = await readFile(resolve(import.meta.dirname, '../../examples/apache-serving.conf'), 'utf8');
    const modules = ['mpm_event', 'authz_core', 'proxy', 'proxy_http', 'headers', 'xsendfile']
      .map((name) => `LoadModule ${name}_module ${MODULES}/mod_${name}.so`)
      .join('\n');
    const host = sample
      .replace('*:80', `*:${own}`)
      .replaceAll('http://127.0.0.1:8081/', `http://127.0.0.1:${String(port)}/`)
      .replace('/srv/photos', root);
    const asUser = process.getuid?.() === 0 ? 'User www-data\nGroup www-data\n' : '';
    const config = `ServerRoot ${folder}\nPidFile ${folder}/pid\nErrorLog ${folder}/error.log
      ServerName localhost\nListen 127.0.0.1:${own}\n${modules}\n${asUser}${host}`;
    const file = join(folder, 'apache.conf');
    await writeFile(file, config);
    apache = await startServer([APACHE, '-DFOREGROUND', '-f', file], () => ask('/connector/ping'));
  });

  afterAll(async () => {
    await endProcess(apache);
    await app.close();
    await rm(folder, { recursive: true, force: true });
  });

  it('to members, whole, in part and not again when they have not changed', async () => {
    const path = `/connector/file/photos/trip/${encodeURIComponent('Köln 100% 1.txt')}`;
    const answer = await ask(path);
    expect([answer.status, await answer.text()]).toEqual([200, 'hello city']);
    expect(Object.fromEntries(answer.headers)).toMatchObject({
      'content-type': 'text/plain; charset=utf-8',
      'x-content-type-options': 'nosniff',
      'content-security-policy': expect.stringMatching(/^sandbox/u) as string,
      'cache-control': 'private, no-cache',
    });
    expect(answer.headers.has('x-sendfile')).toBe(false);
    const part = await ask(path, { range: 'bytes=6-' });
    expect([part.status, await part.text()]).toEqual([206, 'city']);
    const etag = answer.headers.get('etag') ?? '';
    expect((await ask(path, { 'if-none-match': etag })).status).toBe(304);
    await writeFile(join(folder, 'photos', 'trip', 'Köln 100% 1.txt'), 'HELLO CITY');
    expect(await (await ask(path, { 'if-none-match': etag })).text()).toBe('HELLO CITY');
    const page = await ask('/connector/file/photos/page.html');
    expect(page.headers.get('content-disposition')).toMatch(/^attachment/u);
    expect(page.headers.get('etag')).not.toBe(etag);
  });

  it('to no other role, and nothing that the connector does not show', async () => {
    expect((await ask('/connector/file/photos/page.html', { cookie: '' })).status).toBe(401);
    expect((await ask('/connector/file/photos/link.txt')).status).toBe(404);
    expect((await ask('/connector/file/photos/..%2foutside.txt')).status).toBe(404);
  });
});
