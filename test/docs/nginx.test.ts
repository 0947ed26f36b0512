import type { ChildProcess } from 'node:child_process';
import { once } from 'node:events';
import { mkdir, mkdtemp, readFile, rm, writeFile } from 'node:fs/promises';
import { request, type IncomingMessage } from 'node:http';
import { tmpdir } from 'node:os';
import { join, resolve } from 'node:path';
import { text } from 'node:stream/consumers';
import { createApp, type App } from 'stowage';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { endProcess } from '../../tools/test-servers/server-processes.ts';
import { hasNginx, needsNginx, startNginx } from './nginx-process.ts';

const quiet = { logger: { debug() {}, info() {}, warn() {}, error() {} } };

describe.skipIf(!hasNginx)(`the configuration of nginx${needsNginx}`, () => {
  let folder: string;
  let app: App;
  let nginx: ChildProcess;

  /** Sends a request to nginx, as a browser that asks for this host. */
  const ask = async (host: string, path: string, body?: FormData) => {
    const content = body === undefined ? undefined : new Response(body);
    const type = content?.headers.get('content-type');
    const outgoing = request({
      socketPath: join(folder, 'nginx.sock'),
      path,
      method: content === undefined ? 'GET' : 'POST',
      headers: { host, ...(typeof type === 'string' ? { 'content-type': type } : {}) },
    });
    outgoing.end(content === undefined ? undefined : Buffer.from(await content.arrayBuffer()));
    const [answer] = (await once(outgoing, 'response')) as [IncomingMessage];
    return {
      status: answer.statusCode,
      phrase: answer.statusMessage,
      headers: answer.headers,
      body: await text(answer),
    };
  };
  const site = (path: string, body?: FormData) => ask('www.example.com', path, body);
  const files = (path: string) => ask('files.example.com', path);

  beforeAll(async () => {
    folder = await mkdtemp(join(tmpdir(), 'stowage-nginx-'));
    const photos = join(folder, 'photos');
    app = createApp(
      {
        extensions: ['txt', 'html'],
        maxUploadFileSize: '1mb',
        sources: { photos: { title: 'Photos', root: photos, baseurl: 'https://files.example.com/photos/' } },
      },
      {},
      quiet,
    );
    const { port } = await app.listen(0);
    const sample = await readFile(resolve(import.meta.dirname, '../../examples/nginx.conf'), 'utf8');
    const servers = sample
      .replaceAll('listen 80;', `listen unix:${join(folder, 'nginx.sock')};`)
      .replace('http://127.0.0.1:8081/', `http://127.0.0.1:${String(port)}/`)
      .replace('/srv/photos/', `${photos}/`);
    const http = `types { text/plain txt; text/html html; application/pdf pdf; } ${servers}`;
    nginx = await startNginx(folder, http, () => site('/connector/ping'));
  });

  afterAll(async () => {
    await endProcess(nginx, 'SIGQUIT');
    await app.close();
    await rm(folder, { recursive: true, force: true });
  });

  const upload = (...sizes: readonly number[]): FormData => {
    const form = new FormData();
    sizes.forEach((size, index) => {
      form.append(`files[${String(index)}]`, new Blob(['x'.repeat(size)]), `${String(index)}.txt`);
    });
    return form;
  };

  it('cuts the prefix', async () => {
    expect(await site('/connector/ping')).toMatchObject({ status: 200, body: '{"success":true}' });
    for (const path of ['/connector/files', '/connector/?action=files', '/connector/files?path=/']) {
      expect(JSON.parse((await site(path)).body)).toMatchObject({ data: { sources: [{ name: 'photos' }] } });
    }
    expect((await site('/connector/nope?action=files')).status).toBe(404);
  });

  it('lets through a form of several files, each as large as allowed', async () => {
    const answer = await site('/connector/fileUpload', upload(1024 ** 2, 1024 ** 2, 1024 ** 2));
    expect(JSON.parse(answer.body)).toMatchObject({ data: { files: ['0.txt', '1.txt', '2.txt'] } });
  });

  it('lets users read why a file was refused', async () => {
    const answer = await site('/connector/fileUpload', upload(1024 ** 2 + 1));
    expect(answer).toMatchObject({
      status: 403,
      phrase: 'The file "0.txt" is too large: at most 1MB are allowed.',
    });
  });

  it('reads a download as fast as the browser takes it, and keeps nothing of it on its disk', async () => {
    await writeFile(join(folder, 'photos', 'large.txt'), Buffer.alloc(32 * 1024 ** 2));
    const path = '/connector/fileDownload?name=large.txt';
    const outgoing = request({
      socketPath: join(folder, 'nginx.sock'),
      path,
      headers: { host: 'www.example.com' },
    });
    outgoing.end();
    const [answer] = (await once(outgoing, 'response')) as [IncomingMessage];
    // While the browser reads nothing, nginx has time for the download between these requests.
    for (let turn = 0; turn < 200; turn += 1) await site('/connector/ping');
    expect((await text(answer)).length).toBe(32 * 1024 ** 2);
    expect(await readFile(join(folder, 'error.log'), 'utf8')).not.toContain('upstream response is buffered');
  });

  it('serves the files, without scripts, and not those that are unfinished', async () => {
    await writeFile(join(folder, 'photos', 'page.html'), '<script>alert(1)</script>');
    const page = await files('/photos/page.html');
    expect(page).toMatchObject({ status: 200, body: '<script>alert(1)</script>' });
    expect(page.headers).toMatchObject({
      'x-content-type-options': 'nosniff',
      'content-security-policy': 'sandbox',
    });
    // In a sandbox Safari shows an empty window in place of a PDF.
    await writeFile(join(folder, 'photos', 'letter.pdf'), '%PDF-1.4');
    const { headers } = await files('/photos/letter.pdf');
    expect(headers).toMatchObject({ 'content-type': 'application/pdf', 'x-content-type-options': 'nosniff' });
    expect(headers).not.toHaveProperty('content-security-policy');
    await mkdir(join(folder, 'photos', 'deep', '.stowage-tmp-1'), { recursive: true });
    await writeFile(join(folder, 'photos', 'deep', '.stowage-tmp-1', 'a.txt'), 'unfinished');
    expect((await files('/photos/deep/.stowage-tmp-1/a.txt')).status).toBe(404);
    expect((await files('/connector/ping')).status).toBe(404);
  });
});
