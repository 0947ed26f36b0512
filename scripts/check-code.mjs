/**
 * `npm run check:code`: types of all that is outside of the packages, whose types the build has checked, and lint of
 * everything. Lint uses the types of the same programs, and the programs share the files that several of them read:
 * separate checks take a third more of processor time.
 */
import { readdir } from 'node:fs/promises';
import { ESLint } from 'eslint';
import ts from 'typescript';
import { root } from './setup/process.mjs';

const sourceFiles = new Map();

/** A program of a project. */
const programOf = (config) => {
  const { fileNames, options, errors } = ts.getParsedCommandLineOfConfigFile(
    `${root}${config}`,
    {},
    {
      ...ts.sys,
      onUnRecoverableConfigFileDiagnostic: ({ messageText }) => {
        throw new Error(ts.flattenDiagnosticMessageText(messageText, '\n'));
      },
    },
  );
  const host = ts.createCompilerHost(options, true);
  const read = host.getSourceFile;
  host.getSourceFile = (name, version, ...more) => {
    const key = `${name} ${JSON.stringify(version)}`;
    if (!sourceFiles.has(key)) sourceFiles.set(key, read(name, version, ...more));
    return sourceFiles.get(key);
  };
  return { program: ts.createProgram(fileNames, options, host), errors };
};

/** Prints what is wrong, and returns whether something is. */
const lint = async (path, program, ignorePatterns = []) => {
  const eslint = new ESLint({
    cwd: root,
    ignorePatterns,
    overrideConfig: { languageOptions: { parserOptions: { project: null, programs: [program] } } },
  });
  const results = await eslint.lintFiles([path]);
  const { format } = await eslint.loadFormatter('stylish');
  process.stdout.write(await format(results));
  return results.some(({ errorCount }) => errorCount > 0);
};

const found = [];
for (const name of await readdir(`${root}packages`))
  found.push(await lint(`packages/${name}`, programOf(`packages/${name}/tsconfig.json`).program));

const { program, errors } = programOf('test/tsconfig.json');
const wrong = [...errors, ...ts.getPreEmitDiagnostics(program)];
process.stdout.write(
  ts.formatDiagnostics(wrong, {
    getCanonicalFileName: (name) => name,
    getCurrentDirectory: () => root,
    getNewLine: () => '\n',
  }),
);
found.push(wrong.length > 0, await lint('.', program, ['packages/']));
process.exitCode = found.includes(true) ? 1 : 0;
