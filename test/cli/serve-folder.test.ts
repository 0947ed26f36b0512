import { mkdir, readFile, writeFile } from 'node:fs/promises';
import { request } from 'node:http';
import { join } from 'node:path';
import sharp from 'sharp';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { createFolder, portOf, runToEnd, start, type Folder, type Process } from './service.ts';

let folder: Folder;
let service: Process;
let url: string;
let picture: Buffer;

const files = async (): Promise<{ success: boolean; data: { sources: Listed[] } }> =>
  (await (await fetch(`${url}files`)).json()) as { success: boolean; data: { sources: Listed[] } };

interface Listed {
  readonly name: string;
  readonly title: string;
  readonly baseurl: string;
  readonly files: { readonly file: string; readonly thumb?: string }[];
}

beforeAll(async () => {
  folder = await createFolder();
  picture = await sharp({ create: { width: 600, height: 400, channels: 3, background: '#226688' } })
    .png()
    .toBuffer();
  await mkdir(join(folder.path, 'My photos'));
  await writeFile(join(folder.path, 'My photos', 'cat.png'), picture);
  service = start(['serve', './My photos', '--port', '0'], {}, folder.path);
  url = `http://127.0.0.1:${String(await portOf(service))}/`;
});

afterAll(async () => {
  service.child.kill('SIGTERM');
  const { status, stdout, stderr } = await service.ended;
  await folder.remove();
  expect(status).toBe(0);
  expect(stdout).toContain(`Serving ${join(folder.path, 'My photos')} at ${url}\n`);
  expect(stdout).toContain(`uploader: { url: '${url}', data: { action: 'fileUpload' } }`);
  expect(stderr).toContain('every client that reaches this service may write');
  expect(stderr).not.toContain('allowedOrigins is not set');
});

describe('stowage serve FOLDER', () => {
  it('lists the folder as a source of its name, with links to itself', async () => {
    const { data } = await files();
    expect(data.sources).toMatchObject([
      { name: 'My photos', title: 'My photos', baseurl: '/file/My%20photos/', files: [{ file: 'cat.png' }] },
    ]);
  });

  it('serves the files and their thumbnails', async () => {
    const { data } = await files();
    const { baseurl = '', files: [file] = [] } = data.sources[0] ?? {};
    const whole = await fetch(new URL(`${baseurl}${file?.file ?? ''}`, url));
    expect(whole.headers.get('content-type')).toBe('image/png');
    expect(Buffer.from(await whole.arrayBuffer()).equals(picture)).toBe(true);
    const thumb = await fetch(new URL(`${baseurl}${file?.thumb ?? ''}`, url));
    expect(thumb.status).toBe(200);
    const small = await sharp(await thumb.arrayBuffer()).metadata();
    expect([small.width, small.height]).toEqual([250, 167]);
  });

  it('takes uploads of pages of this machine, and of no other page', async () => {
    const upload = (name: string, origin: string): Promise<Response> => {
      const body = new FormData();
      body.set('files[0]', new Blob([new Uint8Array(picture)]), name);
      return fetch(`${url}fileUpload`, { method: 'POST', body, headers: { origin } });
    };
    const allowed = await upload('dog.png', 'http://localhost:3000');
    expect(await allowed.json()).toMatchObject({ success: true });
    expect(allowed.headers.get('access-control-allow-origin')).toBe('http://localhost:3000');
    expect((await readFile(join(folder.path, 'My photos', 'dog.png'))).equals(picture)).toBe(true);
    for (const origin of ['https://evil.example', 'http://localhost.evil.example', 'null']) {
      expect((await upload('evil.png', origin)).status).toBe(403);
    }
  });

  it('refuses requests for another host, which a page of any site could send by a name of its own', async () => {
    const ask = (path: string, host: string): Promise<number | undefined> =>
      new Promise((done, fail) => {
        request(
          new URL(path, url),
          { method: 'POST', headers: { host, origin: `http://${host}` } },
          (answer) => {
            answer.resume();
            done(answer.statusCode);
          },
        )
          .on('error', fail)
          .end();
      });
    const { port } = new URL(url);
    for (const path of ['fileRemove?name=cat.png', 'files', 'file/My%20photos/cat.png'])
      expect(await ask(path, `evil.example:${port}`)).toBe(403);
    expect((await readFile(join(folder.path, 'My photos', 'cat.png'))).equals(picture)).toBe(true);
    for (const host of [`localhost:${port}`, `127.0.0.1:${port}`, `[::1]:${port}`, 'localhost'])
      expect(await ask('files', host)).toBe(200);
  });

  it('gives whole links when its port is known', async () => {
    const other = start(['serve', 'My photos', '--port', '0'], { HOST: '127.0.0.1' }, folder.path);
    const port = await portOf(other);
    other.child.kill('SIGTERM');
    await other.ended;
    const fixed = start(['serve', 'My photos', '--port', String(port)], {}, folder.path);
    await portOf(fixed);
    const answer = await fetch(`http://127.0.0.1:${String(port)}/files`);
    const { data } = (await answer.json()) as { data: { sources: Listed[] } };
    fixed.child.kill('SIGTERM');
    await fixed.ended;
    expect(data.sources[0]?.baseurl).toBe(`http://127.0.0.1:${String(port)}/file/My%20photos/`);
  });

  it('ends with 1 when there is no such folder', async () => {
    for (const name of ['nothing', 'cat.png']) {
      expect(await runToEnd(['serve', join(folder.path, 'My photos', name)])).toEqual({
        status: 1,
        signal: null,
        stdout: '',
        stderr: `There is no folder ${join(folder.path, 'My photos', name)}.\n`,
      });
    }
  });
});
