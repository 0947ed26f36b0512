import { randomBytes } from 'node:crypto';
import { mkdtemp, readdir, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { createApp, HttpError } from 'stowage';
import { describe, expect, it, onTestFinished } from 'vitest';
import { mostly } from '../before-release.ts';
import { create, offsetOf, patch, sendAndCut } from '../protocol/tus-client.ts';
import { silent } from '../protocol/service.ts';
import { makeBucket, optionsFor } from '../../tools/test-servers/bucket.ts';
import { startFtp } from '../../tools/test-servers/ftp.ts';
import { startGcs } from '../../tools/test-servers/gcs-login.ts';
import { hasProftpd } from '../../tools/test-servers/proftpd.ts';
import { radosgwMissing, startRadosgw } from '../../tools/test-servers/radosgw.ts';
import { hasSshd, startSshd } from '../../tools/test-servers/ssh.ts';
import { login, programs, startNginx } from '../../tools/test-servers/webdav.ts';

interface Store {
  readonly name: string;
  readonly missing: string | undefined;
  readonly start: () => Promise<object>;
}

const stores: readonly Store[] = [
  {
    name: 'S3 (radosgw)',
    missing: radosgwMissing,
    start: async () => {
      const gateway = await startRadosgw();
      const bucket = await makeBucket(gateway);
      onTestFinished(async () => {
        bucket.client.destroy();
        await gateway.stop();
      });
      return { storageAdapter: 's3', s3: optionsFor(gateway, bucket.name, { prefix: 'files' }) };
    },
  },
  {
    name: 'WebDAV (nginx)',
    missing: programs.nginx ? undefined : 'nginx is not installed',
    start: async () => {
      const server = await startNginx();
      onTestFinished(() => server.stop());
      return { storageAdapter: 'webdav', webdav: { url: server.url, ...login } };
    },
  },
  {
    name: 'FTP (ProFTPD)',
    missing: hasProftpd ? undefined : 'ProFTPD is not installed',
    start: async () => {
      const server = await startFtp();
      onTestFinished(() => server.stop());
      return { storageAdapter: 'ftp', ftp: server.options };
    },
  },
  {
    name: 'SFTP (OpenSSH)',
    missing: hasSshd ? undefined : 'OpenSSH is not installed',
    start: async () => {
      const server = await startSshd();
      onTestFinished(() => server.stop());
      return { storageAdapter: 'sftp', sftp: server.options };
    },
  },
  {
    name: 'Google Cloud Storage (emulator)',
    missing: undefined,
    start: async () => {
      const server = await startGcs('uploads');
      onTestFinished(() => server.stop());
      const { emulator, credentialsFile } = server;
      const gcs = { bucket: emulator.bucket, endpoint: emulator.endpoint, credentialsFile };
      return { storageAdapter: 'gcs', gcs };
    },
  },
];

const MB = 1 << 20;

describe.each(mostly(1, stores))('uploads in parts to $name', ({ missing, start }) => {
  const reason = missing === undefined ? '' : ` (${missing})`;

  it.skipIf(missing !== undefined)(
    `arrive whole however often they are cut, wait on the local disk, and end like any upload${reason}`,
    async () => {
      const files = { title: 'Files', baseurl: 'https://files.example/', ...(await start()) };
      const stateDirectory = await mkdtemp(join(tmpdir(), 'stowage-tus-stores-'));
      onTestFinished(() => rm(stateDirectory, { recursive: true, force: true }));
      const events: unknown[] = [];
      const app = createApp(
        {
          createThumb: false,
          maxUploadFileSize: '50mb',
          quota: { bytes: 20 * MB },
          tus: {},
          stateDirectory,
          sources: { files },
        },
        {
          beforeEvent: ({ path }) => {
            if (path === 'refused.txt') throw new HttpError(402, 'Please pay.');
          },
          onEvent: ({ type, path, bytes }) => void events.push([type, path, bytes]),
        },
        { logger: silent },
      );
      onTestFinished(() => app.close());
      const { port } = await app.listen(0, '127.0.0.1');
      const url = `http://127.0.0.1:${String(port)}`;
      const names = async (): Promise<string[]> => {
        const answer = (await (await fetch(`${url}/files`)).json()) as {
          data: { sources: { files: { name: string }[] }[] };
        };
        return answer.data.sources.flatMap((source) => source.files.map(({ name }) => name));
      };
      const kept = async (): Promise<string[]> =>
        (await readdir(stateDirectory, { recursive: true })).filter((name) => name.endsWith('/bytes'));

      const content = randomBytes(17 * MB);
      const { address } = await create(`${url}/tus`, content.length, { filename: 'large.txt' });
      let offset = 0;
      for (let cut = 0; cut < 6; cut += 1) {
        await sendAndCut(address, offset, content.subarray(offset), 2 * MB);
        const now = await offsetOf(address);
        expect(now).toBeGreaterThanOrEqual(offset);
        offset = now;
      }
      expect(offset).toBeGreaterThan(0);
      expect([await names(), (await kept()).length]).toEqual([[], 1]);
      const last = await patch(address, offset, content.subarray(offset));
      expect([last.status, last.data['files']]).toEqual([200, ['large.txt']]);
      await expect.poll(kept).toEqual([]);
      const download = await fetch(`${url}/fileDownload?name=large.txt`);
      expect(Buffer.from(await download.arrayBuffer()).equals(content)).toBe(true);
      expect(events).toEqual([['file.created', 'large.txt', content.length]]);

      const tooMuch = await create(`${url}/tus`, 4 * MB, { filename: 'more.txt' });
      expect([tooMuch.status, tooMuch.error]).toEqual([413, 'QUOTA_EXCEEDED']);
      // Each fits alone; the first keeps its room from its beginning.
      const one = await create(`${url}/tus`, 2 * MB, { filename: 'one.txt' });
      expect((await create(`${url}/tus`, 2 * MB, { filename: 'two.txt' })).status).toBe(413);
      expect((await patch(one.address, 0, content.subarray(0, 2 * MB))).status).toBe(200);
      const refused = await create(`${url}/tus`, 1, { filename: 'refused.txt' });
      expect((await patch(refused.address, 0, 'x')).status).toBe(402);
      expect([(await names()).sort(), await kept()]).toEqual([['large.txt', 'one.txt'], []]);
    },
    60_000,
  );
});
