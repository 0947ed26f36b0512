import { statSync } from 'node:fs';
import { join } from 'node:path';
import { npm, orFail, root } from './process.mjs';

const timeOf = (file) => statSync(join(root, file), { throwIfNoEntry: false })?.mtimeMs;

/** The oldest supported Node, as in package.json. */
const OLDEST = [20, 19];

const checkNode = () => {
  const [major, minor] = process.versions.node.split('.').map(Number);
  if (major > OLDEST[0] || (major === OLDEST[0] && minor >= OLDEST[1])) return;
  process.stderr.write(`Node ${OLDEST.join('.')} or newer is needed; this is ${process.versions.node}.\n`);
  process.exit(1);
};

/**
 * Installs the locked dependencies of a folder when they are missing, or older than its lock file. The editors
 * of the documentation have a folder of their own, `test/client/editors`.
 */
export const installDependencies = async (folder = '.') => {
  checkNode();
  const installed = timeOf(join(folder, 'node_modules/.package-lock.json'));
  if (installed !== undefined && installed >= timeOf(join(folder, 'package-lock.json'))) return;
  process.stdout.write(`Installing dependencies (npm ci${folder === '.' ? '' : ` in ${folder}`})\n`);
  // The scripts would compile what ssh2 uses instead of the cryptography of Node where a compiler is there.
  orFail(
    await npm(['ci', '--prefix', folder, '--ignore-scripts', '--prefer-offline', '--no-audit', '--no-fund']),
    'npm ci failed.',
  );
};
