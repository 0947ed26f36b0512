import { existsSync } from 'node:fs';
import { readdir, readFile } from 'node:fs/promises';
import { basename, dirname, join, resolve } from 'node:path';
import { expect, it } from 'vitest';

const root = resolve(import.meta.dirname, '../..');

const below = async (folder: string): Promise<readonly string[]> =>
  (await readdir(join(root, folder), { recursive: true })).map((path) => join(folder, path));

const pages = async (): Promise<readonly string[]> => [
  ...['README.md', 'CHANGELOG.md', 'CONTRIBUTING.md', 'SECURITY.md'],
  ...[...(await below('docs')), ...(await below('packages'))].filter(
    (path) => path.endsWith('.md') && !path.includes('node_modules'),
  ),
];

const textOf = (path: string): Promise<string> => readFile(join(root, path), 'utf8');

/** As pages of repositories name their headings. */
const anchorOf = (heading: string): string =>
  heading
    .trim()
    .toLowerCase()
    .replaceAll(/[^\p{L}\p{N}_\- ]/gu, '')
    .replaceAll(' ', '-');

const leadsSomewhere = async (page: string, link: string): Promise<boolean> => {
  const [path = '', anchor] = link.split('#');
  const target = path === '' ? page : join(dirname(page), path);
  if (!existsSync(join(root, target))) return false;
  if (anchor === undefined || !target.endsWith('.md')) return true;
  const headings = (await textOf(target)).matchAll(/^#+ (.*)$/gmu);
  return [...headings].some(([, heading = '']) => anchorOf(heading) === anchor);
};

it('links of the documentation lead to pages and headings that are there', async () => {
  const broken: string[] = [];
  for (const page of await pages()) {
    for (const [, link = ''] of (await textOf(page)).matchAll(/\]\(([^)\s]+)\)/gu)) {
      if (!/^[a-z]+:/u.test(link) && !(await leadsSomewhere(page, link))) broken.push(`${page}: ${link}`);
    }
  }
  expect(broken).toEqual([]);
});

it('pages name files of the source that are there', async () => {
  const missing: string[] = [];
  const all = new Set((await below('packages')).map((path) => basename(path)));
  for (const page of await pages()) {
    const text = await textOf(page);
    const isRoom = page.startsWith('packages');
    const here = new Set((isRoom ? await below(dirname(page)) : []).map((path) => basename(path)));
    for (const [, file = ''] of text.matchAll(/`([\w/-]+\.ts)`/gu)) {
      const isThere = file.startsWith('packages/')
        ? existsSync(join(root, file))
        : !isRoom || all.has(basename(file));
      if (!isThere) missing.push(`${page}: ${file}`);
    }
    for (const [, file = ''] of isRoom ? text.matchAll(/^(?:- |\| )`([\w-]+\.ts)`/gmu) : [])
      if (!here.has(file)) missing.push(`${page}: ${file}`);
  }
  expect(missing).toEqual([]);
});

it('the messages in the tables of what the log shows are those of the stores', async () => {
  const stale: string[] = [];
  for (const kind of ['ftp', 'sftp', 'webdav']) {
    const files = (
      await Promise.all(
        ['core', 'paths', kind].map((room) => below(`packages/stowage/src/adapters/remote/${room}`)),
      )
    )
      .flat()
      .filter((path) => path.endsWith('.ts'));
    const source = (await Promise.all(files.map(textOf))).join('\n');
    const [, table = ''] = (await textOf(`docs/${kind}.md`)).split('| In the log |');
    // Messages that begin otherwise contain values, or are of libraries and the system.
    for (const [, message = ''] of table.matchAll(
      /^\|[^|]*`((?:the|all|a|no(?! matching)) [^`(,:]+[^\s`(,:])/gmu,
    ))
      if (!source.includes(message)) stale.push(`${kind}: ${message}`);
  }
  expect(stale).toEqual([]);
});

it('the recipes for contributors name files that are there', async () => {
  const named = [
    ...(await textOf('CONTRIBUTING.md')).matchAll(/`((?:packages|test|scripts|docs)\/[\w./-]+)`/gu),
  ].map(([, path = '']) => path);
  expect(named.length).toBeGreaterThan(30);
  expect(named.filter((path) => !existsSync(join(root, path)))).toEqual([]);
});

it('a test follows each page that begins with an empty folder', async () => {
  const tests = (await Promise.all((await below('test/start')).map(textOf))).join('\n');
  const starts = await below('docs/start');
  expect(starts.length).toBeGreaterThan(5);
  expect(starts.filter((page) => !tests.includes(`'${page}'`))).toEqual([]);
});

it('decisions are short pages of one form, and the index lists them', async () => {
  const index = await textOf('docs/decisions/README.md');
  const files = (await readdir(join(root, 'docs/decisions'))).filter((file) => file !== 'README.md');
  for (const file of files) {
    const text = await textOf(`docs/decisions/${file}`);
    const [, title = ''] = /^# (.+)$/mu.exec(text) ?? [];
    expect(index).toContain(`[${title}](${file})`);
    const headings = [...text.matchAll(/^## (.+)$/gmu)].map(([, heading]) => heading);
    expect([file, headings]).toEqual([file, ['Context', 'Decision', 'Consequences']]);
    expect(text.split('\n').length, file).toBeLessThanOrEqual(41);
  }
});
