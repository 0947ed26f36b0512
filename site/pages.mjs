/** The pages of the repository as pages of the site: where each goes, and its links with it. */
import { cp, mkdir, readFile, readdir, writeFile } from 'node:fs/promises';
import { existsSync } from 'node:fs';
import { dirname, extname, join, posix } from 'node:path';

export const root = join(import.meta.dirname, '..');

const TEXTS = ['README.md', 'CHANGELOG.md', 'CONTRIBUTING.md', 'SECURITY.md'];
/** Pages for people who have the repository before them. */
const NOT_PUBLISHED = new Set(['docs/one-upload.md', 'docs/releasing.md']);

const isPage = (path) => path.endsWith('.md') && !NOT_PUBLISHED.has(path);

/** The address of a page of the repository on the site. */
const addressOf = (path) => {
  if (path === 'README.md') return 'index.md';
  return path.replace(/^docs\//u, '').replace(/README\.md$/u, 'index.md');
};

/** A link of a page as it is on the site; undefined for files that are not published. */
const linkOnSite = (page, link) => {
  if (/^(?:[a-z]+:|#)/u.test(link)) return link;
  const [path, anchor] = link.split('#');
  const target = posix.join(dirname(page), path);
  if (!existsSync(join(root, target))) throw new Error(`${page} links to ${link}, which is not there.`);
  if (target.startsWith('examples/') && extname(target) !== '') return `/${target}`;
  if (extname(target) === '.webp') return posix.relative(dirname(addressOf(page)), addressOf(target));
  const isPublished = TEXTS.includes(target) || (target.startsWith('docs/') && isPage(target));
  if (!isPublished) return undefined;
  const relative = posix.relative(dirname(addressOf(page)), addressOf(target));
  return `${relative.startsWith('.') ? '' : './'}${relative}${anchor === undefined ? '' : `#${anchor}`}`;
};

/** Every page with its title and its first sentence, as `{ path, address, title, summary, text }`. */
export const readPages = async () => {
  const below = await readdir(join(root, 'docs'), { recursive: true });
  const paths = [...TEXTS, ...below.map((path) => posix.join('docs', path)).toSorted()].filter(isPage);
  return Promise.all(
    paths.map(async (path) => {
      const source = await readFile(join(root, path), 'utf8');
      const text = source.replaceAll(/\[([^\]]*)\]\(([^)\s]+)\)/gu, (_all, label, link) => {
        const target = linkOnSite(path, link);
        return target === undefined ? label : `[${label}](${target})`;
      });
      const [, title = path] = /^# (.+)$/mu.exec(text) ?? [];
      // The first sentence, where the page begins with one.
      const [, start = ''] = /^# .+\n\n(?=[\w`<[])(?!```)((?:[^\n]+\n)+)/mu.exec(text) ?? [];
      const plain = start.replaceAll(/\[([^\]]*)\]\([^)]*\)/gu, '$1').replaceAll('\n', ' ');
      const [summary = ''] = /^.*?\.(?=\s)/u.exec(plain) ?? [];
      return { path, address: addressOf(path), title: title.replaceAll('`', ''), summary, text };
    }),
  );
};

/** The pages of single editors that the README does not name itself. */
const editorPages = async (readme) =>
  (await readPages())
    .filter(({ path }) => path.startsWith('docs/editors/') && !readme.includes(`(${path})`))
    .map(({ title, address }) => ({ text: title, address }));

/** The table of pages in the README, which is the sidebar of the site too: `[{ text, items: [{ text, address }] }]`. */
export const groups = async () => {
  const readme = await readFile(join(root, 'README.md'), 'utf8');
  const [, table = ''] = /^## Pages\n(.*?)^## |^## Pages\n(.*)/msu.exec(readme)?.filter(Boolean) ?? [];
  const editors = await editorPages(table);
  return [...table.matchAll(/^\| ([^|]+) \| ([^|]*\]\([^|]+) \|$/gmu)].map(([, text, cell]) => ({
    text,
    items: [
      ...[...cell.matchAll(/\[([^\]]*)\]\(([^)]+)\)/gu)].map(([, label, link]) => ({
        text: label.replace(/^[a-z]/u, (letter) => letter.toUpperCase()).replaceAll('`', ''),
        address: addressOf(link),
      })),
      ...(text === 'Editors' ? editors : []),
    ],
  }));
};

/** Writes the pages to a folder, and what they show or link to beside them. */
export const writePages = async (folder, pages) => {
  for (const { address, text } of pages) {
    await mkdir(dirname(join(folder, address)), { recursive: true });
    await writeFile(join(folder, address), text);
  }
  await cp(join(root, 'docs/picker.webp'), join(folder, 'picker.webp'));
  const files = await readdir(join(root, 'examples'), { recursive: true });
  for (const file of files.filter((path) => /\.(?:conf|ts|mjs|json)$/u.test(path) && !path.includes('users')))
    await cp(join(root, 'examples', file), join(folder, 'public/examples', file));
};

/** An index of the pages for programs: llmstxt.org. */
export const llmsText = async (pages) => {
  const left = new Map(pages.map((page) => [page.address, page]));
  const line = ({ address, title, summary }) =>
    `- [${title}](${address})${summary === '' ? '' : `: ${summary}`}`;
  const sections = (await groups()).map(({ text, items }) => {
    const named = items.map(({ address }) => left.get(address)).filter((page) => page !== undefined);
    for (const { address } of named) left.delete(address);
    return `## ${text}\n\n${named.map(line).join('\n')}\n`;
  });
  const more = `## More\n\n${[...left.values()].map(line).join('\n')}\n`;
  return ['# Stowage\n', ...sections, more].join('\n');
};
