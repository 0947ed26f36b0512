/**
 * `npm run pack -- FOLDER`: creates the published archive of each package in FOLDER (default: the current
 * one). Each is assembled in a temporary folder: its build with the declarations that users can reach, texts
 * and samples of the repository, and in the server the package for pages, which it contains. `--in-place`
 * does that in the package itself, for `npm pack -w stowage`; `--clean` undoes it.
 */
import { execFileSync } from 'node:child_process';
import { existsSync } from 'node:fs';
import { cp, mkdir, mkdtemp, readFile, readdir, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { dirname, join, resolve } from 'node:path';
import ts from 'typescript';

const root = resolve(import.meta.dirname, '..');
const packages = ['html-docx', 'browser', 'stowage'];

/** Texts and samples of the repository that are published with the server. */
const TEXTS = ['README.md', 'CHANGELOG.md', 'CONTRIBUTING.md', 'SECURITY.md', 'docs', 'examples'];

const manifestOf = async (folder) => JSON.parse(await readFile(join(folder, 'package.json'), 'utf8'));

/** The declarations that are reachable from the entries of a package. */
const reachableDeclarations = async (folder) => {
  const { exports } = await manifestOf(folder);
  const waiting = Object.values(exports).flatMap(({ types }) =>
    types === undefined ? [] : [join(folder, types)],
  );
  const reached = new Set();
  for (let path = waiting.pop(); path !== undefined; path = waiting.pop()) {
    if (reached.has(path)) continue;
    reached.add(path);
    const { importedFiles } = ts.preProcessFile(await readFile(path, 'utf8'));
    for (const { fileName } of importedFiles)
      if (fileName.startsWith('.')) waiting.push(join(dirname(path), fileName.replace(/\.[jt]s$/u, '.d.ts')));
  }
  return reached;
};

/** Copies what npm publishes of a package: its `files`, without declarations that only the build needs. */
const copyPackage = async (from, to) => {
  const { files } = await manifestOf(from);
  const declarations = await reachableDeclarations(from);
  const isTaken = (path) => !path.endsWith('.d.ts') || declarations.has(path);
  for (const name of ['package.json', 'README.md', ...files.filter((one) => !one.startsWith('!'))])
    if (existsSync(join(from, name)))
      await cp(join(from, name), join(to, name), { recursive: true, filter: isTaken });
};

/** Adds files from the rest of the repository. */
const addTexts = async (name, folder) => {
  await cp(join(root, 'LICENSE'), join(folder, 'LICENSE'));
  if (name !== 'stowage') return;
  for (const text of TEXTS) await cp(join(root, text), join(folder, text), { recursive: true });
  await rm(join(folder, 'examples/compose/users'), { recursive: true, force: true });
  const browser = join(folder, 'node_modules/stowage-browser');
  await rm(browser, { recursive: true, force: true });
  await copyPackage(join(root, 'packages/browser'), browser);
};

const pack = async (destination) => {
  await mkdir(destination, { recursive: true });
  for (const name of packages) {
    const folder = await mkdtemp(join(tmpdir(), `stowage-pack-${name}-`));
    await copyPackage(join(root, 'packages', name), folder);
    await addTexts(name, folder);
    execFileSync(
      'npm',
      ['pack', '--ignore-scripts', '--loglevel', 'error', '--pack-destination', destination],
      {
        cwd: folder,
        stdio: 'inherit',
      },
    );
    await rm(folder, { recursive: true });
  }
};

const clean = async (folder) => {
  const added = [...TEXTS, 'LICENSE', 'node_modules/stowage-browser'];
  for (const name of added) await rm(join(folder, name), { recursive: true, force: true });
  const modules = join(folder, 'node_modules');
  if (existsSync(modules) && (await readdir(modules)).length === 0) await rm(modules, { recursive: true });
};

const [argument = '.'] = process.argv.slice(2);
const server = join(root, 'packages/stowage');
if (argument === '--in-place') await addTexts('stowage', server);
else if (argument === '--clean') await clean(server);
else await pack(resolve(argument));
