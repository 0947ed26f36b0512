import { mkdir, readdir, readFile, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { afterAll, beforeAll, expect, it } from 'vitest';
import { createFolder, portOf, start, type Folder } from '../cli/service.ts';

let folder: Folder;

beforeAll(async () => {
  folder = await createFolder();
});

afterAll(() => folder.remove());

it("loads Yarn Plug'n'Play in the threads too, which find their files by it alone", async () => {
  const log = join(folder.path, 'threads');
  const hook = join(folder.path, 'pnp.cjs');
  await writeFile(
    hook,
    `process.versions.pnp = '3';
     const { isMainThread } = require('node:worker_threads');
     if (!isMainThread) require('node:fs').appendFileSync(${JSON.stringify(log)}, 'thread ');`,
  );
  const root = join(folder.path, 'files');
  await mkdir(root);
  for (let number = 0; number < 300; number += 1) await writeFile(join(root, `${String(number)}.txt`), '');
  const config = await folder.config({ sources: { files: { title: 'Files', root, serve: 'public' } } });
  const service = start(['serve', '--config', config, '--port', '0'], { NODE_OPTIONS: `--require ${hook}` });
  const url = `http://127.0.0.1:${String(await portOf(service))}`;
  expect((await fetch(`${url}/files`)).status).toBe(200);
  const body = new URLSearchParams({ html: '<p>Hello</p>' });
  expect((await fetch(`${url}/generateDocx`, { method: 'POST', body })).status).toBe(200);
  service.child.kill('SIGTERM');
  expect((await service.ended).status).toBe(0);
  expect(await readFile(log, 'utf8')).toBe('thread thread ');
});

it("stores events and uploads in parts with Yarn Plug'n'Play, whose file handles cannot flush", async () => {
  const hook = join(folder.path, 'handles.cjs');
  await writeFile(
    hook,
    `process.versions.pnp = '3';
     require('node:fs').promises.open(__filename).then((handle) => {
       const fail = () => { throw new Error('Method not implemented.'); };
       Object.assign(Object.getPrototypeOf(handle), { sync: fail, datasync: fail });
       return handle.close();
     });`,
  );
  const [root, stateDirectory] = [join(folder.path, 'parts'), join(folder.path, 'state')];
  await mkdir(root);
  const config = await folder.config({
    stateDirectory,
    webhooks: [{ url: 'http://127.0.0.1:1/', secret: 'x'.repeat(32), allowPrivate: true }],
    sources: { files: { title: 'Files', root, serve: 'public' } },
  });
  const service = start(['serve', '--config', config, '--port', '0'], { NODE_OPTIONS: `--require ${hook}` });
  const url = `http://127.0.0.1:${String(await portOf(service))}/tus`;
  const named = { 'Upload-Length': '5', 'Upload-Metadata': `filename ${btoa('a.txt')}` };
  const begun = await fetch(url, { method: 'POST', headers: { 'Tus-Resumable': '1.0.0', ...named } });
  const part = { 'Upload-Offset': '0', 'Content-Type': 'application/offset+octet-stream' };
  const sent = await fetch(new URL(begun.headers.get('location') ?? '', url), {
    method: 'PATCH',
    headers: { 'Tus-Resumable': '1.0.0', ...part },
    body: 'Hello',
  });
  expect([begun.status, sent.status]).toEqual([201, 200]);
  expect(await readFile(join(root, 'a.txt'), 'utf8')).toBe('Hello');
  service.child.kill('SIGTERM');
  await service.ended;
  const waiting = await readdir(join(stateDirectory, 'webhooks'), { recursive: true });
  expect(waiting.filter((name) => name.endsWith('.json'))).toHaveLength(1);
});
