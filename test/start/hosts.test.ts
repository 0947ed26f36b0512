import { mkdir, readFile, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import type { Browser } from 'puppeteer-core';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { runsEverything } from '../before-release.ts';
import { chromium, openChromium, needsChromium } from '../client/chromium.ts';
import { eventually } from '../client/client.ts';
import { freePort } from '../../tools/test-servers/server-processes.ts';
import { seeFirstPicture } from './first-picture.ts';
import { startProvider } from './logins.ts';
import { packagesOf, PackedProject, type RunningProgram } from './packed-project.ts';
import { Visitor } from './visitor.ts';

const server = ['node', 'server.mjs'];

/** The programs of one file, each with its page and the words that start it. Before a release all of them run. */
const examples = {
  quick: { page: 'README.md', words: server, hasLogin: false },
  express: { page: 'docs/start/express.md', words: server, hasLogin: true },
  fastify: { page: 'docs/start/fastify.md', words: server, hasLogin: true },
  koa: { page: 'docs/start/koa.md', words: server, hasLogin: true },
  hono: { page: 'docs/start/hono.md', words: server, hasLogin: true },
  nest: { page: 'docs/start/nest.md', words: ['node_modules/.bin/tsx', 'main.ts'], hasLogin: true },
  'node-http': { page: 'docs/start/node-http.md', words: server, hasLogin: true },
} as const;

const chosen = runsEverything ? (Object.keys(examples) as (keyof typeof examples)[]) : (['quick'] as const);
const otherPages = ['docs/login.md', ...(runsEverything ? ['docs/start/cli.md', 'docs/react.md'] : [])];

let project: PackedProject;

/** Says how long something took, for whoever reads the log. */
const timed = async <Result>(what: string, act: () => Promise<Result>): Promise<Result> => {
  const start = performance.now();
  const result = await act();
  console.info(`${what}: ${((performance.now() - start) / 1000).toFixed(1)} s`);
  return result;
};

beforeAll(async () => {
  const pages = [...chosen.map((name) => examples[name].page), ...otherPages];
  const packages = (await Promise.all(pages.map(packagesOf))).flat();
  if (runsEverything) packages.push('jodit-react');
  project = await timed('npm install of all pages', () => PackedProject.create(packages));
}, 240_000);

afterAll(() => project?.remove());

describe.skipIf(chromium === undefined)(`From an empty folder to a picture${needsChromium}`, () => {
  let browser: Browser;
  let close: () => Promise<void>;

  beforeAll(async () => {
    ({ browser, close } = await openChromium());
  });
  afterAll(() => close());

  it.each(chosen)(
    '%s',
    async (name) => {
      const { words, hasLogin } = examples[name];
      const folder = await project.add(`start/${name}`);
      const program = await timed(`${name}, from its files to the picture in the text`, async () => {
        const started = await project.start(folder, words);
        await seeFirstPicture(browser, started, { hasLogin, isFoundByAnother: name === 'express' });
        return started;
      });
      const stranger = await fetch(`${program.url}/connector/`, { method: 'POST', body: 'action=files' });
      if (hasLogin) expect(stranger.status).toBe(401);
      await program.stop();
    },
    120_000,
  );

  /** Vite with a page in the folder, and in it the port that the page reaches the connector by. */
  const startVite = async (folder: string, file: string, known: string, port: string) => {
    const text = await readFile(join(folder, file), 'utf8');
    expect(text).toContain(known);
    await writeFile(join(folder, file), text.replace(known, port));
    const own = String(await freePort());
    return project.start(folder, ['node_modules/.bin/vite', '--port', own], {}, own);
  };

  it.runIf(runsEverything)(
    'cli',
    async () => {
      const folder = await project.add('start/cli');
      await mkdir(join(folder, 'photos'));
      const service = await project.start(folder, ['npx', 'stowage', 'serve', './photos']);
      const page = await startVite(folder, 'index.html', '8081', new URL(service.url).port);
      await seeFirstPicture(browser, page, { hasLogin: false });
      await Promise.all([service.stop(), page.stop()]);
    },
    120_000,
  );

  it.runIf(runsEverything)(
    'React, by Vite',
    async () => {
      const service = await project.start(await project.add('start/quick', 'server-of-react'), server);
      const folder = await project.add('react');
      const page = await startVite(folder, 'vite.config.mjs', '3000', new URL(service.url).port);
      await seeFirstPicture(browser, page, { hasLogin: false });
      const main = await readFile(join(folder, 'main.jsx'), 'utf8');
      await writeFile(join(folder, 'main.jsx'), main.replace('./editor.jsx', './jodit-react.jsx'));
      const visitor = await Visitor.open(browser, page.url);
      await visitor.openFiles();
      await eventually(() => visitor.seen()).toEqual(['holiday.jpg']);
      await visitor.leave();
      await Promise.all([service.stop(), page.stop()]);
    },
    120_000,
  );
});

describe('Logins', () => {
  let folder: string;

  beforeAll(async () => {
    folder = await project.add('login');
  });

  const start = (file: string, environment: Readonly<Record<string, string>> = {}) =>
    project.start(folder, ['node_modules/.bin/tsx', file], environment);

  const ask = async (program: RunningProgram, path: string, headers: Record<string, string>) => {
    const response = await fetch(`${program.url}${path}`, { method: 'POST', headers });
    const { data } = (await response.json()) as {
      data: {
        permissions?: Record<string, boolean>;
        sources?: { name: string; files: { file: string }[] }[];
      };
    };
    return { status: response.status, ...data };
  };

  it('by session: an editor may upload, a reader may not, a stranger is told to log in', async () => {
    const program = await start('session.ts');
    const may = async (name: string): Promise<boolean | undefined> => {
      const { headers } = await fetch(`${program.url}/login/${name}`, { method: 'POST' });
      const cookie = headers.get('set-cookie')?.split(';', 1)[0] ?? '';
      return (await ask(program, '/connector/permissions', { cookie })).permissions?.['allowFileUpload'];
    };
    expect([await may('ann'), await may('bob')]).toEqual([true, false]);
    expect(await ask(program, '/connector/files', {})).toMatchObject({ status: 401 });
    expect(await ask(program, '/connector/files', { cookie: 'session=guess' })).toMatchObject({
      status: 401,
    });
  }, 120_000);

  it('by token: only one that is signed, current and meant for us', async () => {
    const provider = await startProvider();
    const program = await start('jwt.ts', { ISSUER: provider.issuer });
    const by = (token: string) => ask(program, '/permissions', { authorization: `Bearer ${token}` });
    try {
      const editor = await by(await provider.token());
      expect(editor).toMatchObject({ status: 200, permissions: { allowFileUpload: true } });
      const reader = await by(await provider.token({ role: 'king' }));
      expect(reader).toMatchObject({ status: 200, permissions: { allowFileUpload: false } });
      const refused = [
        await provider.token({ aud: 'mail' }),
        await provider.token({ iss: 'https://login.example.org' }),
        await provider.token({ exp: Math.floor(Date.now() / 1000) - 60 }),
        await provider.token({ exp: undefined }),
        await provider.forged(),
        provider.unsigned(),
        'nonsense',
        '',
      ];
      for (const token of refused) expect([token, (await by(token)).status]).toEqual([token, 401]);
      expect(await ask(program, '/permissions', {})).toMatchObject({ status: 401 });
    } finally {
      provider.close();
    }
  }, 120_000);

  it.runIf(runsEverything)(
    'by proxy: the role of the header, and no access without it',
    async () => {
      const program = await start('proxy.ts');
      const may = async (role: string) =>
        (await ask(program, '/permissions', { 'x-role': role })).permissions?.['allowFileRemove'];
      expect([await may('editor'), await may('reader')]).toEqual([true, false]);
      expect(await ask(program, '/permissions', {})).toMatchObject({ status: 401 });
    },
    120_000,
  );

  it.runIf(runsEverything)(
    'a folder for each user: no user sees the files of another',
    async () => {
      const program = await start('folders.ts');
      const seen = async (user: string) => {
        const { sources = [] } = await ask(program, '/connector/files', { 'x-user': user });
        return Object.fromEntries(sources.map(({ name, files }) => [name, files.map(({ file }) => file)]));
      };
      for (const source of ['own', 'common']) {
        const form = new FormData();
        form.append('source', source);
        form.append('files[0]', new Blob(['hello']), `${source}.txt`);
        const init = { method: 'POST', headers: { 'x-user': 'ann' }, body: form };
        expect((await fetch(`${program.url}/connector/fileUpload`, init)).status).toBe(200);
      }
      expect(await seen('ann')).toEqual({ own: ['own.txt'], common: ['common.txt'] });
      expect(await seen('bob')).toEqual({ own: [], common: ['common.txt'] });
      const linked = (user: string) =>
        fetch(`${program.url}/connector/file/own/own.txt`, { headers: { 'x-user': user } });
      expect([(await linked('ann')).status, (await linked('bob')).status]).toEqual([200, 404]);
      for (const user of ['..', 'bob/../ann', '']) {
        expect(await ask(program, '/connector/files', { 'x-user': user })).toMatchObject({ status: 401 });
      }
    },
    120_000,
  );
});
