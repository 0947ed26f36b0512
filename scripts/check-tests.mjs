/**
 * `npm run check:tests`: types and lint of all that is outside of the packages, with one program: both need the
 * types of the same files, which takes half of the time of each.
 */
import { ESLint } from 'eslint';
import ts from 'typescript';
import { root } from './setup/process.mjs';

const { fileNames, options, errors } = ts.getParsedCommandLineOfConfigFile(
  `${root}test/tsconfig.json`,
  {},
  {
    ...ts.sys,
    onUnRecoverableConfigFileDiagnostic: ({ messageText }) => {
      throw new Error(ts.flattenDiagnosticMessageText(messageText, '\n'));
    },
  },
);
const program = ts.createProgram(fileNames, options);
const wrong = [...errors, ...ts.getPreEmitDiagnostics(program)];
process.stdout.write(
  ts.formatDiagnostics(wrong, {
    getCanonicalFileName: (name) => name,
    getCurrentDirectory: () => root,
    getNewLine: () => '\n',
  }),
);

const eslint = new ESLint({
  cwd: root,
  ignorePatterns: ['packages/'],
  overrideConfig: { languageOptions: { parserOptions: { project: null, programs: [program] } } },
});
const results = await eslint.lintFiles(['.']);
const { format } = await eslint.loadFormatter('stylish');
process.stdout.write(await format(results));
const isWrong = wrong.length > 0 || results.some(({ errorCount }) => errorCount > 0);
process.exitCode = isWrong ? 1 : 0;
