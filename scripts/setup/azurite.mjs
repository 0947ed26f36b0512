import { existsSync } from 'node:fs';
import { join } from 'node:path';
import { npm, root } from './process.mjs';

/** The last version that runs on Node 20. */
const VERSION = '3.35.0';
const folder = join(root, '.cache', 'azurite');

/** Path that tests use. */
const main = join(folder, 'node_modules/azurite/dist/src/blob/main.js');

/**
 * Installs Azurite in a separate folder: with its databases it is larger than all other packages together,
 * and only two test files need it. Returns what is skipped without it.
 */
export const installAzurite = async () => {
  if (!existsSync(main))
    await npm([
      ...['install', '--prefix', folder, '--no-audit', '--no-fund', '--no-save', '--ignore-scripts'],
      ...['--loglevel', 'error', `azurite@${VERSION}`],
    ]);
  return existsSync(main) ? [] : ['Azurite could not be installed. Left out: the azure adapter'];
};
