/**
 * `npm run docs`: the documentation as a static site in site/dist, with search, each page as Markdown beside it, and an index of them in
 * llms.txt. VitePress is installed into this folder first, once; the build itself needs no network. A dead link fails it.
 * DOCS_BASE is the path that the site is served under, `/` by default.
 */
import { execFileSync } from 'node:child_process';
import { existsSync } from 'node:fs';
import { rm, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { llmsText, readPages, writePages } from './pages.mjs';

const here = import.meta.dirname;
if (!existsSync(join(here, 'node_modules/vitepress')))
  execFileSync('npm', ['ci', '--no-audit', '--no-fund'], { cwd: here, stdio: 'inherit' });

const pages = await readPages();
const staged = join(here, 'pages');
await rm(staged, { recursive: true, force: true });
await writePages(staged, pages);

const { build } = await import('vitepress');
await build(here);

const output = join(here, 'dist');
for (const { address, text } of pages) await writeFile(join(output, address), text);
await writeFile(join(output, 'llms.txt'), await llmsText(pages));
process.stdout.write(`site/dist: ${String(pages.length)} pages\n`);
