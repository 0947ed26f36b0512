import { randomUUID } from 'node:crypto';
import { afterAll, describe, it } from 'vitest';
import { describeStorageConformance, withFaults, type SkippedCase } from 'stowage/testing';
import { davServers, openDavStore, type DavServer } from './servers/webdav.ts';

const skips: Readonly<Record<string, readonly SkippedCase[]>> = {
  nginx: [
    {
      test: 'copy: a copy has a fresh modification time',
      reason: 'nginx gives a copy the time of its original, and DAV cannot set it',
    },
    {
      test: 'names: a leading dot in the names of a file and of a folder',
      reason: 'nginx leaves names with a leading dot out of PROPFIND',
    },
  ],
};

for (const { name, installed, start, options } of davServers) {
  describe.skipIf(!installed)(`the webdav adapter on ${name}${installed ? '' : ' (not installed)'}`, () => {
    let server: Promise<DavServer> | undefined;
    afterAll(async () => {
      await (await server)?.stop();
    });
    const open = async () => openDavStore(await (server ??= start()), options, `case-${randomUUID()}`);
    const skip = skips[name] ?? [];
    describeStorageConformance({ describe, it }, name, {
      open: async () => ({ adapter: await open() }),
      skip,
    });
    // The decorator is the same whatever lies beneath: once is enough.
    if (name !== 'Apache with Basic') return;
    describeStorageConformance({ describe, it }, `${name}, through a decorator without faults`, {
      open: async () => ({ adapter: withFaults(await open(), []) }),
      skip,
    });
  });
}
