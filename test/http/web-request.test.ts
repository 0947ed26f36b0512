import { createHash, randomBytes } from 'node:crypto';
import { mkdtemp, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { setImmediate as nextTurn } from 'node:timers/promises';
import { createRouter } from 'stowage';
import { describe, expect, it, onTestFinished, vi } from 'vitest';
import { memoryConfig } from './hosts.ts';

const quiet = { logger: { debug() {}, info() {}, warn() {}, error() {} } };
const sha256 = (data: Uint8Array): string => createHash('sha256').update(data).digest('hex');

/** As Next.js' App Router calls a route handler: with a plain `Request`, no server in between. */
describe('a plain web request', () => {
  const seen: unknown[] = [];
  const router = createRouter(
    memoryConfig,
    {
      checkAuthentication: ({ native, headers }) => {
        seen.push(native);
        return headers['x-user'] ?? 'guest';
      },
    },
    { ...quiet, basePath: '/api/files' },
  );
  const base = 'https://site.test/api/files';

  it('goes up and down', async () => {
    const data = randomBytes(7 * 1024 * 1024);
    const body = new FormData();
    body.append('files[0]', new Blob([data]), 'a.bin');
    const headers = { 'x-user': 'editor' };
    const request = new Request(`${base}/fileUpload`, { method: 'POST', headers, body });
    const upload = await router.fetch(request);
    expect([upload.status, await upload.json()]).toMatchObject([200, { data: { files: ['a.bin'] } }]);
    expect(seen.at(-1)).toBe(request);
    const download = await router.fetch(new Request(`${base}/fileDownload?name=a.bin`));
    expect(sha256(new Uint8Array(await download.arrayBuffer()))).toBe(sha256(data));
    const etag = download.headers.get('etag') ?? '';
    const again = await router.fetch(
      new Request(`${base}/fileDownload?name=a.bin`, { headers: { 'if-none-match': etag } }),
    );
    expect([again.status, again.body]).toEqual([304, null]);
  });

  it('closes a file when its host cancels the response, or neither reads nor cancels it', async () => {
    const body = new FormData();
    body.append('files[0]', new Blob([randomBytes(7 * 1024 * 1024)]), 'left.bin');
    const headers = { 'x-user': 'editor' };
    await router.fetch(new Request(`${base}/fileUpload`, { method: 'POST', headers, body }));
    const download = () => router.fetch(new Request(`${base}/fileDownload?name=left.bin`));
    // The run fails by an error that nobody catches, which would end the process.
    for (let chunks = 0; chunks < 13; chunks += 1) {
      const reader = (await download()).body?.getReader();
      for (let count = 0; count < chunks; count += 1) await reader?.read();
      await reader?.cancel();
    }
    // Hono's `timeout` drops a response that comes too late.
    vi.useFakeTimers({ toFake: ['setTimeout', 'clearTimeout'] });
    onTestFinished(() => void vi.useRealTimers());
    const [dropped, slow] = await Promise.all([download(), download()]);
    const reader = slow.body?.getReader();
    for (let minute = 0; minute < 3; minute += 1) {
      expect((await reader?.read())?.done).toBe(false);
      vi.advanceTimersByTime(60_000);
    }
    await expect(dropped.arrayBuffer()).rejects.toThrow('does not read');
    await reader?.cancel();
    expect(vi.getTimerCount()).toBe(0);
  });

  it('cuts the base path by whole segments', async () => {
    const status = async (url: string) => (await router.fetch(new Request(url))).status;
    expect(await status(`${base}/ping`)).toBe(200);
    expect(await status(`${base}/ping/`)).toBe(200);
    expect(await status(base)).toBe(404);
    expect(await status(`${base}2/ping`)).toBe(404);
    const cut = createRouter(memoryConfig, {}, quiet);
    expect((await cut.fetch(new Request('https://site.test/ping'))).status).toBe(200);
  });

  it('finds the action below a prefix that was neither removed nor configured', async () => {
    const mounted = createRouter(memoryConfig, {}, quiet);
    const ask = async (path: string, init: RequestInit = {}) => {
      const answer = await mounted.fetch(new Request(`https://site.test${path}`, init));
      const { data } = (await answer.json()) as { data?: object };
      return [answer.status, 'permissions' in (data ?? {}) ? 'permissions' : Object.keys(data ?? {}).at(-1)];
    };
    expect(await ask('/a/b/permissions')).toEqual([200, 'permissions']);
    expect(await ask('/a/b/permissions/?action=files')).toEqual([200, 'permissions']);
    for (const mount of ['/a/b/', '/a/b', '/', '/a%20b/']) {
      expect(await ask(`${mount}?action=files`)).toEqual([200, 'sources']);
      expect(await ask(mount, { method: 'POST', body: new URLSearchParams({ action: 'files' }) })).toEqual([
        200,
        'sources',
      ]);
      expect(await ask(mount)).toEqual([404, 'messages']);
      expect(await ask(`${mount}?action=nonsense`)).toEqual([404, 'messages']);
    }
    expect((await mounted.fetch(new Request('https://site.test/a/b/ping'))).status).toBe(200);
  });

  it('hands on what the host gives as native', async () => {
    const context = { session: 1 };
    await router.fetch(new Request(`${base}/permissions`), context);
    expect(seen.at(-1)).toBe(context);
  });

  it('answers although the body is not read to its end', async () => {
    let pulled = 0;
    const endless = new ReadableStream({
      pull(controller) {
        pulled += 1;
        controller.enqueue(new Uint8Array(65_536));
      },
    });
    const init = {
      method: 'POST',
      body: endless,
      duplex: 'half',
      headers: { 'content-type': 'application/json' },
    };
    const abort = new AbortController();
    const answer = await router.fetch(new Request(`${base}/files`, { ...init, signal: abort.signal }));
    expect([answer.status, await answer.json()]).toMatchObject([413, { data: { code: 413 } }]);
    expect(pulled).toBeGreaterThan(0);
    abort.abort();
  });

  it.each([
    ['has been read', (request: Request) => request.text()],
    ['is being read', (request: Request) => request.body?.getReader()],
  ])('says so where the body %s before', async (_, read) => {
    const directory = await mkdtemp(join(tmpdir(), 'stowage-read-'));
    onTestFinished(() => rm(directory, { recursive: true }));
    const keeping = createRouter({ ...memoryConfig, accessControl: [], tus: { directory } }, {}, quiet);
    onTestFinished(() => keeping.close());
    const form = new FormData();
    form.append('files[0]', new Blob(['hello']), 'a.txt');
    const tus = { 'tus-resumable': '1.0.0' };
    const create = {
      method: 'POST',
      headers: { ...tus, 'upload-length': '5', 'upload-metadata': 'filename YS50eHQ=' },
    };
    const begun = await keeping.fetch(new Request('https://site.test/tus', create));
    const part = { ...tus, 'content-type': 'application/offset+octet-stream', 'upload-offset': '0' };
    const requests = [
      new Request('https://site.test/fileUpload', { method: 'POST', body: form }),
      new Request(`https://site.test/${begun.headers.get('location') ?? ''}`, {
        method: 'PATCH',
        headers: part,
        body: 'hello',
      }),
    ];
    for (const request of requests) {
      await read(request);
      const answer = await keeping.fetch(request);
      expect([answer.status, await answer.json()]).toMatchObject([
        400,
        { data: { messages: [expect.stringMatching(/has read the body before/u)] } },
      ]);
    }
  });

  it.each(['multipart/form-data; boundary=x', 'text/plain'])(
    'outlives a client that leaves in the midst of a body of %s before it is read',
    async (type) => {
      const uncaught: unknown[] = [];
      const note = (error: unknown): void => void uncaught.push(error);
      process.on('uncaughtExceptionMonitor', note);
      onTestFinished(() => void process.off('uncaughtExceptionMonitor', note));
      let leave = (): void => undefined;
      const body = new ReadableStream({
        start(controller) {
          controller.enqueue(new TextEncoder().encode('--x\r\n'));
          leave = () => controller.error(new Error('aborted'));
        },
      });
      const checkAuthentication = async (): Promise<string> => {
        leave();
        for (let turn = 0; turn < 5; turn += 1) await nextTurn();
        return 'editor';
      };
      const slow = createRouter(memoryConfig, { checkAuthentication }, quiet);
      const init = { method: 'POST', body, duplex: 'half', headers: { 'content-type': type } };
      const answer = await slow.fetch(new Request('https://site.test/fileUpload', init));
      await nextTurn();
      expect([answer.status, uncaught]).toEqual([400, []]);
    },
  );

  it('stops reading a file when the response is cancelled', async () => {
    const response = await router.fetch(new Request(`${base}/fileDownload?name=a.bin`));
    await response.body?.cancel();
    expect((await router.fetch(new Request(`${base}/ping`))).status).toBe(200);
  });
});
