import { randomUUID } from 'node:crypto';
import { afterAll, describe, it } from 'vitest';
import { describeStorageConformance, withFaults, type SkippedCase } from 'stowage/testing';
import { davServers, openDavStore, type DavServer } from './servers/webdav.ts';

/** Runs the conformance suite on a real server, as it is and through a decorator that could make faults. */
export const describeWebdavServer = (
  wanted: (typeof davServers)[number]['name'],
  skip: readonly SkippedCase[] = [],
): void => {
  const found = davServers.find(({ name }) => name === wanted);
  if (found === undefined) throw new Error(`no server is named ${wanted}`);
  const { name, installed, start, options } = found;
  describe.skipIf(!installed)(`the webdav adapter on ${name}${installed ? '' : ' (not installed)'}`, () => {
    let server: Promise<DavServer> | undefined;
    afterAll(async () => {
      await (await server)?.stop();
    });
    const open = async () => openDavStore(await (server ??= start()), options, `case-${randomUUID()}`);
    describeStorageConformance({ describe, it }, name, {
      open: async () => ({ adapter: await open() }),
      skip,
    });
    describeStorageConformance({ describe, it }, `${name}, through a decorator without faults`, {
      open: async () => ({ adapter: withFaults(await open(), []) }),
      skip,
    });
  });
};
