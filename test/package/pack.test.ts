import { execFile } from 'node:child_process';
import { mkdir, mkdtemp, readdir, readFile, rm, symlink, writeFile } from 'node:fs/promises';
import { createRequire } from 'node:module';
import { tmpdir } from 'node:os';
import { dirname, join, posix, resolve } from 'node:path';
import { promisify } from 'node:util';
import { publint } from 'publint';
import { formatMessage } from 'publint/utils';
import ts from 'typescript';
import { afterAll, beforeAll, describe, expect, it, onTestFinished } from 'vitest';

const run = promisify(execFile);
const root = resolve(import.meta.dirname, '../..');

interface Manifest {
  readonly name: string;
  readonly version: string;
  readonly exports: Readonly<Record<string, unknown>>;
  readonly bundleDependencies: readonly string[];
  readonly dependencies: Readonly<Record<string, string>>;
  readonly peerDependencies: Readonly<Record<string, string>>;
}

let manifest: Manifest;
/** The paths of what the archive of the server holds. */
let files: readonly string[];
/**
 * A project that has the packed server installed, and beside it only what the package says that it depends
 * on and does not bring along.
 */
let project: string;
/** The archives, by the name of their package. */
let archives: Readonly<Record<string, string>>;

const unpack = async (archive: string, folder: string): Promise<string> => {
  await mkdir(folder, { recursive: true });
  await run('tar', ['-xzf', archive, '--strip-components=1', '-C', folder]);
  return folder;
};

const link = async (name: string): Promise<void> => {
  const target = join(project, 'node_modules', name);
  await mkdir(dirname(target), { recursive: true });
  await symlink(join(root, 'node_modules', name), target);
};

beforeAll(async () => {
  project = await mkdtemp(join(tmpdir(), 'stowage-package-'));
  await run(process.execPath, ['scripts/pack.mjs', project], { cwd: root });
  archives = Object.fromEntries(
    (await readdir(project)).map((name) => [name.replace(/-\d.*$/u, ''), join(project, name)]),
  );
  const installed = await unpack(archives['stowage'] ?? '', join(project, 'node_modules/stowage'));
  files = (await readdir(installed, { recursive: true, withFileTypes: true }))
    .filter((entry) => entry.isFile())
    .map((entry) => posix.relative(installed, posix.join(entry.parentPath, entry.name)));
  manifest = JSON.parse(await readFile(join(installed, 'package.json'), 'utf8')) as Manifest;
  await writeFile(join(project, 'package.json'), JSON.stringify({ type: 'module', private: true }));
  for (const name of Object.keys(manifest.dependencies))
    if (!manifest.bundleDependencies.includes(name)) await link(name);
});

afterAll(() => rm(project, { recursive: true, force: true }));

const node = async (...words: string[]): Promise<string> =>
  (await run(process.execPath, words, { cwd: project, env: { PATH: process.env['PATH'] ?? '' } })).stdout;

/** What the compiler has to say of a file of the project. */
const compile = async (file: string, options: object): Promise<string> => {
  const compilerOptions = {
    strict: true,
    noEmit: true,
    target: 'es2022',
    exactOptionalPropertyTypes: true,
    ...options,
  };
  const config = join(project, 'tsconfig.json');
  await writeFile(config, JSON.stringify({ compilerOptions, files: [file] }));
  const tsc = join(root, 'node_modules/typescript/bin/tsc');
  const { stdout } = await run(process.execPath, [tsc, '-p', config], { cwd: project }).catch(
    (error: unknown) => error as { stdout: string },
  );
  return stdout;
};

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

  it('has declarations that a strict project can use', async () => {
    for (const name of ['@types/node', 'fastify']) await link(name);
    await writeFile(
      join(project, 'host.ts'),
      `import { createApp, createRouter, ConfigError, HttpError, type ConfigInput, type ConnectorHooks, type SourcesInput } from '${manifest.name}';
       import { fastifyConnector } from '${manifest.name}/fastify';
       const config: ConfigInput = {
         quality: null,
         pdf: { isRemoteEnabled: false },
         sources: {
           photos: { title: 'Photos', root: 'photos', baseurl: 'https://cdn.example.com/', thumbSize: 100 },
           vault: { title: 'Vault', baseurl: 'https://v.example.com/', storageAdapter: 'vault', vault: { key: 1 } },
         },
       };
       declare module '${manifest.name}' {
         interface StorageAdapterOptions { readonly vault?: { readonly key: number } }
       }
       // @ts-expect-error: not a setting
       export const misspelt: ConfigInput = { qualty: 1 };
       const titled = { title: 'T', baseurl: 'https://t.example.com/' };
       export const rightSources: SourcesInput = {
         bucket: { ...titled, storageAdapter: 's3', s3: { bucket: 'b', prefix: null, credentials: null } },
         server: { ...titled, storageAdapter: 'webdav', webdav: { url: 'https://dav.example.com/', headers: { a: 'b' } } },
         box: { ...titled, storageAdapter: 'sftp', sftp: { host: 'h', username: 'u', password: { env: 'P' }, hostKey: ['k'] } },
         old: { ...titled, storageAdapter: 'ftp', ftp: { host: 'h', username: 'u', password: { env: 'P' }, tls: true } },
         own: { ...titled, baseurlAliases: ['https://u.example.com/'], storageAdapter: 'plain', s3: null, pdf: null },
       };
       const wrong: SourcesInput[] = [];
       // @ts-expect-error: maxUploadFileSize is meant
       wrong.push({ files: { ...titled, maxUploadFilesize: '1gb' } });
       // @ts-expect-error: not a setting
       wrong.push({ files: { ...titled, readOnly: true } });
       // @ts-expect-error: bucket is meant
       wrong.push({ files: { ...titled, s3: { bukket: 'b' } } });
       // @ts-expect-error: the bucket is missing
       wrong.push({ files: { ...titled, s3: {} } });
       // @ts-expect-error: not an object
       wrong.push({ files: { ...titled, webdav: 5 } });
       // @ts-expect-error: options of another form than the adapter has declared
       wrong.push({ files: { ...titled, vault: { key: 'one' } } });
       // @ts-expect-error: the title is missing
       wrong.push({ files: { serve: 'public' } });
       // @ts-expect-error: not a way to serve
       wrong.push({ files: { title: 'T', serve: 'all' } });
       export { wrong };
       const hooks: ConnectorHooks = {
         checkAuthentication: (request) => {
           if (request.headers['authorization'] === undefined) throw new HttpError(401, 'Log in.');
           return 'editor';
         },
       };
       export const app = createApp(config, hooks);
       export const plugin = fastifyConnector(createRouter(config));
       export const isConfigError = (error: unknown): error is ConfigError => error instanceof ConfigError;
      `,
    );
    expect(await compile('host.ts', { module: 'nodenext', types: ['node'], skipLibCheck: true })).toBe('');
  });

  it('has types for compilers that know no exports, as with "module": "commonjs" until TypeScript 5', async () => {
    await link('@types/node').catch(() => undefined);
    const subpaths = Object.entries(manifest.exports).flatMap(([path, target]) =>
      typeof target === 'object' && path !== './fastify' ? [`'${manifest.name}${path.slice(1)}'`] : [],
    );
    expect(subpaths.length).toBeGreaterThan(6);
    await writeFile(
      join(project, 'old.cts'),
      `import { createRouter } from '${manifest.name}';
       import { createClient } from '${manifest.name}/client';
       import { connectJodit } from '${manifest.name}/jodit';
       ${subpaths.map((path, index) => `import * as part${String(index)} from ${path};`).join('\n')}
       export const all = [${subpaths.map((_, index) => `part${String(index)}`).join()}, createClient, connectJodit];
       // @ts-expect-error: not a setting
       createRouter({ qualty: 1 });`,
    );
    const old = { module: 'commonjs', moduleResolution: 'node10', ignoreDeprecations: '6.0' };
    const lib = ['es2022', 'dom', 'dom.iterable'];
    expect(await compile('old.cts', { ...old, lib, types: ['node'], skipLibCheck: true })).toBe('');
  });

  it('tells editors what settings and options of stores mean', async () => {
    for (const name of ['@types/node', 'fastify']) await link(name).catch(() => undefined);
    const file = join(project, 'edited.ts');
    const source = `{ title: 'T', s3: { bucket: 'b' }, imagePresets: { card: { width: 1 } } }`;
    const text = `import { createRouter } from '${manifest.name}';
      createRouter({ maxUploadFileSize: 1, trash: { retentionDays: 3 }, sources: { a: ${source} } });`;
    const options = { module: ts.ModuleKind.NodeNext, strict: true, types: ['node'] };
    const read = (path: string): string | undefined => (path === file ? text : ts.sys.readFile(path));
    const editor = ts.createLanguageService({
      ...ts.sys,
      useCaseSensitiveFileNames: () => true,
      getScriptFileNames: () => [file],
      getScriptVersion: () => '1',
      getScriptSnapshot: (path) => ts.ScriptSnapshot.fromString(read(path) ?? ''),
      getCurrentDirectory: () => project,
      getCompilationSettings: () => options,
      getDefaultLibFileName: ts.getDefaultLibFilePath,
    });
    const keys = ['maxUploadFileSize', 'retentionDays', 'title', 'bucket', 'width'];
    const told = Object.fromEntries(
      keys.map((key) => {
        const { documentation } = editor.getQuickInfoAtPosition(file, text.indexOf(`${key}:`)) ?? {};
        return [key, ts.displayPartsToString(documentation)];
      }),
    );
    expect(told).toMatchObject({
      maxUploadFileSize: expect.stringMatching(/maximum size.*Default: "8mb"/iu) as string,
      retentionDays: expect.stringMatching(/^Days .*Default: 30$/u) as string,
      title: 'Shown to users.',
      bucket: 'Name of the bucket.',
      width: 'Pixels.',
    });
  });

  it('has a client for pages, where nothing of Node is known', async () => {
    await writeFile(
      join(project, 'page.ts'),
      `import { createClient, ConnectorError, type FilesData } from '${manifest.name}/client';
       const client = createClient({ url: '/connector', credentials: 'include' });
       export const list = async (): Promise<FilesData['sources']> => (await client.files({ path: 'pets' })).sources;
       export const save = async (file: File): Promise<string> =>
         (await client.imageSave({ name: 'cat.jpg', files: [file] })).newPath;
       export const isRefusal = (error: unknown): boolean => error instanceof ConnectorError && error.code === 403;
       // @ts-expect-error: the new name is missing
       export const misused = (): unknown => client.fileRename({ name: 'cat.jpg' });
      `,
    );
    const lib = ['es2022', 'dom', 'dom.iterable'];
    expect(await compile('page.ts', { module: 'esnext', moduleResolution: 'bundler', types: [], lib })).toBe(
      '',
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
