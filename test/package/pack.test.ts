import { mkdtemp, readFile, rm, symlink, writeFile } from 'node:fs/promises';
import { createRequire } from 'node:module';
import { tmpdir } from 'node:os';
import { join, posix } from 'node:path';
import { publint } from 'publint';
import { formatMessage } from 'publint/utils';
import ts from 'typescript';
import { afterAll, beforeAll, describe, expect, it, onTestFinished } from 'vitest';
import { installPacked, root, run, unpack, type Packed } from './packed.ts';

let packed: Packed;
let { project, manifest, files, archives } = {} as Packed;

beforeAll(async () => {
  packed = await installPacked();
  ({ project, manifest, files, archives } = packed);
});
afterAll(() => packed?.remove());

const node = async (...words: string[]): Promise<string> =>
  (await run(process.execPath, words, { cwd: project, env: { PATH: process.env['PATH'] ?? '' } })).stdout;

describe('the packed package', () => {
  it('holds the build, the schema and the texts, and nothing else', () => {
    for (const wanted of [
      'package.json',
      'README.md',
      'LICENSE',
      'config.schema.json',
      'openapi.json',
      'dist/index.js',
      'dist/cli.js',
      'dist/bundled-licences.txt',
    ]) {
      expect(files).toContain(wanted);
    }
    const strange = files.filter(
      (path) =>
        !/^(?:dist\/(?!internals)(?:[\w-]+(?:\.global)?\.js|jodit\.css|texts\/\w+\.json|bundled-licences\.txt|.+\.d\.ts)|node_modules\/stowage-browser\/(?:package\.json|README\.md|dist\/(?:[\w/-]+\.d\.ts|[\w-]+(?:\.global)?\.js|jodit\.css|texts\/\w+\.json))|docs\/.+\.(?:md|webp)|examples\/(?:[\w.[\]-]+\/)*[\w.-]+|package\.json|[A-Z]+(?:\.md)?|config\.schema\.json|openapi\.json)$/u.test(
          path,
        ),
    );
    expect(strange).toEqual([]);
  });

  it('holds all files that its texts speak of', async () => {
    const held = new Set(files);
    const faults: string[] = [];
    for (const file of files) {
      if (!file.endsWith('.md')) continue;
      const text = await readFile(join(project, 'node_modules/stowage', file), 'utf8');
      const links = [...text.matchAll(/\]\((?!https?:|#|mailto:)([^)#\s]+)/gu)];
      const named = [...text.matchAll(/`(demo\/public\/[\w.-]+)`/gu)];
      const targets = [
        ...links.map(([, target = '']) => posix.join(posix.dirname(file), target)),
        ...named.map(([, target = '']) => target),
      ];
      faults.push(...targets.filter((target) => !held.has(target)).map((target) => `${file}: ${target}`));
    }
    expect(faults).toEqual([]);
  });

  it('is found without fault by publint', async () => {
    const { messages } = await publint({
      pkgDir: join(project, 'node_modules/stowage'),
      strict: true,
      pack: false,
    });
    expect(messages.map((message) => formatMessage(message, manifest))).toEqual([]);
  });

  it('gives every code subpath with its declared dependencies alone', async () => {
    const subpaths = Object.keys(manifest.exports).filter(
      (path) => !/\.(?:json|css|global\.js)$/u.test(path),
    );
    expect(subpaths).toContain('.');
    for (const subpath of subpaths) {
      const specifier = `${manifest.name}${subpath.slice(1)}`;
      const names = await node(
        '--input-type=module',
        '-e',
        `console.log(Object.keys(await import('${specifier}')).join())`,
      );
      expect(names.trim(), specifier).not.toBe('');
    }
  });

  it('imports only files that it holds and packages that it declares', async () => {
    const held = new Set(files);
    const declared = [
      manifest.name,
      ...Object.keys({ ...manifest.dependencies, ...manifest.peerDependencies }),
    ];
    const faults: string[] = [];
    for (const file of files) {
      // Scripts for pages without a bundler are whole; a message of theirs names an import.
      if (!/^dist\/.*\.(?:js|d\.ts)$/u.test(file) || file.endsWith('.global.js')) continue;
      const text = await readFile(join(project, 'node_modules/stowage', file), 'utf8');
      for (const { fileName: specifier } of ts.preProcessFile(text).importedFiles) {
        const inside = posix.join(posix.dirname(file), specifier).replace(/\.ts$/u, '.d.ts');
        const known = specifier.startsWith('.')
          ? held.has(inside)
          : specifier.startsWith('node:') ||
            declared.some((name) => specifier === name || specifier.startsWith(`${name}/`));
        if (!known) faults.push(`${file}: ${specifier}`);
      }
    }
    expect(faults).toEqual([]);
  });

  it('needs no optional package for its types, but Fastify for those of its bridge', async () => {
    const optional = Object.keys(manifest.peerDependencies);
    const needed: string[] = [];
    for (const file of files) {
      if (!file.endsWith('.d.ts')) continue;
      const text = await readFile(join(project, 'node_modules/stowage', file), 'utf8');
      for (const { fileName: specifier } of ts.preProcessFile(text).importedFiles)
        if (optional.some((name) => specifier === name || specifier.startsWith(`${name}/`)))
          needed.push(`${file}: ${specifier}`);
    }
    expect(needed).toEqual(['dist/http/bridges/fastify.d.ts: fastify']);
  });

  it('gives its schema, its description and its manifest', () => {
    const require = createRequire(join(project, 'index.js'));
    expect(require(`${manifest.name}/config.schema.json`)).toHaveProperty('properties.sources');
    expect(require(`${manifest.name}/openapi.json`)).toHaveProperty('openapi');
    expect(require(`${manifest.name}/package.json`)).toHaveProperty('version', manifest.version);
  });

  it('serves a request', async () => {
    const script = `
      import { createApp } from '${manifest.name}';
      const app = createApp({ sources: {} });
      const answer = await app.fetch(new Request('http://localhost/ping'));
      console.log(answer.status, await answer.text());
      await app.close();`;
    expect(await node('--input-type=module', '-e', script)).toBe('200 {"success":true}\n');
  });

  it('runs its command', async () => {
    expect(await node(join('node_modules', manifest.name, 'dist/cli.js'), '--version')).toBe(
      `${manifest.version}\n`,
    );
  });
});

describe('the packages beside it', () => {
  const alone = async (name: string, peers: readonly string[]): Promise<string> => {
    const folder = await mkdtemp(join(tmpdir(), 'stowage-alone-'));
    onTestFinished(() => rm(folder, { recursive: true, force: true }));
    await unpack(archives[name] ?? '', join(folder, 'node_modules', name));
    await writeFile(join(folder, 'package.json'), JSON.stringify({ type: 'module', private: true }));
    for (const peer of peers)
      await symlink(join(root, 'node_modules', peer), join(folder, 'node_modules', peer));
    const { messages } = await publint({
      pkgDir: join(folder, 'node_modules', name),
      strict: true,
      pack: false,
    });
    expect(messages).toEqual([]);
    return folder;
  };
  const evaluate = async (folder: string, script: string): Promise<string> =>
    (await run(process.execPath, ['--input-type=module', '-e', script], { cwd: folder })).stdout;

  it('stowage-browser works alone', async () => {
    const folder = await alone('stowage-browser', []);
    const script = `
      import { createClient, ConnectorError } from 'stowage-browser';
      import { connectJodit } from 'stowage-browser/jodit';
      import { createUploader } from 'stowage-browser/editors';
      const fetch = async () => Response.json({ success: true, data: { sources: [] } });
      const client = createClient({ url: 'http://localhost/connector', fetch });
      console.log(typeof connectJodit, typeof createUploader({ url: '/connector' }), typeof ConnectorError, JSON.stringify(await client.files()));`;
    expect(await evaluate(folder, script)).toBe('function function function {"sources":[]}\n');
  });

  it('stowage-html-docx works with its peers alone', async () => {
    const folder = await alone('stowage-html-docx', ['docx', 'parse5']);
    const script = `
      import { convertToDocx } from 'stowage-html-docx';
      const loader = { picture: async () => undefined, sheet: async () => undefined };
      const bytes = await convertToDocx('<h1>Title</h1><p>Some <b>bold</b> words</p>', loader);
      console.log(Buffer.from(bytes).subarray(0, 2).toString(), bytes.length > 2000);`;
    expect(await evaluate(folder, script)).toBe('PK true\n');
  });
});
