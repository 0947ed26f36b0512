/**
 * `npm run build`: declarations by the compiler (`dist/<path>.d.ts`, one a module, made anew only where something changed), then the
 * code as bundles, all in `dist` itself: a process reads some twenty files at start instead of four hundred. The entries
 * share chunks, so that an error class or the registry of adapters exists once; what is imported by `await import()` stays apart until
 * it is asked for. Of packages, what every start needs goes in too, without its unused parts; the others stay imports. At last, what
 * earlier builds left in `dist` is removed. What has not changed is not written: others may be loading it.
 *
 * Another entry is one more line in `service`, and, when it is public, its path in `exports` of package.json. Code for pages, which shares
 * nothing with the service, is a build of its own.
 */
import { spawnSync } from 'node:child_process';
import { existsSync } from 'node:fs';
import { mkdir, readdir, readFile, rm, writeFile } from 'node:fs/promises';
import { createRequire } from 'node:module';
import { join, relative, resolve } from 'node:path';
import { build } from 'esbuild';

const root = resolve(import.meta.dirname, '..');
const dist = join(root, 'dist');

/**
 * Name in `dist` to source. All lie in one folder, because code finds the threads, the processes and the manifest relative to
 * the file that it was bundled into, whichever that is.
 */
const service = {
  index: 'src/index.ts',
  storage: 'src/storage/index.ts',
  testing: 'src/testing/index.ts',
  fastify: 'src/http/bridges/fastify.ts',
  next: 'src/http/bridges/next.ts',
  cli: 'src/cli/main.ts',
  // For tests alone; not published.
  internals: 'src/internals.ts',
};

/** Threads and processes: each whole in a file of its own, since nothing of it is shared with the code that starts it. */
const threads = {
  'scan-worker': 'src/adapters/local/scan-worker.ts',
  'thread-main': 'src/documents/docx/thread-main.ts',
  'cleaning-thread': 'src/images/cleaning/thread-main.ts',
  'heic-thread': 'src/images/heic/thread-main.ts',
  'process-main': 'src/documents/docx/drawing/process-main.ts',
};

/**
 * Packages whose used parts are bundled. Together they are half of the time and a quarter of the memory of a start when they are
 * imported: Zod brings its messages in fifty languages, the others the loader of CommonJS and of diagnostics.
 */
const BUNDLED = ['ipaddr.js', 'lru-cache', 'zod'];

const manifest = JSON.parse(await readFile(join(root, 'package.json'), 'utf8'));
const external = Object.keys({ ...manifest.dependencies, ...manifest.peerDependencies }).filter(
  (name) => !BUNDLED.includes(name),
);

/** Refuses a package that would go into what is published unseen, for example one that only tests have. */
const checkPackages = (inputs) => {
  for (const path of Object.keys(inputs)) {
    const [, name] = /node_modules\/((?:@[^/]+\/)?[^/]+)\/(?!.*node_modules\/)/u.exec(path) ?? [];
    if (name !== undefined && !BUNDLED.includes(name))
      throw new Error(`${name} is imported, but is neither a dependency nor in BUNDLED`);
  }
};

/** Writes a file unless it holds just that, and returns its path. */
const write = async (path, contents) => {
  const old = await readFile(path).catch(() => undefined);
  if (old?.equals(contents) !== true) await writeFile(path, contents);
  return path;
};

/** Bundles into `dist` and returns the paths of its files there. */
const bundle = async (options) => {
  const { metafile, outputFiles, warnings } = await build({
    absWorkingDir: root,
    outdir: 'dist',
    bundle: true,
    format: 'esm',
    external,
    metafile: true,
    write: false,
    logLevel: 'warning',
    ...options,
  });
  // Also a style sheet that cannot be read is no more than a warning.
  if (warnings.length > 0) throw new Error('The bundler warns of something, see above.');
  checkPackages(metafile.inputs);
  return Promise.all(outputFiles.map(({ path, contents }) => write(path, contents)));
};

/** The licences of what is bundled go along with it. */
const writeLicences = async () => {
  const texts = await Promise.all(
    BUNDLED.map(async (name) => {
      const folder = join(root, 'node_modules', name);
      const file = (await readdir(folder)).find((entry) => /^licen[cs]e/iu.test(entry));
      return `${name}\n\n${(await readFile(join(folder, file), 'utf8')).trim()}\n`;
    }),
  );
  return write(join(dist, 'bundled-licences.txt'), Buffer.from(texts.join(`\n${'-'.repeat(80)}\n\n`)));
};

const declare = (project) => {
  const tsc = createRequire(import.meta.url).resolve('typescript/bin/tsc');
  const { status } = spawnSync(process.execPath, [tsc, '-p', project], {
    cwd: root,
    stdio: 'inherit',
  });
  if (status !== 0) process.exit(status ?? 1);
};

/** A declaration stays while its source is there. */
const isCurrentDeclaration = (path) =>
  path.endsWith('.d.ts') &&
  existsSync(join(root, 'src', `${relative(dist, path).slice(0, -'.d.ts'.length)}.ts`));

const removeStale = async (made) => {
  for (const file of await readdir(dist, { recursive: true, withFileTypes: true })) {
    const path = join(file.parentPath, file.name);
    if (file.isDirectory() || file.name === '.tsbuildinfo' || made.has(path) || isCurrentDeclaration(path))
      continue;
    await rm(path, { force: true });
  }
};

declare('tsconfig.json');
// For pages: its types are those of the DOM.
declare('src/jodit/tsconfig.json');
const node = { platform: 'node', target: 'node20.19' };
const made = await Promise.all([
  writeLicences(),
  bundle({ entryPoints: service, splitting: true, chunkNames: '[name]-[hash]', ...node }),
  bundle({ entryPoints: threads, ...node }),
  bundle({
    entryPoints: [
      { in: 'src/client/index.ts', out: 'client' },
      { in: 'src/jodit/index.ts', out: 'jodit' },
      { in: 'src/jodit/jodit.css', out: 'jodit' },
    ],
    platform: 'neutral',
    target: 'es2022',
  }),
  bundle({
    entryPoints: { 'jodit.global': 'src/jodit/index.ts' },
    format: 'iife',
    globalName: 'StowageJodit',
    platform: 'browser',
    target: 'es2022',
    minify: true,
  }),
]);
await removeStale(new Set(made.flat()));
// Its time is that of this build: `npm start` builds only what is newer.
await mkdir(join(root, '.cache'), { recursive: true });
await writeFile(join(root, '.cache', 'built'), '');
