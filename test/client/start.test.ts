import { spawn, type ChildProcess } from 'node:child_process';
import { once } from 'node:events';
import { mkdtemp, rm, symlink, writeFile } from 'node:fs/promises';
import { request, type IncomingMessage } from 'node:http';
import { tmpdir } from 'node:os';
import path from 'node:path';
import { createInterface } from 'node:readline';
import { afterAll, beforeAll, describe, expect, test } from 'vitest';

const program = path.join(import.meta.dirname, '../../demo/start.ts');

const start = (dataDir: string, ...flags: string[]): ChildProcess =>
  spawn(
    process.execPath,
    ['--import', 'tsx', program, '--port', '0', '--page-port', '0', '--data', dataDir, ...flags],
    { stdio: ['ignore', 'pipe', 'pipe'] },
  );

/** The first line with addresses that a program prints. */
const addressesOf = async (child: ChildProcess): Promise<readonly string[]> => {
  if (child.stdout === null) throw new Error('The demo has no output.');
  for await (const line of createInterface(child.stdout)) {
    const addresses = line.match(/http:\S+\//gu);
    if (addresses !== null) return addresses;
  }
  throw new Error('The demo has ended.');
};

/** The status of a request whose path is sent as it is, which fetch would tidy. */
const statusOf = async (base: string, target: string, method = 'GET'): Promise<number> => {
  const { hostname, port } = new URL(base);
  const sent = request({ hostname, port, path: target, method });
  sent.end();
  const [answer] = (await once(sent, 'response')) as [IncomingMessage];
  answer.resume();
  await once(answer, 'end');
  return answer.statusCode ?? 0;
};

/** Ends whatever a program has started and not ended itself. */
const endGroup = (leader: number): void => {
  try {
    process.kill(-leader, 'SIGKILL');
  } catch {
    // All of them have ended.
  }
};

interface Listing {
  readonly data: {
    readonly sources: readonly {
      readonly name: string;
      readonly baseurl: string;
      readonly path: string;
      readonly files: readonly { readonly name: string; readonly thumb?: string }[];
    }[];
  };
}

describe('Starting the demo', () => {
  let dataDir = '';
  let child: ChildProcess;
  let pageUrl = '';
  let connectorUrl = '';

  beforeAll(async () => {
    dataDir = await mkdtemp(path.join(tmpdir(), 'stowage-demo-'));
    child = start(dataDir);
    [pageUrl = '', connectorUrl = ''] = await addressesOf(child);
  });
  afterAll(async () => {
    child.kill('SIGKILL');
    await rm(dataDir, { recursive: true, force: true });
  });

  const list = async (query: string): Promise<Listing['data']['sources']> => {
    const answer = await fetch(`${connectorUrl}files?${query}`);
    expect(answer.status).toBe(200);
    return ((await answer.json()) as Listing).data.sources;
  };

  test('serves the page, the editor and what the page must know', async () => {
    const page = await fetch(pageUrl);
    expect(page.status).toBe(200);
    expect(page.headers.get('content-security-policy')).toContain("script-src 'self'");
    expect(await page.text()).toContain('id="editor"');
    const settings = (await (await fetch(`${pageUrl}settings.json`)).json()) as { connectorPort: number };
    expect(String(settings.connectorPort)).toBe(new URL(connectorUrl).port);
    const script = await fetch(`${pageUrl}jodit/jodit.min.js`);
    expect(script.headers.get('content-type')).toBe('text/javascript; charset=utf-8');
    expect((await script.text()).length).toBeGreaterThan(100_000);
  });

  test('makes sample files at the first start, and each has a thumbnail that can be loaded', async () => {
    const sources = await list('');
    expect(sources.map(({ name }) => name)).toEqual(['photos', 'documents']);
    const [photos, documents] = sources;
    const names = photos?.files.map(({ name }) => name) ?? [];
    for (const extension of ['jpg', 'png', 'webp', 'gif', 'svg', 'bmp', 'ico']) {
      expect(names.some((name) => name.endsWith(`.${extension}`))).toBe(true);
    }
    expect(documents?.files.map(({ name }) => name)).toEqual(
      expect.arrayContaining(['welcome.txt', 'handbook.pdf']),
    );
    for (const source of sources) {
      for (const file of source.files) {
        const thumb = await fetch(
          new URL(encodeURI(file.thumb ?? 'missing'), new URL(source.baseurl, pageUrl)),
        );
        expect([file.name, thumb.status]).toEqual([file.name, 200]);
        expect(thumb.headers.get('content-type')).toMatch(/^image\//u);
        await thumb.arrayBuffer();
      }
    }
  });

  test('serves files of visitors so that they cannot act on the page', async () => {
    await writeFile(path.join(dataDir, 'documents', 'page.html'), '<script>alert(1)</script>');
    const picture = await fetch(`${pageUrl}file/photos/sign.svg`);
    expect(picture.headers.get('content-type')).toBe('image/svg+xml');
    expect(picture.headers.get('content-security-policy')).toContain('sandbox');
    expect(picture.headers.get('x-content-type-options')).toBe('nosniff');
    expect((await picture.text()).length).toBeGreaterThan(0);
    expect(await statusOf(pageUrl, '/file/documents/page.html')).toBe(404);
  });

  test('serves nothing outside its folders', async () => {
    await writeFile(path.join(dataDir, 'secret.txt'), 'secret');
    await symlink(path.join(dataDir, 'secret.txt'), path.join(dataDir, 'documents', 'link.txt'));
    await symlink(dataDir, path.join(dataDir, 'documents', 'up'));
    await writeFile(path.join(dataDir, 'documents', '.hidden'), 'hidden');
    const targets = [
      '/file/documents/../secret.txt',
      '/file/documents/%2e%2e/secret.txt',
      '/file/documents/..%2fsecret.txt',
      '/file/documents/..%5csecret.txt',
      '/file/documents/%252e%252e/secret.txt',
      '/file/documents//secret.txt',
      '/file/documents/link.txt',
      '/file/documents/up/secret.txt',
      '/file/documents/.hidden',
      '/file/documents/welcome.txt%00',
      '/file/documents/',
      '/files/documents',
      '/files/secret.txt',
      '/file/documents/%zz',
      '/page/../../package.json',
      '/package.json',
    ];
    for (const target of targets) expect([target, await statusOf(pageUrl, target)]).toEqual([target, 404]);
    expect(await statusOf(pageUrl, '/file/documents/welcome.txt')).toBe(200);
  });

  test('keeps what is in its folders at the next start, and says which port is taken', async () => {
    const second = start(dataDir, '--port', new URL(connectorUrl).port);
    let complaint = '';
    second.stderr?.setEncoding('utf8').on('data', (text: string) => (complaint += text));
    const [code] = (await once(second, 'close')) as [number];
    expect(code).toBe(1);
    expect(complaint).toMatch(/cannot start.*in use.*--port/su);
    expect(complaint).not.toMatch(/\n\s+at /u);
    expect(await statusOf(pageUrl, '/file/documents/welcome.txt')).toBe(200);
  });

  test('ends cleanly when it is asked to', async () => {
    const ended = once(child, 'exit');
    child.kill('SIGINT');
    child.kill('SIGTERM');
    const [code] = (await ended) as [number | null];
    expect(code).toBe(0);
  });

  test('leaves nothing behind when `npm start` is ended by its id', async () => {
    const args = ['start', '--', '--port', '0', '--page-port', '0', '--data', dataDir];
    const npm = spawn('npm', args, {
      cwd: path.join(import.meta.dirname, '../..'),
      stdio: ['ignore', 'pipe', 'ignore'],
      detached: true,
    });
    try {
      const [page = ''] = await addressesOf(npm);
      expect((await fetch(page)).status).toBe(200);
      npm.kill('SIGTERM');
      const answers = (): Promise<boolean> =>
        fetch(page).then(
          () => true,
          () => false,
        );
      await expect.poll(answers).toBe(false);
    } finally {
      if (npm.pid !== undefined) endGroup(npm.pid);
    }
  }, 90_000);
});
