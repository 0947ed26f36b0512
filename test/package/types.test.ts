import { writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import ts from 'typescript';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { installPacked, root, run, type Packed } from './packed.ts';

let packed: Packed;
let { project, manifest } = {} as Packed;

beforeAll(async () => {
  packed = await installPacked();
  ({ project, manifest } = packed);
  for (const name of ['@types/node', 'fastify']) await packed.link(name);
});
afterAll(() => packed?.remove());

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

describe('the types of the packed package', () => {
  it('has declarations that a strict project can use', async () => {
    await writeFile(
      join(project, 'host.ts'),
      `import type { IncomingMessage } from 'node:http';
       import { createApp, createRouter, ConfigError, HttpError, type ConfigInput, type ConnectorHooks, type SourcesInput } from '${manifest.name}';
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
       export const textOf = (native: IncomingMessage): Promise<string> =>
         app.renewLinks('<p>', { request: { headers: native.headers, native } });
       export const plugin = fastifyConnector(createRouter(config));
       export const isConfigError = (error: unknown): error is ConfigError => error instanceof ConfigError;
      `,
    );
    expect(await compile('host.ts', { module: 'nodenext', types: ['node'], skipLibCheck: true })).toBe('');
  });

  it('has types for compilers that know no exports, as with "module": "commonjs" until TypeScript 5', async () => {
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
       import { froalaFiles } from '${manifest.name}/editors';
       import '${manifest.name}/picker';
       const client = createClient({ url: '/connector', credentials: 'include' });
       export const list = async (): Promise<FilesData['sources']> => (await client.files({ path: 'pets' })).sources;
       export const save = async (file: File): Promise<string> =>
         (await client.imageSave({ name: 'cat.jpg', files: [file] })).newPath;
       export const isRefusal = (error: unknown): boolean => error instanceof ConnectorError && error.code === 403;
       export const shown = document.querySelector('stowage-picker');
       shown?.addEventListener('pick', ({ detail: { files } }) => files.map(({ url }) => url));
       export const close = async (): Promise<void> => { if (await shown?.mayClose()) shown?.remove(); };
       type OfFroala = (this: never, image: object, answer: unknown) => void;
       export const inserted: OfFroala = froalaFiles({ url: '/connector' }).events['image.inserted'];
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
