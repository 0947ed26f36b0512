import { azuriteMissing, makeContainer, startAzurite } from '../../tools/test-servers/azurite.ts';
import { makeBucket, optionsFor } from '../../tools/test-servers/bucket.ts';
import { startFtp } from '../../tools/test-servers/ftp.ts';
import { startGcs } from '../../tools/test-servers/gcs-login.ts';
import { hasProftpd } from '../../tools/test-servers/proftpd.ts';
import { radosgwMissing, startRadosgw } from '../../tools/test-servers/radosgw.ts';
import { hasSshd, startSshd } from '../../tools/test-servers/ssh.ts';
import { login, programs, startApache, startNginx } from '../../tools/test-servers/webdav.ts';

const nothing = (): void => undefined;

/** A real store for a source of an app. */
export interface ServedStore {
  /** As sources name it; `memory` needs no server. */
  readonly adapter: string;
  readonly name: string;
  readonly missing: string | undefined;
  readonly start: () => Promise<{ readonly source: object; readonly stop: () => unknown }>;
}

const notInstalled = (isThere: boolean): string | undefined => (isThere ? undefined : 'not installed');

/** One of each kind, and servers that differ. */
export const servedStores: readonly ServedStore[] = [
  {
    adapter: 'memory',
    name: 'memory',
    missing: undefined,
    start: () => Promise.resolve({ source: { storageAdapter: 'memory' }, stop: nothing }),
  },
  {
    adapter: 's3',
    name: 'S3 (radosgw)',
    missing: radosgwMissing,
    start: async () => {
      const gateway = await startRadosgw();
      const bucket = await makeBucket(gateway);
      const stop = async (): Promise<void> => {
        bucket.client.destroy();
        await gateway.stop();
      };
      return {
        source: { storageAdapter: 's3', s3: optionsFor(gateway, bucket.name, { prefix: 'files' }) },
        stop,
      };
    },
  },
  {
    adapter: 'webdav',
    name: 'WebDAV (Apache)',
    missing: notInstalled(programs.apache),
    start: async () => {
      const server = await startApache('basic');
      const webdav = { url: server.url, ...login };
      return { source: { storageAdapter: 'webdav', webdav }, stop: () => server.stop() };
    },
  },
  {
    adapter: 'webdav',
    name: 'WebDAV (nginx)',
    missing: notInstalled(programs.nginx),
    start: async () => {
      const server = await startNginx();
      const webdav = { url: server.url, ...login };
      return { source: { storageAdapter: 'webdav', webdav }, stop: () => server.stop() };
    },
  },
  {
    adapter: 'ftp',
    name: 'FTP (ProFTPD)',
    missing: notInstalled(hasProftpd),
    start: async () => {
      const server = await startFtp();
      return { source: { storageAdapter: 'ftp', ftp: server.options }, stop: () => server.stop() };
    },
  },
  {
    adapter: 'sftp',
    name: 'SFTP (OpenSSH)',
    missing: notInstalled(hasSshd),
    start: async () => {
      const server = await startSshd();
      return { source: { storageAdapter: 'sftp', sftp: server.options }, stop: () => server.stop() };
    },
  },
  {
    adapter: 'gcs',
    name: 'Google Cloud Storage (emulator)',
    missing: undefined,
    start: async () => {
      const server = await startGcs('trash');
      const { emulator, credentialsFile } = server;
      const gcs = { bucket: emulator.bucket, endpoint: emulator.endpoint, credentialsFile };
      return { source: { storageAdapter: 'gcs', gcs }, stop: () => server.stop() };
    },
  },
  {
    adapter: 'azure',
    name: 'Azure (Azurite)',
    missing: azuriteMissing,
    start: async () => {
      const server = await startAzurite();
      const { name: container } = await makeContainer(server);
      const { accountUrl, accountKey } = server;
      return {
        source: { storageAdapter: 'azure', azure: { container, accountUrl, accountKey } },
        stop: () => server.stop(),
      };
    },
  },
];
