import { randomUUID } from 'node:crypto';
import { afterAll, describe, it } from 'vitest';
import { describeStorageConformance, withFaults, type SkippedCase } from 'stowage/testing';
import { openWebdavAdapter } from '../../dist/adapters/webdav/open.js';
import { parseWebdavOptions } from '../../dist/adapters/webdav/options.js';
import { login, programs, startApache, startNginx, startRclone, type DavServer } from './servers/webdav.js';

const open = (server: DavServer, options: object = login) => {
  const parsed = parseWebdavOptions({ url: server.url, ...options });
  if ('problems' in parsed) throw new Error(parsed.problems.join());
  return openWebdavAdapter(parsed.value, `case-${randomUUID()}`);
};

const racing: SkippedCase = {
  test: 'write: 20 writers that replace one file leave one of their contents whole',
  reason:
    'servers replace by removing and renaming, and locks are not used: racing moves meet moments without the file',
};

const nginxSkips: readonly SkippedCase[] = [
  racing,
  {
    test: 'copy: a copy has a fresh modification time',
    reason: 'nginx gives a copy the time of its original, and DAV cannot set it',
  },
  {
    test: 'names: a leading dot in the names of a file and of a folder',
    reason: 'nginx leaves names with a leading dot out of PROPFIND',
  },
];

interface Case {
  readonly name: string;
  readonly installed: boolean;
  readonly start: () => Promise<DavServer>;
  readonly options: object;
  readonly skip: readonly SkippedCase[];
}

const servers: readonly Case[] = [
  {
    name: 'Apache with Basic',
    installed: programs.apache,
    start: () => startApache('basic'),
    options: login,
    skip: [racing],
  },
  {
    name: 'Apache with Digest',
    installed: programs.apache,
    start: () => startApache('digest'),
    options: { ...login, auth: 'digest' },
    skip: [racing],
  },
  { name: 'nginx', installed: programs.nginx, start: startNginx, options: login, skip: nginxSkips },
  { name: 'rclone', installed: programs.rclone, start: startRclone, options: login, skip: [racing] },
];

for (const { name, installed, start, options, skip } of servers) {
  describe.skipIf(!installed)(`the webdav adapter on ${name}${installed ? '' : ' (not installed)'}`, () => {
    let server: Promise<DavServer> | undefined;
    afterAll(async () => {
      await (await server)?.stop();
    });
    const started = (): Promise<DavServer> => (server ??= start());
    describeStorageConformance({ describe, it }, name, {
      open: async () => ({ adapter: open(await started(), options) }),
      skip,
    });
    // The decorator is the same whatever lies beneath: once is enough.
    if (name !== 'Apache with Basic') return;
    describeStorageConformance({ describe, it }, `${name}, through a decorator without faults`, {
      open: async () => ({ adapter: withFaults(open(await started(), options), []) }),
      skip,
    });
  });
}
