import { randomUUID } from 'node:crypto';
import { afterAll, describe, it } from 'vitest';
import { describeStorageConformance, type SkippedCase } from 'stowage/testing';
import { capabilitiesOf } from '#internals';
import { describeThemes, OF_SERVERS, onlyThemes } from './further-servers.ts';
import { davServers, openDavStore, type DavServer } from '../../tools/test-servers/webdav.ts';

/** What no WebDAV server can decide. */
export const CANNOT_DECIDE: readonly SkippedCase[] = [
  {
    test: 'removal: what is put into a folder while it is removed as empty is never lost',
    reason: 'WebDAV has no request that removes a folder only while it is empty',
  },
];

/** The server that the whole suite always runs on. */
const FIRST_SERVER = 'Apache with Digest';

/** Runs the conformance suite on a real server. */
export const describeWebdavServer = (
  wanted: (typeof davServers)[number]['name'],
  more: readonly SkippedCase[] = [],
): void => {
  const found = davServers.find(({ name }) => name === wanted);
  if (found === undefined) throw new Error(`no server is named ${wanted}`);
  const { name, installed, start, options } = found;
  const skip = [...CANNOT_DECIDE, ...more];
  describe.skipIf(!installed)(`the webdav adapter on ${name}${installed ? '' : ' (not installed)'}`, () => {
    let server: Promise<DavServer> | undefined;
    afterAll(async () => {
      await (await server)?.stop();
    });
    const open = async () => {
      const running = await (server ??= start());
      const root = `case-${randomUUID()}`;
      const another = () => openDavStore(running, options, root);
      return { adapter: another(), another };
    };
    const ofServer = name === FIRST_SERVER ? describe : describeThemes(name, onlyThemes(OF_SERVERS));
    describeStorageConformance({ describe: ofServer, it }, name, {
      open,
      // rclone accepts MKCOL for a folder that exists, which reserves nothing.
      promises: { ...capabilitiesOf('webdav'), atomicCreate: name !== 'rclone', caseSensitive: true },
      skip,
    });
  });
};
