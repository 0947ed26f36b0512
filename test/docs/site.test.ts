import { readdir, readFile } from 'node:fs/promises';
import { join, resolve } from 'node:path';
import { expect, it } from 'vitest';

const root = resolve(import.meta.dirname, '../..');

interface Page {
  readonly path: string;
  readonly address: string;
  readonly text: string;
}
interface Group {
  readonly items: readonly { readonly address: string }[];
}
// The site is built with packages of its own; what it publishes is decided without them.
const site = (await import(join(root, 'site/pages.mjs'))) as {
  readPages: () => Promise<readonly Page[]>;
  groups: () => Promise<readonly Group[]>;
  llmsText: (pages: readonly Page[]) => Promise<string>;
};

const PAGES = /^(?:editors\/|start\/)?[a-z][\w-]*\.md$/u;

it('the sidebar of the site names every page for users once', async () => {
  const named = (await site.groups()).flatMap(({ items }) => items.map(({ address }) => address));
  const pages = (await readdir(join(root, 'docs'), { recursive: true }))
    .filter((path) => PAGES.test(path))
    .map((path) => path.replace(/README\.md$/u, 'index.md'));
  const forMaintainers = new Set(['one-upload.md', 'releasing.md']);
  expect(named.filter((path) => PAGES.test(path) && !path.endsWith('/index.md')).toSorted()).toEqual(
    pages.filter((path) => !forMaintainers.has(path)).toSorted(),
  );
});

it('links of the site lead to its own pages and files', async () => {
  const pages = await site.readPages();
  const addresses = new Set(pages.map(({ address }) => address));
  expect(addresses).toContain('index.md');
  for (const { address, text } of pages)
    for (const [, link = ''] of text.matchAll(/\]\((?![a-z]+:|#)([^)#\s]+)/gu)) {
      if (link.startsWith('/examples/') || link.endsWith('.webp')) continue;
      const { pathname } = new URL(link, `https://docs.example.com/${address}`);
      expect(addresses, `${address}: ${link}`).toContain(pathname.slice(1));
    }
});

it('the index for programs names every page', async () => {
  const pages = await site.readPages();
  const text = await site.llmsText(pages);
  for (const { address } of pages) expect(text).toContain(`](${address})`);
});

it.each(['', 'site'])('the lock file of "%s" holds what other systems install', async (folder) => {
  const text = await readFile(join(root, folder, 'package-lock.json'), 'utf8');
  const { packages } = JSON.parse(text) as {
    packages: Record<string, { optionalDependencies?: Record<string, string> }>;
  };
  const names = new Set(Object.keys(packages).map((path) => path.split('node_modules/').at(-1)));
  for (const [path, { optionalDependencies = {} }] of Object.entries(packages))
    for (const name of Object.keys(optionalDependencies)) expect(names, `${path}: ${name}`).toContain(name);
});
