/**
 * `npm run build`: builds the packages in the order of their dependencies. First the types of the client are
 * generated from `openapi.json`. For each package, the compiler writes declarations (`dist/<path>.d.ts`, one
 * per module, incrementally), then its code is bundled into `dist`: a process reads some twelve files at the
 * start instead of four hundred. The entries share chunks, so that error classes and the registry of adapters
 * exist once; modules of `await import()` stay separate until they are needed. Packages that every start
 * needs are bundled without their unused parts; the others stay imports. Finally, leftovers of earlier builds
 * are removed from `dist`. Unchanged files are not written: other processes may be loading them.
 *
 * Another entry of the server is one more line in `service`, and, when it is public, its path in `exports` of
 * its package.json.
 */
import { spawn } from 'node:child_process';
import { existsSync } from 'node:fs';
import { mkdir, readdir, readFile, rm, writeFile } from 'node:fs/promises';
import { createRequire } from 'node:module';
import { join, relative, resolve } from 'node:path';
import { build, transform } from 'esbuild';
import { writeClientTypes } from './client-types.mjs';
import { documentTypes } from './document-types.mjs';
import { withLazyFunctions } from './lazy-functions.mjs';

const root = resolve(import.meta.dirname, '..');
const folderOf = (name) => join(root, 'packages', name);

/**
 * Source by name in `dist`. All are in one folder, because code finds threads, processes and the manifest
 * relative to the file into which it was bundled.
 */
const service = {
  index: 'src/index.ts',
  storage: 'src/storage/index.ts',
  testing: 'src/storage/testing/index.ts',
  fastify: 'src/http/bridges/fastify.ts',
  next: 'src/http/bridges/next.ts',
  client: 'src/client.ts',
  jodit: 'src/jodit.ts',
  picker: 'src/picker.ts',
  editors: 'src/editors.ts',
  cli: 'src/cli/main.ts',
  // For tests only; not published.
  internals: 'src/internals.ts',
};

/**
 * Threads and processes: each is bundled completely into its own file, since it shares nothing with the code
 * that starts it.
 */
const threads = {
  'scan-worker': 'src/adapters/local/scan-worker.ts',
  'thread-main': 'src/documents/docx/thread-main.ts',
  'cleaning-thread': 'src/pictures/metadata/cleaning-thread.ts',
  'heic-thread': 'src/pictures/heic/thread-main.ts',
  'process-main': 'src/documents/docx/process-main.ts',
};

/**
 * Packages whose used parts are bundled. As imports they would take half of the time and a quarter of the
 * memory of a start: Zod has messages in fifty languages, the others need the loaders of CommonJS and of
 * diagnostics.
 */
const BUNDLED = ['ipaddr.js', 'lru-cache', 'zod'];

const externalOf = async (name) => {
  const manifest = JSON.parse(await readFile(join(folderOf(name), 'package.json'), 'utf8'));
  return Object.keys({ ...manifest.dependencies, ...manifest.peerDependencies }).filter(
    (dependency) => !BUNDLED.includes(dependency),
  );
};

/** Rejects packages that would be bundled unintentionally, for example one that only tests need. */
const checkPackages = (inputs) => {
  for (const path of Object.keys(inputs)) {
    const [, name] = /node_modules\/((?:@[^/]+\/)?[^/]+)\/(?!.*node_modules\/)/u.exec(path) ?? [];
    if (name !== undefined && !BUNDLED.includes(name))
      throw new Error(`${name} is imported, but is neither a dependency nor in BUNDLED`);
  }
};

/** Writes a file unless its content is the same, and returns its path. */
const write = async (path, contents) => {
  const old = await readFile(path).catch(() => undefined);
  if (old?.equals(contents) !== true) await writeFile(path, contents);
  return path;
};

/** Bundles into `dist` of a package, and returns the paths of the files. */
const bundle = async (name, options) => {
  const { metafile, outputFiles, warnings } = await build({
    absWorkingDir: folderOf(name),
    outdir: 'dist',
    bundle: true,
    format: 'esm',
    external: await externalOf(name),
    metafile: true,
    write: false,
    logLevel: 'warning',
    ...options,
  });
  // An unreadable style sheet is only a warning, too.
  if (warnings.length > 0) throw new Error('The bundler warns of something, see above.');
  checkPackages(metafile.inputs);
  return Promise.all(
    outputFiles.map(({ path, text, contents }) =>
      write(path, options.platform === 'node' ? Buffer.from(withLazyFunctions(text)) : contents),
    ),
  );
};

/**
 * Bundles the modules of the app into one chunk: a start reads a dozen files, not fifty. The bundler creates
 * a chunk for each set of entries that share code, and a module of `await import()` is an entry. Since the
 * app is loaded before any of them, an import of the app is added to each, which merges these sets.
 */
const withApp = async (folder) => {
  const app = join(folder, 'src/app.ts');
  const importedLater = new Set();
  for (const file of await readdir(join(folder, 'src'), { recursive: true })) {
    const path = join(folder, 'src', file);
    if (!path.endsWith('.ts')) continue;
    for (const [, name] of (await readFile(path, 'utf8')).matchAll(/(?<!typeof )import\('(\.[^']+)'\)/gu))
      importedLater.add(resolve(path, '..', name));
  }
  importedLater.delete(app);
  const onLoad = async ({ path }) =>
    importedLater.has(path)
      ? { contents: `import ${JSON.stringify(app)};\n${await readFile(path, 'utf8')}`, loader: 'ts' }
      : undefined;
  return {
    // The import has no other effect.
    logOverride: { 'ignored-bare-import': 'silent' },
    plugins: [{ name: 'with-app', setup: (bundler) => bundler.onLoad({ filter: /\.ts$/ }, onLoad) }],
  };
};

/** Publishes the licences of bundled packages. */
const writeLicences = async () => {
  const texts = await Promise.all(
    BUNDLED.map(async (name) => {
      const folder = join(root, 'node_modules', name);
      const file = (await readdir(folder)).find((entry) => /^licen[cs]e/iu.test(entry));
      return `${name}\n\n${(await readFile(join(folder, file), 'utf8')).trim()}\n`;
    }),
  );
  const text = texts.join(`\n${'-'.repeat(80)}\n\n`);
  return write(join(folderOf('stowage'), 'dist', 'bundled-licences.txt'), Buffer.from(text));
};

/** Types are checked by `check:code`: checking them here too would take half of the time of a build. */
const declare = (name) =>
  new Promise((done) => {
    const tsc = createRequire(import.meta.url).resolve('typescript/bin/tsc');
    const compiler = spawn(process.execPath, [tsc, '-p', folderOf(name), '--noCheck'], {
      cwd: root,
      stdio: 'inherit',
    });
    compiler.once('exit', (status) => (status === 0 ? done() : process.exit(status ?? 1)));
  });

/** A declaration is current while its source exists. */
const isCurrentDeclaration = (name, path) =>
  path.endsWith('.d.ts') &&
  existsSync(
    join(
      folderOf(name),
      'src',
      `${relative(join(folderOf(name), 'dist'), path).slice(0, -'.d.ts'.length)}.ts`,
    ),
  );

const removeStale = async (name, made) => {
  const kept = new Set(made.flat());
  for (const file of await readdir(join(folderOf(name), 'dist'), { recursive: true, withFileTypes: true })) {
    const path = join(file.parentPath, file.name);
    if (file.isDirectory() || file.name === '.tsbuildinfo' || kept.has(path)) continue;
    if (!isCurrentDeclaration(name, path)) await rm(path, { force: true });
  }
};

const node = { platform: 'node', target: 'node20.19' };

const buildConverter = async () => {
  const made = await bundle('html-docx', { entryPoints: { index: 'src/convert.ts' }, ...node });
  await removeStale('html-docx', made);
};

/** The languages of the picker, as files for pages without a bundler. */
const writeTexts = async (folder) => {
  const source = join(folderOf('browser'), 'src', 'picker', 'texts');
  const names = (await readdir(source)).filter((name) => name.endsWith('.json'));
  await mkdir(folder, { recursive: true });
  return Promise.all(
    names.map(async (name) => {
      const texts = JSON.parse(await readFile(join(source, name), 'utf8'));
      return write(join(folder, name), Buffer.from(JSON.stringify(texts)));
    }),
  );
};

/** The styles of the picker are a string in its code, without the comments and blanks of their source. */
const stylesAsText = {
  name: 'styles-as-text',
  setup: (bundler) =>
    bundler.onLoad({ filter: /\.css$/ }, async ({ path }) => {
      const { code } = await transform(await readFile(path, 'utf8'), { loader: 'css', minify: true });
      // esbuild leaves blanks in custom properties.
      return { contents: code.replaceAll(/(--[\w-]+:|,) /gu, '$1'), loader: 'text' };
    }),
};

const buildBrowser = async () => {
  const page = { platform: 'browser', target: 'es2022', plugins: [stylesAsText] };
  // Assigned here, a module is shorter than with `globalName`, which adds code for CommonJS.
  const ofPages = (name, entry, globalName) =>
    bundle('browser', {
      stdin: {
        contents: `import * as own from './${entry}'; globalThis.${globalName} = own;`,
        resolveDir: folderOf('browser'),
      },
      outdir: undefined,
      outfile: `dist/${name}.global.js`,
      format: 'iife',
      minify: true,
      ...page,
      define: { IS_GLOBAL: 'true' },
    });
  const made = await Promise.all([
    bundle('browser', {
      entryPoints: {
        client: 'src/client/index.ts',
        jodit: 'src/jodit/index.ts',
        picker: 'src/picker/index.ts',
        editors: 'src/editors/index.ts',
      },
      splitting: true,
      chunkNames: '[name]-[hash]',
      minify: true,
      ...page,
      define: { IS_GLOBAL: 'false' },
    }),
    bundle('browser', { entryPoints: { jodit: 'src/jodit/jodit.css' } }),
    ofPages('jodit', 'src/jodit/index.ts', 'StowageJodit'),
    ofPages('picker', 'src/picker/index.ts', 'StowagePicker'),
    ofPages('editors', 'src/editors/index.ts', 'StowageEditors'),
    writeTexts(join(folderOf('browser'), 'dist', 'texts')),
  ]);
  await removeStale('browser', made);
};

/** Pages load these files from the folder of the server. */
const copyPageFiles = async () => [
  ...(await writeTexts(join(folderOf('stowage'), 'dist', 'texts'))),
  ...(await Promise.all(
    ['jodit.css', 'jodit.global.js', 'picker.global.js', 'editors.global.js'].map(async (file) =>
      write(join(folderOf('stowage'), 'dist', file), await readFile(join(folderOf('browser'), 'dist', file))),
    ),
  )),
];

const buildServer = async () => {
  const grouped = await withApp(folderOf('stowage'));
  const made = await Promise.all([
    writeLicences(),
    copyPageFiles(),
    bundle('stowage', {
      entryPoints: service,
      splitting: true,
      chunkNames: '[name]-[hash]',
      ...node,
      ...grouped,
    }),
    bundle('stowage', { entryPoints: threads, ...node }),
  ]);
  await removeStale('stowage', made);
};

await writeClientTypes();
await Promise.all([declare('html-docx'), declare('browser')]);
await Promise.all([buildConverter(), buildBrowser()]);
await declare('stowage');
await documentTypes(folderOf('stowage'));
await buildServer();
// Records the time of this build: `npm start` rebuilds only if something is newer.
await mkdir(join(root, '.cache'), { recursive: true });
await writeFile(join(root, '.cache', 'built'), '');
