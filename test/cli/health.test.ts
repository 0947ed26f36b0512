import { once } from 'node:events';
import { mkdir, rm, writeFile } from 'node:fs/promises';
import { request } from 'node:http';
import { join } from 'node:path';
import { PassThrough } from 'node:stream';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { createFolder, portOf, runToEnd, start, type Folder, type Process } from './service.ts';

let folder: Folder;
let service: Process;
let url: string;
let health: string;

beforeAll(async () => {
  folder = await createFolder();
  await mkdir(join(folder.path, 'a'));
  await writeFile(join(folder.path, 'a', 'note.txt'), 'twelve bytes');
  await mkdir(join(folder.path, 'b'));
  const source = (name: string): object => ({ title: name, root: join(folder.path, name), serve: 'public' });
  const config = await folder.config({
    onlyPOST: true,
    accessControl: [{ FILE_REMOVE: false }],
    sources: { a: source('a'), 'b"}': source('b') },
    stateDirectory: join(folder.path, 'state'),
    // Nobody listens there.
    webhooks: [{ url: 'http://127.0.0.1:1/', secret: 's'.repeat(32), allowPrivate: true }],
  });
  service = start(['serve', '--config', config, '--port', '0', '--health-port', '0']);
  url = `http://127.0.0.1:${String(await portOf(service))}/`;
  health = (await service.said(/Health and metrics on (http:[^"]*\/)"/u))[1] ?? '';
});

afterAll(async () => {
  service.child.kill('SIGTERM');
  const { status } = await service.ended;
  await folder.remove();
  expect(status).toBe(0);
});

const ask = async (
  path: string,
  method = 'GET',
): Promise<{ status: number; text: string; allow?: string | undefined }> => {
  const response = await fetch(`${health}${path}`, { method });
  const allow = response.headers.get('allow') ?? undefined;
  return { status: response.status, text: await response.text(), allow };
};

describe('--health-port', () => {
  it('says that the process lives, whatever onlyPOST says', async () => {
    expect((await fetch(`${url}ping`)).status).toBe(405);
    expect(await ask('live')).toEqual({ status: 200, text: 'live\n' });
    expect(await ask('live', 'HEAD')).toEqual({ status: 200, text: '' });
    expect(await ask('live', 'POST')).toMatchObject({ status: 405, allow: 'GET, HEAD' });
    expect((await ask('files')).status).toBe(404);
  });

  it('counts requests by action and status, under no name that a request brings', async () => {
    const post = (body: Record<string, string>): Promise<Response> =>
      fetch(url, { method: 'POST', body: new URLSearchParams(body) });
    await (await post({ action: 'files', source: 'a' })).text();
    await (await post({ action: 'fileRemove', source: 'a', path: '/', name: 'note.txt' })).text();
    await (await fetch(`${url}fileRemove`, { method: 'POST' })).text();
    await (await post({ action: 'made-up', source: 'a' })).text();
    await (await fetch(`${url}file/a/note.txt`)).text();
    // The client may have the last byte before the service knows that it is gone.
    let text = '';
    do text = (await ask('metrics')).text;
    while (!text.includes('stowage_requests_total{action="file",'));
    const lines = text.split('\n');
    expect(lines).toContain('# TYPE stowage_request_duration_seconds histogram');
    expect(lines).toContain('stowage_requests_total{action="files",status="200"} 1');
    expect(lines).toContain('stowage_requests_total{action="fileRemove",status="403"} 2');
    expect(lines).toContain('stowage_requests_total{action="file",status="200"} 1');
    expect(lines).toContain('stowage_request_duration_seconds_bucket{action="file",le="+Inf"} 1');
    expect(lines).toContain('stowage_request_duration_seconds_count{action="file"} 1');
    expect(lines).toContain('stowage_open_requests 0');
    expect(text).not.toContain('made-up');
    expect(Number(/^stowage_answer_bytes_total (\d+)$/mu.exec(text)?.[1])).toBeGreaterThanOrEqual(12);
    expect(Number(/^process_resident_memory_bytes (\d+)$/mu.exec(text)?.[1])).toBeGreaterThan(1e6);
    // Every line is a comment or a sample.
    for (const line of lines.slice(0, -1)) {
      expect(line).toMatch(/^(?:# (?:HELP|TYPE) \w+ .+|\w+(?:\{(?:\w+="[^"]*",?)+\})? [\d.e+-]+)$/u);
    }
  });

  it('counts a client that has left as such, not as a failure of the service', async () => {
    const upload = request(`${url}fileUpload`, { method: 'POST' });
    upload.setHeader('content-type', 'multipart/form-data; boundary=b');
    upload.on('error', () => undefined);
    upload.write('--b\r\nContent-Disposition: form-data; name="files[0]"; filename="a.txt"\r\n\r\nhello');
    let text = '';
    while (!text.includes('stowage_open_requests 1')) ({ text } = await ask('metrics'));
    upload.destroy();
    while (!text.includes('stowage_open_requests 0')) ({ text } = await ask('metrics'));
    expect(text).toContain('stowage_requests_total{action="fileUpload",status="499"} 1\n');
    expect(text).not.toMatch(/status="(?:400|5\d\d)"/u);
  });

  it('says what waits for a webhook, and how long', async () => {
    const body = new FormData();
    body.set('action', 'fileUpload');
    body.set('source', 'a');
    body.set('files[0]', new Blob(['x']), 'new.txt');
    expect((await fetch(url, { method: 'POST', body })).status).toBe(200);
    const figure = async (name: string): Promise<number> => {
      const { text } = await ask('metrics');
      return Number(new RegExp(`^stowage_webhook_${name}\\{([^}]*)\\} (.*)$`, 'mu').exec(text)?.[2]);
    };
    await expect.poll(() => figure('failures_total')).toBeGreaterThan(0);
    expect(await figure('waiting_events')).toBe(1);
    expect(await figure('oldest_event_seconds')).toBeGreaterThan(0);
    expect(await figure('deliveries_total')).toBe(0);
    expect(await figure('dropped_total')).toBe(0);
    expect((await ask('metrics')).text).toContain(
      'stowage_webhook_waiting_events{webhook="0",host="127.0.0.1:1"} 1\n',
    );
  });

  it('names the sources that do not answer, and nothing else of them', async () => {
    expect(await ask('ready')).toEqual({ status: 200, text: 'ready\n' });
    await rm(join(folder.path, 'b'), { recursive: true });
    expect(await ask('ready')).toEqual({ status: 503, text: 'not available: "b\\"}"\n' });
    await mkdir(join(folder.path, 'b'));
    expect(await ask('ready')).toEqual({ status: 200, text: 'ready\n' });
  });

  it('is not ready, and still lives, while running requests are finished', async () => {
    const other = start(['serve', folder.path, '--port', '0', '--health-port', '0']);
    const port = await portOf(other);
    const own = (await other.said(/Health and metrics on (http:[^"]*\/)"/u))[1] ?? '';
    const body = new PassThrough();
    const upload = request({ port, host: '127.0.0.1', method: 'POST', path: '/fileUpload' });
    upload.setHeader('content-type', 'multipart/form-data; boundary=b');
    body.pipe(upload);
    const ended = once(upload, 'close');
    upload.on('error', () => undefined);
    body.write('--b\r\nContent-Disposition: form-data; name="files[0]"; filename="a.txt"\r\n\r\nhello');
    while (!(await (await fetch(`${own}metrics`)).text()).includes('stowage_open_requests 1'));
    other.child.kill('SIGTERM');
    await other.said(/Stopping/u);
    const ready = await fetch(`${own}ready`);
    expect([ready.status, await ready.text()]).toEqual([503, 'stopping\n']);
    expect((await fetch(`${own}live`)).status).toBe(200);
    body.end('\r\n--b--\r\n');
    await ended;
    expect((await other.ended).status).toBe(0);
  });

  it('is a plain error when its port is in use', async () => {
    const { port } = new URL(health);
    const { status, stderr } = await runToEnd(['serve', folder.path, '--port', '0', '--health-port', port]);
    expect(status).toBe(1);
    expect(stderr).toContain(
      `Cannot listen on 127.0.0.1 port ${port}: the port is in use by another process.`,
    );
  });
});
