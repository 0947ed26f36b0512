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

/**
 * The binary of another Node line, from npm, in a separate folder: among the other dependencies it would
 * replace the Node that runs npm scripts. Undefined when it is not available.
 */
const fetchNode = async (line) => {
  const folder = join(root, '.cache', `node${line}`);
  const binary = join(
    folder,
    'node_modules',
    packageName(),
    'bin',
    process.platform === 'win32' ? 'node.exe' : 'node',
  );
  if (!versionOf(binary)?.startsWith(`v${line}.`)) {
    process.stdout.write(`Fetching Node ${line}\n`);
    await npm(['install', '--prefix', folder, '--no-audit', '--no-fund', `${packageName()}@${line}`]);
  }
  return versionOf(binary)?.startsWith(`v${line}.`) ? binary : undefined;
};

/** A Node for tests; `environment` puts it first in the path. */
const nodeAt = (binary) => ({
  binary,
  version: versionOf(binary),
  environment: { PATH: `${dirname(binary)}:${process.env.PATH ?? ''}` },
});

/**
 * The Nodes for tests: this one and the other line, or both lines when this is neither. Also returns the
 * lines that are not available.
 */
export const nodesToTest = async () => {
  const own = Number(process.versions.node.split('.')[0]);
  const nodes = LINES.includes(own) ? [nodeAt(process.execPath)] : [];
  const failed = [];
  for (const line of LINES.filter((one) => one !== own)) {
    const binary = await fetchNode(line);
    if (binary === undefined) failed.push(`Node ${line} could not be fetched. Left out: all tests on it`);
    else nodes.push(nodeAt(binary));
  }
  return { nodes, failed };
};
