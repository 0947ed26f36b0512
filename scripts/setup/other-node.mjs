import { existsSync } from 'node:fs';
import { dirname, join } from 'node:path';
import { npm, outputOf, root } from './process.mjs';

/** The oldest and the newest Node line on which the package is tested. */
const LINES = [20, 26];

const packageName = () => {
  const system = process.platform === 'win32' ? 'win' : process.platform;
  const prefix = system === 'darwin' && process.arch === 'arm64' ? 'node-bin' : 'node';
  return `${prefix}-${system}-${process.arch}`;
};

const versionOf = (binary) => outputOf(binary, ['--version'])?.trim();

const folderOf = (line) => join(root, '.cache', `node${line}`);

const binaryOf = (line) => {
  const name = process.platform === 'win32' ? 'node.exe' : 'node';
  return join(folderOf(line), 'node_modules', packageName(), 'bin', name);
};

const own = Number(process.versions.node.split('.')[0]);
const others = LINES.filter((line) => line !== own);

/**
 * Fetches the other Node lines from npm, each into a separate folder: among the other dependencies it would
 * replace the Node that runs npm scripts.
 */
export const fetchNodes = async () => {
  for (const line of others.filter((one) => !existsSync(binaryOf(one)))) {
    process.stdout.write(`Fetching Node ${line}\n`);
    const wanted = `${packageName()}@${line}`;
    await npm(['install', '--prefix', folderOf(line), '--no-audit', '--no-fund', wanted]);
  }
};

/** A Node for tests; `environment` puts it first in the path. */
const nodeAt = (binary) => ({
  binary,
  version: versionOf(binary),
  environment: { PATH: `${dirname(binary)}:${process.env.PATH ?? ''}` },
});

/**
 * The Nodes for tests: this one and the other line, or both lines when this is neither. Also returns the
 * lines that are not available. Some need a library that is among the Debian packages.
 */
export const nodesToTest = () => {
  const nodes = LINES.includes(own) ? [nodeAt(process.execPath)] : [];
  const failed = [];
  for (const line of others) {
    const node = nodeAt(binaryOf(line));
    if (node.version?.startsWith(`v${line}.`)) nodes.push(node);
    else failed.push(`Node ${line} could not be fetched. Left out: all tests on it`);
  }
  return { nodes, failed };
};
