import { execFile } from 'node:child_process';
import { cp, mkdir, mkdtemp, readFile, rm, symlink, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { dirname, join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { promisify } from 'node:util';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';

const project = fileURLToPath(new URL('../..', import.meta.url));

/** Asks for both documents and a listing, and tells statuses and messages. */
const SCRIPT = `
  import { createApp } from 'stowage';
  const quiet = { debug() {}, info() {}, warn() {}, error() {} };
  const source = { title: 'files', baseurl: 'http://files.example/', storageAdapter: 'memory' };
  const app = createApp({ sources: { files: source } }, {}, { logger: quiet });
  const answers = {};
  for (const action of ['generatePdf', 'generateDocx', 'files', 'folderCreate?name=a', 'permissions']) {
    const join = action.includes('?') ? '&' : '?';
    const response = await app.fetch(new Request('http://x/' + action + join + 'html=text'));
    const type = response.headers.get('content-type');
    const messages = type.includes('json') ? ((await response.json()).data.messages ?? []) : [];
    answers[action.replace(/\\?.*/, '')] = [response.status, messages.join()];
  }
  await app.close();
  console.log(JSON.stringify(answers));`;

let folder = '';

const link = async (name: string): Promise<void> => {
  const target = join(folder, 'node_modules', name);
  await mkdir(dirname(target), { recursive: true });
  await symlink(join(project, 'node_modules', name), target);
};

const ask = async (environment: Record<string, string> = {}): Promise<Record<string, [number, string]>> => {
  const env = { ...process.env, ...environment };
  const { stdout } = await promisify(execFile)(process.execPath, ['ask.mjs'], { cwd: folder, env });
  return JSON.parse(stdout) as Record<string, [number, string]>;
};

describe('optional packages that are not installed', { timeout: 90_000 }, () => {
  beforeAll(async () => {
    folder = await mkdtemp(join(tmpdir(), 'stowage-bare-'));
    const installed = join(folder, 'node_modules', 'stowage');
    await mkdir(installed, { recursive: true });
    await cp(join(project, 'dist'), join(installed, 'dist'), { recursive: true });
    await cp(join(project, 'package.json'), join(installed, 'package.json'));
    await writeFile(join(folder, 'ask.mjs'), SCRIPT);
    const { dependencies } = JSON.parse(await readFile(join(project, 'package.json'), 'utf8')) as {
      dependencies: Record<string, string>;
    };
    for (const name of Object.keys(dependencies)) await link(name);
  });
  afterAll(() => rm(folder, { recursive: true, force: true }));

  it('answer 501 with their names, one after the other, while everything else works', async () => {
    const bare = await ask();
    expect(bare['generatePdf']).toEqual([
      501,
      'To make PDF files, install the npm package "puppeteer-core".',
    ]);
    expect(bare['generateDocx']).toEqual([
      501,
      'To make DOCX files, install the npm packages "docx" and "parse5".',
    ]);
    for (const action of ['files', 'folderCreate', 'permissions'])
      expect(bare[action]).toEqual([200, expect.anything()]);

    await link('docx');
    expect((await ask())['generateDocx']).toEqual([
      501,
      'To make DOCX files, install the npm package "parse5".',
    ]);

    await link('parse5');
    await link('puppeteer-core');
    const complete = await ask({ STOWAGE_CHROMIUM: join(folder, 'no-browser') });
    expect(complete['generateDocx']).toEqual([200, '']);
    expect(complete['generatePdf']?.[0]).toBe(501);
    expect(complete['generatePdf']?.[1]).toContain('Chromium');
    expect(complete['generatePdf']?.[1]).not.toContain(folder);
  });
});
