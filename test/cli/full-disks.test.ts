import { once } from 'node:events';
import { connect, type Socket } from 'node:net';
import { join } from 'node:path';
import { afterAll, beforeAll, expect, it } from 'vitest';
import { eventually } from '../client/client.ts';
import { createFolder, portOf, start, type Folder } from './service.ts';

let folder: Folder;

beforeAll(async () => {
  folder = await createFolder();
});

afterAll(() => folder.remove());

it('goes on when the program that reads its log has ended', async () => {
  const sources = { data: { title: 'Data', root: folder.path, serve: 'public' } };
  const config = await folder.config({ logRequests: true, sources });
  const service = start(['serve', '--config', config, '--port', '0']);
  const url = `http://127.0.0.1:${String(await portOf(service))}`;
  service.child.stderr.destroy();
  for (let turn = 0; turn < 3; turn += 1) expect((await fetch(`${url}/files`)).status).toBe(200);
  service.child.kill('SIGTERM');
  expect(await service.ended).toMatchObject({ status: 0, signal: null });
});

// A limit for the size of files fails like a full disk. Uploads wait in the temp folder before their store is asked.
it.each([
  ['full', 'ulimit -f 2000', (tmp) => tmp, 'STORAGE_FULL'],
  ['missing', '', (tmp) => join(tmp, 'missing'), 'STORAGE_UNAVAILABLE'],
] as const satisfies [string, string, (tmp: string) => string, string][])(
  'reports a temp folder that is %s, in the answer and in the log',
  async (_, before, of, error) => {
    const webdav = {
      title: 'D',
      serve: 'public',
      storageAdapter: 'webdav',
      webdav: { url: 'http://127.0.0.1:1/' },
    };
    const config = await folder.config({ extensions: ['bin'], sources: { webdav } });
    const environment = { TMPDIR: of(folder.path) };
    const service = start(['serve', '--config', config, '--port', '0'], environment, undefined, before);
    const form = new FormData();
    form.append('files[0]', new Blob([new Uint8Array(3_000_000)]), 'a.bin');
    const url = `http://127.0.0.1:${String(await portOf(service))}/fileUpload`;
    const response = await fetch(url, { method: 'POST', body: form });
    expect(await response.json()).toMatchObject({ success: false, data: { code: 500, error } });
    await service.said(/"level":"error".*"status":500/u);
    service.child.kill('SIGTERM');
    await service.ended;
  },
);

/** Opens connections until the service has no descriptor left for the next one. */
const useAllDescriptors = async (port: number): Promise<readonly Socket[]> => {
  const sockets: Socket[] = [];
  while (sockets.every(({ closed }) => !closed)) {
    const socket = connect(port, '127.0.0.1').on('error', () => undefined);
    sockets.push(socket);
    await once(socket, 'connect');
  }
  return sockets;
};

it('takes uploads again, and reports to monitors, after it had no descriptors left', async () => {
  const config = await folder.config({
    sources: { data: { title: 'D', root: folder.path, serve: 'public' } },
  });
  const words = ['serve', '--config', config, '--port', '0', '--health-port', '0'];
  const service = start(words, {}, undefined, 'ulimit -n 128');
  const port = await portOf(service);
  const [, health = ''] = await service.said(/"Health and metrics on (http:[^"]+)"/u);
  const statusOf = async (url: string, init?: RequestInit): Promise<number> => {
    const response = await fetch(url, init);
    await response.arrayBuffer();
    return response.status;
  };
  const upload = (): Promise<number> => {
    const body = new FormData();
    body.append('files[0]', new Blob(['text']), 'a.txt');
    return statusOf(`http://127.0.0.1:${String(port)}/fileUpload`, { method: 'POST', body });
  };
  // These connections stay open, one for each request.
  const ping = `http://127.0.0.1:${String(port)}/ping`;
  const first = await Promise.all([ping, ping, `${health}live`].map((url) => statusOf(url)));
  expect(first).toEqual([200, 200, 200]);
  const sockets = await useAllDescriptors(port);
  const body = new URLSearchParams({ html: '<p>text</p>' });
  const document = `http://127.0.0.1:${String(port)}/generateDocx`;
  expect([await statusOf(`${health}metrics`), await statusOf(document, { method: 'POST', body })]).toEqual([
    503, 503,
  ]);
  // The first upload loads nothing: Node 20 would never try again to read a module.
  expect(await upload()).toBe(503);
  for (const socket of sockets) socket.resetAndDestroy();
  await eventually(upload).toBe(200);
  expect(await statusOf(`${health}metrics`)).toBe(200);
  service.child.kill('SIGTERM');
  expect(await service.ended).toMatchObject({ status: 0 });
});
