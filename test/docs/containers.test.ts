import { execFile } from 'node:child_process';
import { copyFile, mkdir, mkdtemp, readFile, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join, resolve } from 'node:path';
import ipaddr from 'ipaddr.js';
import { describe, expect, it, onTestFinished } from 'vitest';

const root = resolve(import.meta.dirname, '../..');
const read = (name: string): Promise<string> => readFile(join(root, name), 'utf8');

/** The lines of a block of YAML that is indented below its key. */
const blockOf = (text: string, key: string, indent: number): string => {
  const lines = text.split('\n');
  const start = lines.findIndex((line) => line.startsWith(`${' '.repeat(indent)}${key}:`));
  expect(start, key).toBeGreaterThanOrEqual(0);
  const rest = lines.slice(start + 1);
  const end = rest.findIndex((line) => /\S/u.test(line) && line.search(/\S/u) <= indent);
  return rest.slice(0, end === -1 ? undefined : end).join('\n');
};

/** The addresses of a network, first to last. */
const addressesOf = (network: string): readonly string[] => {
  const [address, bits] = ipaddr.IPv4.parseCIDR(network);
  const first = address.toByteArray().reduce((number, byte) => number * 256 + byte, 0);
  return Array.from({ length: 2 ** (32 - bits) }, (_, index) =>
    [24, 16, 8, 0].map((shift) => String(((first + index) >>> shift) & 255)).join('.'),
  );
};

describe('compose.yaml', () => {
  it('gives nginx the address that the roles count from, whichever container starts first', async () => {
    const compose = await read('compose.yaml');
    const front = blockOf(blockOf(compose, 'networks', 0), 'front', 2);
    const subnet = addressesOf(/subnet: (\S+)/u.exec(front)?.[1] ?? '');
    const dynamic = addressesOf(/ip_range: (\S+)/u.exec(front)?.[1] ?? '');
    const services = blockOf(compose, 'services', 0);
    const names = [...services.matchAll(/^ {2}([\w-]+):/gmu)].map(([, name = '']) => name);
    const fixed = new Map<string, string>();
    let others = 0;
    for (const name of names) {
      const service = blockOf(services, name, 2);
      const address = /ipv4_address: (\S+)/u.exec(service)?.[1];
      if (address !== undefined) fixed.set(name, address);
      else if (/\bfront\b/u.test(service)) others += 1;
    }
    // nginx looks up the service once: after an upgrade it would ask at the old address.
    expect([...fixed.keys()]).toEqual(['web', 'stowage']);
    // Docker keeps the first address for itself, and gives the next ones in the order of the starts.
    expect(dynamic.length - 1).toBeGreaterThan(others);
    for (const address of dynamic) expect(subnet).toContain(address);
    for (const address of fixed.values()) {
      expect(subnet.slice(1, -1)).toContain(address);
      expect(dynamic).not.toContain(address);
    }
    const { auth } = JSON.parse(await read('examples/compose/stowage.json')) as { auth: { from: string[] } };
    expect(auth.from).toEqual([fixed.get('web')]);
  });
});

describe('PACKAGES of the Dockerfile', () => {
  const run = async (packages: readonly string[]): Promise<{ error: string; added: string[] }> => {
    const folder = await mkdtemp(join(tmpdir(), 'stowage-image-'));
    onTestFinished(() => rm(folder, { recursive: true }));
    await mkdir(join(folder, 'packages/stowage'), { recursive: true });
    for (const manifest of ['package.json', 'packages/stowage/package.json'])
      await copyFile(join(root, manifest), join(folder, manifest));
    const dockerfile = (await read('Dockerfile')).replaceAll(/\\\n\s*/gu, '');
    const script = /RUN node -e '([^']+)' \$\{PACKAGES\}/u.exec(dockerfile)?.[1] ?? '';
    const own = script.replaceAll('/app', folder);
    const error = await new Promise<string>((done) => {
      execFile(process.execPath, ['-e', own, ...packages], { cwd: folder }, (_error, _out, text) => {
        done(text);
      });
    });
    const before = JSON.parse(await read('packages/stowage/package.json')) as { dependencies: object };
    const after = JSON.parse(await readFile(join(folder, 'packages/stowage/package.json'), 'utf8')) as {
      dependencies: Record<string, string>;
    };
    const added = Object.entries(after.dependencies).filter(([name]) => !(name in before.dependencies));
    return { error, added: added.map(([name, version]) => `${name} ${version}`) };
  };

  it('adds the optional packages in their versions', async () => {
    const { error, added } = await run(['jose', 'ssh2']);
    expect(error).toBe('');
    expect(added).toEqual([expect.stringMatching(/^jose \S/u), expect.stringMatching(/^ssh2 \S/u)]);
  });

  it('refuses a misspelt name', async () => {
    const { error, added } = await run(['jose', '@aws-sdk/client-s4']);
    expect(error).toContain('PACKAGES names @aws-sdk/client-s4; known are @aws-sdk/client-s3, ');
    expect(added).toEqual([]);
  });
});
