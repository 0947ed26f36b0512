import { createHash, randomBytes } from 'node:crypto';
import { IncomingMessage, ServerResponse } from 'node:http';
import type { Socket } from 'node:net';
import { createRouter } from 'stowage';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { hosts, memoryConfig, quiet, roleByUser, type RunningHost } from './hosts.ts';

const SEVEN_MB = 7 * 1024 * 1024;
const bytes = randomBytes(SEVEN_MB);
const sha256 = (data: Uint8Array): string => createHash('sha256').update(data).digest('hex');

const formWith = (name: string, data: Uint8Array<ArrayBuffer>): FormData => {
  const form = new FormData();
  form.append('path', '/');
  form.append('source', 'default');
  form.append('files[0]', new Blob([data]), name);
  return form;
};

const editor = { 'x-user': 'editor' };

describe.each(Object.entries(hosts))('in %s', (name, kind) => {
  let host: RunningHost;
  beforeAll(async () => {
    host = await kind.start(memoryConfig, { checkAuthentication: roleByUser(kind) });
  });
  afterAll(() => host.close());

  it('answers the health check', async () => {
    const response = await fetch(`${host.url}/ping`);
    expect([response.status, await response.text()]).toEqual([200, '{"success":true}']);
    expect(response.headers.has('x-app-version')).toBe(name === 'the standalone service');
  });

  it('takes 7 MB and gives them back', async () => {
    const upload = await fetch(`${host.url}/?action=fileUpload`, {
      method: 'POST',
      headers: editor,
      body: formWith('фото.bin', bytes),
    });
    expect(upload.status).toBe(200);
    expect(await upload.json()).toMatchObject({ success: true, data: { code: 220, files: ['фото.bin'] } });
    const download = await fetch(`${host.url}/fileDownload?name=${encodeURIComponent('фото.bin')}`);
    expect(download.status).toBe(200);
    expect(download.headers.get('content-length')).toBe(String(SEVEN_MB));
    expect(sha256(new Uint8Array(await download.arrayBuffer()))).toBe(sha256(bytes));
    const range = { range: 'bytes=1000-1999' };
    const part = await fetch(`${host.url}/fileDownload?name=${encodeURIComponent('фото.bin')}`, {
      headers: range,
    });
    expect(part.status).toBe(206);
    expect(Buffer.from(await part.arrayBuffer()).equals(bytes.subarray(1000, 2000))).toBe(true);
  });

  it('knows the user that the host knows', async () => {
    const upload = (headers: Record<string, string>) =>
      fetch(`${host.url}/fileUpload`, { method: 'POST', headers, body: formWith('a.txt', Buffer.from('a')) });
    expect((await upload({})).status).toBe(403);
    expect((await upload({ 'x-user': 'reader' })).status).toBe(403);
    expect((await upload(editor)).status).toBe(200);
  });

  it('reads JSON, urlencoded and query parameters', async () => {
    const asJson = await fetch(host.url, {
      method: 'POST',
      headers: { 'content-type': 'application/json' },
      body: JSON.stringify({ action: 'files', mods: { limit: 1 } }),
    });
    expect(await asJson.json()).toMatchObject({ success: true, data: { sources: [{ name: 'files' }] } });
    const asForm = await fetch(`${host.url}/`, {
      method: 'POST',
      headers: { 'content-type': 'application/x-www-form-urlencoded' },
      body: 'action=folders&path=',
    });
    expect(await asForm.json()).toMatchObject({ success: true, data: { sources: [{ folders: ['.'] }] } });
    expect((await fetch(`${host.url}/permissions?path=/`)).status).toBe(200);
  });

  it('answers every path and method by itself, in its envelope', async () => {
    for (const [path, method, status] of [
      ['/nonsense', 'GET', 404],
      ['/a/b/c', 'GET', 404],
      ['', 'GET', 404],
      ['/files?path=../..', 'GET', 400],
      ['/files', 'PUT', 405],
      ['/files', 'DELETE', 405],
    ] as const) {
      const response = await fetch(host.url + path, { method });
      expect(response.status).toBe(status);
      expect(await response.json()).toMatchObject({ success: false, data: { code: status } });
    }
    const options = await fetch(`${host.url}/files`, { method: 'OPTIONS' });
    expect([options.status, options.headers.get('allow')]).toEqual([200, 'GET, HEAD, POST, OPTIONS']);
    const head = await fetch(`${host.url}/files`, { method: 'HEAD' });
    expect([head.status, await head.text()]).toEqual([200, '']);
  });

  it('tells the cause in the reason phrase', async () => {
    const { status, statusText } = await fetch(`${host.url}/fileDownload?name=none.bin`);
    // @hono/node-server has a reason phrase of its own for every status.
    const phrase = name.startsWith('Hono') ? 'Not Found' : 'The file was not found.';
    expect([status, statusText]).toEqual([404, phrase]);
  });

  it('answers an upload that is too large while it arrives', async () => {
    const response = await fetch(`${host.url}/fileUpload`, {
      method: 'POST',
      headers: editor,
      body: formWith('large.bin', randomBytes(20 * 1024 * 1024)),
    });
    expect(response.status).toBe(403);
    expect(await response.json()).toMatchObject({ success: false, data: { code: 403 } });
    expect((await fetch(`${host.url}/ping`)).status).toBe(200);
  });

  it('ends a download whose client has left', async () => {
    await fetch(`${host.url}/fileUpload`, {
      method: 'POST',
      headers: editor,
      body: formWith('go.bin', bytes),
    });
    for (let round = 0; round < 5; round += 1) {
      const abort = new AbortController();
      const response = await fetch(`${host.url}/fileDownload?name=go.bin`, { signal: abort.signal });
      expect(response.status).toBe(200);
      abort.abort();
    }
    expect((await fetch(`${host.url}/fileDownload?name=go.bin`, { method: 'HEAD' })).status).toBe(200);
  });
});

describe('on AWS Lambda', () => {
  // As serverless-http, serverless-express and others do: their sockets have only what Node itself uses.
  it('answers an adapter that calls the handler without a connection', async () => {
    const nothing = () => undefined;
    const written: string[] = [];
    const socket = {
      ...{ _writableState: {}, writable: true, on: nothing, removeListener: nothing, destroy: nothing },
      ...{ cork: nothing, uncork: nothing },
      write: (chunk: Uint8Array | string, ...rest: unknown[]) => {
        written.push(String(chunk));
        const [done] = rest.filter((one): one is () => void => typeof one === 'function');
        done?.();
        return true;
      },
    } as unknown as Socket;
    const request = new IncomingMessage({ destroy: nothing } as unknown as Socket);
    Object.assign(request, { method: 'GET', url: '/ping', headers: { host: 'a' }, complete: true });
    request.push(null);
    const response = new ServerResponse(request);
    response.assignSocket(socket);
    const router = createRouter(memoryConfig, {}, quiet);
    await router.handler(request, response);
    await router.close();
    expect([response.statusCode, response.writableEnded]).toEqual([200, true]);
    expect(written.join('')).toContain('{"success":true}');
  });
});
