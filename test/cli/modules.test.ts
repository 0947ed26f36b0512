import { writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { pathToFileURL } from 'node:url';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { createFolder, portOf, start, type Ending, type Folder } from './service.ts';

let folder: Folder;
const stowage = pathToFileURL('packages/stowage/dist/index.js').href;

beforeAll(async () => {
  folder = await createFolder();
});

afterAll(() => folder.remove());

const write = async (name: string, text: string): Promise<string> => {
  await writeFile(join(folder.path, name), text);
  return name;
};

const check = (file: string): Promise<Ending> =>
  start(['check-config', '--config', file], {}, folder.path).ended;

const problem = (text: string): string => `The configuration is not valid:\n  - ${text}\n`;

describe('a configuration', () => {
  it.skipIf(process.getuid?.() !== 0)(
    'is checked for a user without a home directory (needs root, to become one)',
    async () => {
      const file = await write(
        'homeless.mjs',
        `const a = { title: 'A', root: '/srv/photos', get serve() { process.setuid(54321); return 'public'; } };
         export default { sources: { a } };`,
      );
      expect(await check(file)).toMatchObject({ status: 0, stderr: '' });
    },
  );
});

describe('a module as configuration', () => {
  it('may export the configuration, from ES and CommonJS modules', async () => {
    const config = "{ sources: { a: { title: 'A', root: '.', serve: 'public' } } }";
    const files = [
      await write(
        'good.mjs',
        `import { defineConfig } from '${stowage}';\nexport default defineConfig(${config});`,
      ),
      await write('good.cjs', `module.exports = ${config};`),
      await write(
        'compiled.cjs',
        `Object.defineProperty(exports, '__esModule', { value: true });\nexports.default = ${config};`,
      ),
      await write('promised.mjs', `export default Promise.resolve(${config});`),
    ];
    for (const file of files) {
      expect(await check(file)).toMatchObject({ status: 0, stderr: '' });
    }
  });

  it('may bring hooks and a logger, which serve', async () => {
    const file = await write(
      'service.mjs',
      `const write = (level) => (message) => process.stderr.write(level + ' <' + message + '>\\n');
       export default {
         config: {
           sources: { a: { title: 'A', root: ${JSON.stringify(folder.path)}, serve: 'public' } },
           accessControl: [{ FILES: false }, { role: 'editor', FILES: true }],
         },
         hooks: { checkAuthentication: ({ headers }) => headers['x-name'] === 'ann' ? 'editor' : 'guest' },
         logger: Object.fromEntries(['debug', 'info', 'warn', 'error'].map((one) => [one, write(one)])),
       };`,
    );
    const service = start(['serve', '--config', file, '--port', '0'], {}, folder.path);
    const port = await portOf(service);
    const url = `http://127.0.0.1:${String(port)}/files`;
    expect((await fetch(url)).status).toBe(403);
    expect((await fetch(url, { headers: { 'x-name': 'ann' } })).status).toBe(200);
    service.child.kill('SIGTERM');
    const { status, stderr } = await service.ended;
    expect(status).toBe(0);
    expect(stderr).toContain(`info <Listening on http://127.0.0.1:${String(port)}/>\n`);
    expect(stderr).not.toContain('every client that reaches this service');
  });

  it.each([
    ['nothing.mjs', undefined, 'nothing.mjs: cannot be read: there is no such file'],
    ['no-default.mjs', 'export const config = {};', 'no-default.mjs: has no default export'],
    ['text.mjs', "export default 'a';", 'text.mjs: its default export must be an object, not the text "a"'],
    ['throws.mjs', "\nthrow new Error('no luck');", 'throws.mjs: failed (line 2): Error: no luck'],
    [
      'broken.mjs',
      'export default {',
      'broken.mjs: failed: SyntaxError: Unexpected end of input; `node --check broken.mjs` shows where',
    ],
    [
      'unclosed.mjs',
      'const checkAuthentication = () => {\nexport default { sources: {} };',
      "unclosed.mjs: failed: SyntaxError: Unexpected token 'export'; `node --check unclosed.mjs` shows where",
    ],
    [
      'typo.mjs',
      'export default { config: { qualty: 1 } };',
      'qualty: is not a known key; did you mean "quality"?',
    ],
    [
      'beside.mjs',
      'export default { hooks: {}, sources: {} };',
      'beside.mjs: beside config, hooks and logger, sources is not a known key',
    ],
    [
      'hook.mjs',
      'export default { hooks: { checkAuthentification: () => "a" } };',
      'hooks.checkAuthentification: is not a known key; did you mean "checkAuthentication"?',
    ],
    [
      'waits.mjs',
      'await new Promise(() => undefined);\nexport default {};',
      'waits.mjs: failed: Error: its await waits for something that never happens',
    ],
    [
      'promises.mjs',
      'export default new Promise(() => undefined);',
      'promises.mjs: failed: Error: its await waits for something that never happens',
    ],
    ['logger.mjs', 'export default { logger: { ...console, warn: 1 } };', 'logger.warn: must be a function'],
  ])('ends with 1 and the problem of %s', async (name, text, expected) => {
    if (text !== undefined) await write(name, text);
    expect(await check(name)).toEqual({ status: 1, signal: null, stdout: '', stderr: problem(expected) });
  });

  it.each(["import 'node:fs';", 'export default {};'])('is CommonJS by its name: %s', async (code) => {
    const { status, stderr } = await check(await write('named.cjs', code));
    expect(status).toBe(1);
    expect(stderr).toMatch(/named\.cjs: failed: SyntaxError: [^;]*; write it as \.mjs\n$/u);
  });

  it('ends with 1 and a way out where Node.js does not run TypeScript, else reads it', async () => {
    const file = await write('typed.ts', 'const sources: object = {};\nexport default { sources };');
    const { status, stderr } = await check(file);
    const runsTypeScript = Boolean(Reflect.get(process.features, 'typescript'));
    if (runsTypeScript) expect({ status, stderr }).toEqual({ status: 0, stderr: '' });
    else
      expect(stderr).toMatch(
        /typed\.ts: cannot be read: this Node\.js .* does not run \.ts files; write it as \.mjs/u,
      );
  });
});
