import { mkdir, readdir, symlink, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { registerStorageAdapter } from 'stowage';
import { describe, expect, it, onTestFinished, vi } from 'vitest';
import { examineService, type Finding } from '#internals';
import {
  alone,
  atOrigin,
  closed,
  examine,
  expectFinding,
  healthy,
  here,
  none,
  page,
  useFolders,
  withSource,
  type Row,
} from './doctor.ts';
import { makeCertificate, startTlsFront } from '../../tools/test-servers/tls-front.ts';
import { runToEnd, start } from './service.ts';
import { answerAll, serveFolder, serveWith } from './web-servers.ts';

useFolders();

const folders: readonly Row[] = [
  [
    'a root that is not there',
    () => withSource({ root: join(here.root, "a's pictures"), serve: 'public' }),
    'store.open',
    'broken',
    /there is no folder/u,
    /^mkdir -p '[^']*photos\/a'\\''s pictures' \(/u,
  ],
  [
    'a root that is a file',
    async () => {
      await writeFile(join(here.root, 'a'), '');
      return withSource({ root: join(here.root, 'a'), serve: 'public' });
    },
    'store.open',
    'broken',
    /is not a folder/u,
    /sources\.photos\.root/u,
  ],
  [
    'a root below a file',
    async () => {
      await writeFile(join(here.root, 'a'), '');
      return withSource({ root: join(here.root, 'a/b'), serve: 'public' });
    },
    'store.open',
    'broken',
    /cannot be read: .*ENOTDIR/u,
    /^Correct sources\.photos\.root\.$/u,
  ],
  [
    'a link in the place of the trash',
    async () => {
      await mkdir(join(here.root, 'a'));
      await symlink(here.folder, join(here.root, 'a/.stowage-trash'));
      return withSource({ root: join(here.root, 'a'), serve: 'public' });
    },
    'store.own',
    'broken',
    /a\/\.stowage-trash is not a folder/u,
    /^Move it away: mv /u,
  ],
  [
    'too little room',
    () => withSource({ serve: 'public', maxUploadFileSize: '900000gb' }),
    'room',
    'broken',
    /MB left, less than one upload/u,
    /Make room on the disk/u,
  ],
  [
    'one root in another',
    async () => {
      await mkdir(join(here.root, 'in'));
      return {
        ...healthy(),
        sources: {
          photos: { title: 'P', root: here.root, serve: 'public' },
          inner: { title: 'I', root: join(here.root, 'in'), serve: 'public' },
        },
      };
    },
    'overlap',
    'risk',
    /photos > inner/u,
    /root of its own/u,
  ],
];

const addresses: readonly Row[] = [
  [
    'nobody at the baseurl',
    () => atOrigin(closed),
    'baseurl',
    'broken',
    /does not respond: .*ECONNREFUSED/u,
    /Start the web server behind sources\.photos\.baseurl/u,
  ],
  [
    'a wrong alias',
    async () => atOrigin(await answerAll(404)),
    'baseurl',
    'broken',
    /responds with 404 for a file that is there/u,
    /nginx: alias/u,
  ],
  [
    'files that the web server may not read',
    async () => atOrigin(await answerAll(403)),
    'baseurl',
    'broken',
    /responds with 403/u,
    /Let the web server read the folder/u,
  ],
  [
    'a web server that fails',
    async () => atOrigin(await answerAll(500)),
    'baseurl',
    'broken',
    /responds with 500/u,
    /log of the web server/u,
  ],
  [
    'a page for every address',
    async () => atOrigin(await answerAll(200, '<!doctype html>')),
    'baseurl',
    'broken',
    /responds with something else than the file/u,
    /before the routes of the page/u,
  ],
  [
    'other files',
    async () => atOrigin(await answerAll(200, 'other')),
    'baseurl',
    'broken',
    /something else/u,
    /leads to other files/u,
  ],
  [
    'a login before the files',
    async () => atOrigin(await answerAll(302, '', { location: '/login' })),
    'baseurl',
    'broken',
    /responds with 302/u,
    /after the redirect/u,
  ],
  [
    'a certificate that is not trusted',
    async () => {
      const front = await startTlsFront(await makeCertificate(), closed);
      onTestFinished(() => front.close());
      return atOrigin(front.origin);
    },
    'baseurl',
    'broken',
    /does not respond: .*self-signed certificate/u,
    /a certificate that is trusted/u,
  ],
  [
    'files without nosniff',
    async () => atOrigin(await serveFolder(here.root)),
    'baseurl.nosniff',
    'risk',
    /X-Content-Type-Options/u,
    /add_header X-Content-Type-Options nosniff/u,
  ],
  [
    'files that are not https in a page that is',
    async () => [atOrigin(await serveFolder(here.root)), { pageOrigin: page }],
    'baseurl.mixed',
    'broken',
    /it is not https/u,
    /over https/u,
  ],
  [
    'files that a page cannot read',
    async () => [atOrigin(await serveFolder(here.root)), { pageOrigin: page }],
    'baseurl.cors',
    'risk',
    /can show the files but not read them/u,
    /Access-Control-Allow-Origin https:\/\/www\.example\.com/u,
  ],
  [
    'a baseurl that is only a path',
    () => withSource({ ...alone, baseurl: '/photos/' }),
    'baseurl',
    'risk',
    /it is a path/u,
    /--page-origin/u,
  ],
  [
    'a path that leads elsewhere',
    async () => [withSource({ ...alone, baseurl: '/photos/' }), { pageOrigin: await answerAll(404) }],
    'baseurl',
    'broken',
    /\/photos\/stowage-doctor-.* responds with 404/u,
    /alias/u,
  ],
];

describe('the doctor finds', () => {
  it.each([...folders, ...addresses])('%s', async (...row) => {
    await expectFinding(row);
    expect((await readdir(here.root)).filter((name) => name.includes('stowage'))).toEqual([]);
  });
});

/** A configuration of a protected source, with hooks. */
const withHooks = async (hooks: string): Promise<string> => {
  const file = join(here.folder, 'stowage.mjs');
  const config = JSON.stringify(withSource({ serve: 'protected' }));
  await writeFile(file, `export default { config: ${config}, hooks: ${hooks} };`);
  return file;
};

/** Lets a second pass in a millisecond. */
const runClock = (): void => {
  vi.useFakeTimers({ toFake: ['setTimeout', 'clearTimeout'] });
  const clock = setInterval(() => vi.advanceTimersByTime(1000), 1);
  onTestFinished(() => {
    clearInterval(clock);
    vi.useRealTimers();
  });
};

describe('stowage doctor', () => {
  it('ends with 0 when all is well, and leaves nothing behind', async () => {
    const origin = await serveFolder(here.root, {
      'x-content-type-options': 'nosniff',
      'access-control-allow-origin': '*',
    });
    const signingSecret = { env: 'KEY' };
    const sources = {
      photos: { title: 'P', root: here.root, baseurl: `${origin}/` },
      signed: { title: 'S', root: join(here.folder, 'signed'), serve: 'signed' },
    };
    await mkdir(join(here.folder, 'signed'));
    const file = join(here.folder, 'stowage.json');
    await writeFile(file, JSON.stringify({ ...healthy(), signingSecret, sources }));
    const environment = { KEY: 'k'.repeat(32) };
    const { status, stdout, stderr } = await runToEnd(['doctor', '--config', file], environment);
    expect({ status, stderr }).toEqual({ status: 0, stderr: '' });
    expect(stdout).toContain('ok      photos: files can be written, listed, read and removed\n');
    expect(stdout).toMatch(/note {4}photos: the store promises .*a version of each file.*replacing/u);
    expect(stdout).toMatch(/note {4}photos: the store does not promise .*URLs that expire/u);
    expect(stdout).toContain(`ok      photos: browsers can read files at ${origin}/\n`);
    expect(stdout).toContain('ok      signed: the service serves the files\n');
    expect(stdout).toMatch(/\nNothing is wrong\.\n$/u);
    expect([await readdir(here.root), await readdir(join(here.folder, 'signed'))]).toEqual([[], []]);
  });

  it('ends with 1 when something is broken, each with a line that fixes it, also as JSON', async () => {
    const file = join(here.folder, 'stowage.json');
    await writeFile(file, JSON.stringify(withSource({ root: join(here.root, 'gone'), serve: 'public' })));
    const text = await runToEnd(['doctor', '--config', file]);
    expect(text.status).toBe(1);
    expect(text.stdout).toMatch(
      /\nBROKEN {2}photos: there is no folder .*\n {8}fix: mkdir -p .*\n\n1 broken, 0 risks\.\n$/u,
    );
    const json = await runToEnd(['doctor', '--config', file, '--json']);
    expect(json.status).toBe(1);
    const { broken, findings } = JSON.parse(json.stdout) as { broken: number; findings: Finding[] };
    expect(broken).toBe(1);
    expect(findings.find(({ level }) => level === 'broken')).toMatchObject({
      check: 'store.open',
      source: 'photos',
    });
    expect(await readdir(here.root)).toEqual([]);
  });

  it.each([
    [['--page-origin', 'www.example.com'], '--page-origin needs an origin such as https://www.example.com'],
    [['--url', 'ftp://a'], '--url needs an http or https URL, without a login or query.'],
    [['--url', 'https://a:b@c'], '--url needs an http or https URL, without a login or query.'],
    [['--form-size', 'much'], '--form-size needs a size such as 20mb.'],
    [['--host', 'a'], 'doctor does not take --host.'],
  ])('ends with 2 for %j', async (words, message) => {
    expect(await runToEnd(['doctor', ...words])).toMatchObject({
      status: 2,
      stderr: `${message}\nTry: stowage --help\n`,
    });
  });

  it('removes its file when it is stopped', async () => {
    const stopping = new AbortController();
    const origin = await serveWith((_request, response) => {
      // While the probe is there.
      stopping.abort();
      response.writeHead(404).end();
    });
    const file = join(here.folder, 'stowage.json');
    await writeFile(file, JSON.stringify(atOrigin(origin)));
    await expect(examineService({ ...none, config: file }, stopping.signal)).rejects.toThrow();
    expect(await readdir(here.root)).toEqual([]);
  });

  it('checks the configured sources, whatever resolveSources returns', async () => {
    const file = await withHooks(`{ resolveSources: () => ({ id: 'a', sources: {} }) }`);
    const findings = await examineService({ ...none, config: file }, new AbortController().signal);
    expect(findings).toContainEqual(expect.objectContaining({ check: 'serve', level: 'ok' }));
  });

  it('waits for a hook, whatever that waits for', async () => {
    const file = await withHooks(`{ checkAuthentication() {
      setTimeout(() => console.error('still waiting'), 50).unref();
      return new Promise((resolve) => process.once('SIGINT', () => resolve('guest')));
    } }`);
    const doctor = start(['doctor', '--config', file]);
    await doctor.said(/still waiting/u);
    doctor.child.kill('SIGINT');
    expect(await doctor.ended).toMatchObject({ status: 130, stderr: 'still waiting\n' });
    expect(await readdir(here.root)).toEqual([]);
  });

  it('removes its file where a hook never ends', async () => {
    const file = await withHooks('{ checkAuthentication: () => new Promise(() => undefined) }');
    runClock();
    const findings = await examineService({ ...none, config: file }, new AbortController().signal);
    expect(findings).toContainEqual(expect.objectContaining({ check: 'unfinished', level: 'broken' }));
    expect(await readdir(here.root)).toEqual([]);
  });

  it('reports the rest where the files of a source are still looked for after a minute', async () => {
    vi.useFakeTimers({ toFake: ['setTimeout', 'clearTimeout'] });
    onTestFinished(() => void vi.useRealTimers());
    const origin = await serveWith(() => void vi.advanceTimersByTime(61_000));
    const findings = await examine(atOrigin(origin));
    expect(findings).toContainEqual(
      expect.objectContaining({
        check: 'unfinished',
        level: 'broken',
        source: 'photos',
        text: 'the checks of the source were not finished: it has taken longer than a minute',
      }),
    );
    expect(findings).toContainEqual(expect.objectContaining({ check: 'store', level: 'ok' }));
    expect(findings).toContainEqual(expect.objectContaining({ check: 'pictures', level: 'ok' }));
    expect(await readdir(here.root)).toEqual([]);
  });

  it('reports the rest where a store never opens', async () => {
    registerStorageAdapter('never-opens', { create: () => new Promise(() => undefined) });
    runClock();
    const photos = { title: 'Photos', storageAdapter: 'never-opens', serve: 'public' };
    const findings = await examine({ ...healthy(), sources: { photos } });
    expect(findings).toContainEqual(
      expect.objectContaining({
        check: 'store.open',
        level: 'broken',
        text: 'cannot be opened: it has taken longer than a minute',
      }),
    );
    expect(findings).toContainEqual(expect.objectContaining({ check: 'packages' }));
  });
});
