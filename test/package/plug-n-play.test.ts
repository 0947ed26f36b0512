import { mkdir, readFile, writeFile } from 'node:fs/promises';
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
