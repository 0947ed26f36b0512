/**
 * Writes the generated files: the JSON schema of the configuration, the OpenAPI description, the reference
 * pages, and the samples in the documentation. The next build generates the types of the client from the
 * description. With `--check` it writes nothing, and fails when one of them is out of date.
 */
import { readdir, readFile, writeFile } from 'node:fs/promises';
import { configSchema } from './generate/config-schema.ts';
import { configurationPage } from './generate/configuration-page.ts';
import { errorsPage } from './generate/errors-page.ts';
import { openApi } from './generate/openapi.ts';
import { storesPage } from './generate/stores-page.ts';
import { withExamples } from './generate/with-examples.ts';

const root = new URL('../', import.meta.url);

const docs = await readdir(new URL('docs/', root), { recursive: true });
const pages = ['README.md', ...docs.filter((name) => name.endsWith('.md')).map((name) => `docs/${name}`)];

const generated: Readonly<Record<string, () => string | Promise<string>>> = {
  ...Object.fromEntries(pages.map((page) => [page, () => withExamples(root, page)])),
  'packages/stowage/config.schema.json': () => `${JSON.stringify(configSchema(), null, 2)}\n`,
  'packages/stowage/openapi.json': () => `${JSON.stringify(openApi(), null, 2)}\n`,
  'docs/configuration.md': configurationPage,
  'docs/errors.md': errorsPage,
  'docs/stores.md': () => storesPage(root),
};

const read = (name: string): Promise<string> => readFile(new URL(name, root), 'utf8').catch(() => '');

const firstDifference = (old: string, made: string): string => {
  const [before, after] = [old.split('\n'), made.split('\n')];
  const line = after.findIndex((text, index) => text !== before[index]);
  const at = line === -1 ? after.length : line;
  return `line ${String(at + 1)}\n  - ${before[at] ?? '(nothing)'}\n  + ${after[at] ?? '(nothing)'}`;
};

const stale: string[] = [];
for (const [name, make] of Object.entries(generated)) {
  const [old, made] = [await read(name), await make()];
  if (old === made) continue;
  stale.push(`${name}, ${firstDifference(old, made)}`);
  if (!process.argv.includes('--check')) await writeFile(new URL(name, root), made);
}

if (process.argv.includes('--check') && stale.length > 0) {
  process.stderr.write(`Out of date; run \`npm run generate\` and commit the result:\n${stale.join('\n')}\n`);
  process.exitCode = 1;
} else {
  for (const one of stale) process.stdout.write(`written: ${one.split(',', 1)[0] ?? ''}\n`);
}
