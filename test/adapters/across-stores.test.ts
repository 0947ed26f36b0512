import { mkdtemp, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { createApp, type ConfigInput } from 'stowage';
import { createClient, type Client } from 'stowage/client';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { makeBucket, optionsFor } from '../../tools/test-servers/bucket.ts';
import { radosgwMissing, startRadosgw } from '../../tools/test-servers/radosgw.ts';
import { login, programs, startApache, startNginx } from '../../tools/test-servers/webdav.ts';

const nothing = (): void => undefined;
const logger = { debug: nothing, info: nothing, warn: nothing, error: nothing };

const missing =
  radosgwMissing ??
  (programs.apache && programs.nginx ? undefined : 'needs Apache and nginx, which are not installed');

const stores = ['disk', 'bucket', 'apache', 'nginx'] as const;
const pairs = stores.flatMap((from) => stores.filter((to) => to !== from).map((to) => [from, to] as const));

const large = Buffer.alloc(300_000, 'large ');

describe.skipIf(missing !== undefined)(
  `moves between real stores${missing === undefined ? '' : ` (${missing})`}`,
  () => {
    const endings: (() => Promise<unknown> | void)[] = [];
    let client: Client;

    const startStores = async (): Promise<ConfigInput['sources']> => {
      const root = await mkdtemp(join(tmpdir(), 'stowage-across-'));
      endings.push(() => rm(root, { recursive: true, force: true }));
      const gateway = await startRadosgw();
      endings.push(() => gateway.stop());
      const bucket = await makeBucket(gateway);
      endings.push(() => bucket.client.destroy());
      const [apache, nginx] = await Promise.all([startApache('basic'), startNginx()]);
      endings.push(
        () => apache.stop(),
        () => nginx.stop(),
      );
      const seen = { title: 'Files', baseurl: 'https://files.example/' };
      const dav = (url: string) => ({ ...seen, storageAdapter: 'webdav', webdav: { url, ...login } });
      return {
        disk: { ...seen, root },
        bucket: { ...seen, storageAdapter: 's3', s3: optionsFor(gateway, bucket.name, { prefix: 'files' }) },
        apache: dav(apache.url),
        nginx: dav(nginx.url),
      };
    };

    beforeAll(async () => {
      const app = createApp({ createThumb: false, sources: await startStores() }, {}, { logger });
      endings.push(() => app.close());
      const { port } = await app.listen(0, '127.0.0.1');
      client = createClient({ url: `http://127.0.0.1:${String(port)}` });
    });
    afterAll(async () => {
      for (const end of endings.reverse()) await end();
    });

    const namesIn = async (source: string, path: string): Promise<readonly string[]> => {
      const { sources } = await client.files({
        source,
        path,
        mods: { withFolders: true, sortBy: 'name-asc' },
      });
      return sources.flatMap(({ files }) => files.map(({ name }) => name));
    };

    it.each(pairs)('takes a folder and a file that are new from the %s to the %s', async (from, to) => {
      const name = `${from} to ${to}`;
      await client.folderCreate({ source: from, name });
      await client.folderCreate({ source: from, path: name, name: 'עמוק' });
      const files = [new File([large], 'large.txt'), new File(['small'], 'small.txt')];
      await client.fileUpload({ source: from, path: name, files });
      await client.fileUpload({ source: from, path: `${name}/עמוק`, files: [new File([''], 'empty.txt')] });
      await client.fileUpload({ source: from, files: [new File(['alone'], `${name}.txt`)] });

      await client.folderMove({ source: to, fromSource: from, from: name });
      await client.fileMove({ source: to, fromSource: from, from: `${name}.txt`, path: name });

      expect(await namesIn(to, name)).toEqual([`${name}.txt`, 'large.txt', 'small.txt', 'עמוק'].sort());
      expect(await namesIn(to, `${name}/עמוק`)).toEqual(['empty.txt']);
      const answer = await client.fileDownload({ source: to, path: name, name: 'large.txt' });
      expect(large.equals(Buffer.from(await answer.arrayBuffer()))).toBe(true);
      const left = await namesIn(from, '');
      expect(left).not.toContain(name);
      expect(left).not.toContain(`${name}.txt`);
    });
  },
);
