/** `npm start`: from a fresh clone to a running demo; installs and builds what is missing. */
import { installDependencies } from './setup/dependencies.mjs';
import { isBuilt } from './setup/last-build.mjs';
import { npm, orFail, run } from './setup/process.mjs';

await installDependencies();
if (!(await isBuilt())) orFail(await npm(['run', '--silent', 'build']), 'The build failed.');
process.exitCode = await run(process.execPath, [
  '--import',
  'tsx',
  'demo/start.ts',
  ...process.argv.slice(2),
]);
