import { createApp } from 'stowage';
import { createClient, type Client } from 'stowage/client';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { azuriteMissing, makeContainer, startAzurite } from '../../tools/test-servers/azurite.ts';
import { makeBucket, optionsFor } from '../../tools/test-servers/bucket.ts';
import { startFtp } from '../../tools/test-servers/ftp.ts';
import { startGcs } from '../../tools/test-servers/gcs-login.ts';
import { hasProftpd } from '../../tools/test-servers/proftpd.ts';
import { radosgwMissing, startRadosgw } from '../../tools/test-servers/radosgw.ts';
import { hasSshd, startSshd } from '../../tools/test-servers/ssh.ts';
import { login, programs, startApache, startNginx } from '../../tools/test-servers/webdav.ts';

const nothing = (): void => undefined;
const logger = { debug: nothing, info: nothing, warn: nothing, error: nothing };

interface Store {
  readonly name: string;
  readonly missing: string | undefined;
  readonly start: () => Promise<{ readonly source: object; readonly stop: () => unknown }>;
}

const notInstalled = (isThere: boolean): string | undefined => (isThere ? undefined : 'not installed');

const stores: readonly Store[] = [
  {
    name: 'memory',
    missing: undefined,
    start: () => Promise.resolve({ source: { storageAdapter: 'memory' }, stop: nothing }),
  },
  {
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
    name: 'WebDAV (Apache)',
    missing: notInstalled(programs.apache),
    start: async () => {
      const server = await startApache('basic');
      const webdav = { url: server.url, ...login };
      return { source: { storageAdapter: 'webdav', webdav }, stop: () => server.stop() };
    },
  },
  {
    name: 'WebDAV (nginx)',
    missing: notInstalled(programs.nginx),
    start: async () => {
      const server = await startNginx();
      const webdav = { url: server.url, ...login };
      return { source: { storageAdapter: 'webdav', webdav }, stop: () => server.stop() };
    },
  },
  {
    name: 'FTP (ProFTPD)',
    missing: notInstalled(hasProftpd),
    start: async () => {
      const server = await startFtp();
      return { source: { storageAdapter: 'ftp', ftp: server.options }, stop: () => server.stop() };
    },
  },
  {
    name: 'SFTP (OpenSSH)',
    missing: notInstalled(hasSshd),
    start: async () => {
      const server = await startSshd();
      return { source: { storageAdapter: 'sftp', sftp: server.options }, stop: () => server.stop() };
    },
  },
  {
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

describe.each(stores)('the trash on $name', ({ missing, start }) => {
  const reason = missing === undefined ? '' : ` (${missing})`;

  describe.skipIf(missing !== undefined)(`with a store that is there${reason}`, () => {
    const endings: (() => unknown)[] = [];
    let client: Client;

    beforeAll(async () => {
      const { source, stop } = await start();
      endings.push(stop);
      const files = { title: 'Files', baseurl: 'https://files.example/', ...source };
      const settings = {
        createThumb: false,
        saveSameFileNameStrategy: 'replace',
        trash: { keepReplaced: true },
      } as const;
      const app = createApp({ ...settings, sources: { files } }, {}, { logger });
      endings.push(() => app.close());
      const { port } = await app.listen(0, '127.0.0.1');
      client = createClient({ url: `http://127.0.0.1:${String(port)}` });
    });
    afterAll(async () => {
      for (const end of endings.reverse()) await end();
    });

    const namesIn = async (path: string): Promise<readonly string[]> => {
      const { sources } = await client.files({ path, mods: { withFolders: true, sortBy: 'name-asc' } });
      return sources.flatMap(({ files }) => files.map(({ name }) => name));
    };
    const textOf = async (path: string, name: string): Promise<string> =>
      (await client.fileDownload({ path, name })).text();
    const idOf = async (name: string): Promise<string> => {
      const { items } = await client.trashList();
      return items.find((item) => item.name === name)?.id ?? '';
    };

    it('takes and gives back files and folders, hides them meanwhile, and forgets them', async () => {
      await client.folderCreate({ name: 'alben' });
      await client.folderCreate({ path: 'alben', name: 'עמוק' });
      await client.fileUpload({
        path: 'alben',
        files: [new File(['one'], 'one.txt'), new File(['two'], 'zwei ü.txt')],
      });
      await client.fileUpload({ path: 'alben/עמוק', files: [new File(['three'], 'three.txt')] });

      await client.fileRemove({ path: 'alben', name: 'zwei ü.txt' });
      await client.folderRemove({ name: 'alben' });
      expect(await namesIn('')).toEqual([]);
      const { items } = await client.trashList();
      expect(items.map(({ name, path, bytes }) => [name, path, bytes])).toEqual([
        ['alben', '/', 8],
        ['zwei ü.txt', 'alben', 3],
      ]);

      await client.trashRestore({ id: await idOf('alben') });
      await client.trashRestore({ id: await idOf('zwei ü.txt') });
      expect(await namesIn('alben')).toEqual(['one.txt', 'zwei ü.txt', 'עמוק'].sort());
      expect(await textOf('alben/עמוק', 'three.txt')).toBe('three');
      expect(await textOf('alben', 'zwei ü.txt')).toBe('two');
      expect((await client.trashList()).items).toEqual([]);
    });

    it('keeps what is replaced, numbers what comes back, and can be emptied', async () => {
      await client.fileUpload({ files: [new File(['old'], 'a.txt')] });
      await client.fileUpload({ files: [new File(['new'], 'a.txt')] });
      expect(await textOf('', 'a.txt')).toBe('new');
      expect(await client.trashRestore({ id: await idOf('a.txt') })).toMatchObject({ name: 'a (1).txt' });
      expect(await textOf('', 'a (1).txt')).toBe('old');
      await client.fileRemove({ name: 'a.txt' });
      await client.fileRemove({ name: 'a (1).txt' });
      await client.trashRemove({ id: await idOf('a.txt') });
      expect(await client.trashEmpty()).toMatchObject({ removed: 1 });
      expect((await client.trashList()).items).toEqual([]);
    });
  });
});
