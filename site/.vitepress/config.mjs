import { defineConfig } from 'vitepress';
import { groups } from '../pages.mjs';

/** Headings get the anchors that repositories give them, so that one link works in both. */
const slugify = (heading) =>
  heading
    .trim()
    .toLowerCase()
    .replaceAll(/[^\p{L}\p{N}_\- ]/gu, '')
    .replaceAll(' ', '-');

const itemOf = ({ text, address }) => ({ text, link: `/${address.replace(/(?:index)?\.md$/u, '')}` });

export default defineConfig({
  title: 'Stowage',
  description: 'The server behind the file browser and the uploads of a web editor',
  lang: 'en',
  base: process.env.DOCS_BASE ?? '/',
  srcDir: 'pages',
  outDir: 'dist',
  // Programs of the reader, and files beside the pages, whose links were checked when the pages were written.
  ignoreDeadLinks: [/^https?:\/\/localhost/u, /^\/examples\//u],
  markdown: { anchor: { slugify } },
  themeConfig: {
    search: { provider: 'local' },
    outline: [2, 3],
    sidebar: (await groups()).map(({ text, items }) => ({ text, items: items.map(itemOf) })),
  },
});
