import { mkdtemp, readdir, rename, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { DeleteBucketCommand, DeleteObjectCommand } from '@aws-sdk/client-s3';
import { createApp } from 'stowage';
import { describe, expect, it, onTestFinished, vi } from 'vitest';
import {
  azuriteMissing,
  makeContainer,
  startAzurite,
  startAzuriteProxy,
} from '../../tools/test-servers/azurite.ts';
import { makeBucket, optionsFor } from '../../tools/test-servers/bucket.ts';
import { FaultProxy } from '../../tools/test-servers/fault-proxy.ts';
import { startFtp } from '../../tools/test-servers/ftp.ts';
import { hasProftpd } from '../../tools/test-servers/proftpd.ts';
import { radosgwMissing, startRadosgw } from '../../tools/test-servers/radosgw.ts';
import { hasSshd, startSshd } from '../../tools/test-servers/ssh.ts';
import { DavStub } from '../../tools/test-servers/webdav-stub.ts';
import { login, programs, startNginx } from '../../tools/test-servers/webdav.ts';
import { formOf, silent } from '../protocol/service.ts';

/** A store whose root can be taken away. */
interface Removable {
  readonly storageAdapter: string;
  readonly options?: object;
  readonly root?: string;
  readonly take: () => Promise<unknown> | void;
  /** Absent where what was taken away is gone for good. */
  readonly bring?: () => Promise<unknown> | void;
  /** What lies where the root was. */
  readonly remains?: () => Promise<unknown>;
}

const endWith = <Server extends { stop(): Promise<unknown> }>(server: Server): Server => {
  onTestFinished(async () => void (await server.stop()));
  return server;
};

/** Moves a folder away and back. */
const movable = (folder: string) => {
  const away = `${folder}-away`;
  return {
    take: () => rename(folder, away),
    bring: () => rename(away, folder),
    remains: () => readdir(folder).catch(() => undefined),
  };
};

/** Answers 404 to everything, for a while. */
const deaf = (proxy: FaultProxy) => {
  onTestFinished(() => proxy.close());
  return {
    take: () => proxy.fail({ operation: '*', effect: { kind: 'answer', status: 404 } }),
    bring: () => proxy.reset(),
  };
};

const openDav = async (): Promise<Removable> => {
  const server = await DavStub.start();
  onTestFinished(() => server.close());
  const proxy = await FaultProxy.start(server.url, ({ method = '' }) => method);
  const url = proxy.endpoint + new URL(server.url).pathname;
  return { storageAdapter: 'webdav', options: { url }, ...deaf(proxy) };
};

const stores: Readonly<Record<string, readonly [missing: unknown, open: () => Promise<Removable>]>> = {
  'a local folder': [
    undefined,
    async () => {
      const base = await mkdtemp(join(tmpdir(), 'stowage-roots-'));
      onTestFinished(() => rm(base, { recursive: true }));
      const root = join(base, 'root');
      return { storageAdapter: 'local', root, ...movable(root) };
    },
  ],
  'a folder by SFTP': [
    !hasSshd,
    async () => {
      const { options, data } = endWith(await startSshd());
      return { storageAdapter: 'sftp', options, ...movable(data) };
    },
  ],
  'a folder below a directory by SFTP': [
    !hasSshd,
    async () => {
      const { options, data } = endWith(await startSshd());
      return { storageAdapter: 'sftp', options, root: 'deep/root', ...movable(join(data, 'deep')) };
    },
  ],
  'a folder by FTP': [
    !hasProftpd,
    async () => {
      const { options, data } = endWith(await startFtp());
      return { storageAdapter: 'ftp', options, ...movable(data) };
    },
  ],
  'a collection on nginx': [
    !programs.nginx,
    async () => {
      const { url, data } = endWith(await startNginx());
      const options = { url: `${url}root/`, ...login };
      const authorization = `Basic ${btoa(`${login.username}:${login.password}`)}`;
      await fetch(options.url, { method: 'MKCOL', headers: { authorization } });
      return { storageAdapter: 'webdav', options, ...movable(join(data, 'root')) };
    },
  ],
  'a WebDAV server behind a proxy that finds nothing': [undefined, openDav],
  'a bucket that is deleted': [
    radosgwMissing,
    async () => {
      const server = endWith(await startRadosgw());
      const bucket = await makeBucket(server);
      const { name: Bucket, client } = bucket;
      const take = async (): Promise<void> => {
        for (const Key of await bucket.keys('')) await client.send(new DeleteObjectCommand({ Bucket, Key }));
        await client.send(new DeleteBucketCommand({ Bucket }));
        client.destroy();
      };
      return { storageAdapter: 's3', options: optionsFor(server, Bucket), take };
    },
  ],
  'a bucket behind a proxy that finds nothing': [
    radosgwMissing,
    async () => {
      const server = endWith(await startRadosgw());
      const { name, client } = await makeBucket(server);
      onTestFinished(() => client.destroy());
      const proxy = await FaultProxy.start(server.endpoint, ({ method = '' }) => method);
      const { endpoint } = proxy;
      return { storageAdapter: 's3', options: optionsFor(server, name, { endpoint }), ...deaf(proxy) };
    },
  ],
  'a container behind a proxy that finds nothing': [
    azuriteMissing,
    async () => {
      const server = endWith(await startAzurite());
      const { name } = await makeContainer(server);
      const proxy = await startAzuriteProxy(server);
      const accountUrl = proxy.endpoint + new URL(server.accountUrl).pathname;
      const options = { container: name, accountUrl, accountKey: server.accountKey };
      return { storageAdapter: 'azure', options, ...deaf(proxy) };
    },
  ],
};

describe('a source whose root is missing', () => {
  const cases = Object.entries(stores).map(([name, [missing, open]]) => ({ name, missing, open }));
  it.for(cases)('is out of reach, and holds up no other: $name', async ({ missing, open }, { skip }) => {
    skip(missing !== undefined && missing !== false, 'not installed');
    const { storageAdapter, options, root, take, bring, remains } = await open();
    const app = createApp(
      {
        sources: {
          near: { title: 'Near', storageAdapter: 'memory', baseurl: 'https://near.test/' },
          far: {
            title: 'Far',
            storageAdapter,
            baseurl: 'https://far.test/',
            trash: {},
            ...(root === undefined ? {} : { root }),
            ...(options === undefined ? {} : { [storageAdapter]: options }),
          },
        },
      },
      {},
      { logger: silent },
    );
    onTestFinished(() => app.close());
    const call = async (query: string, body?: FormData) => {
      const init = body === undefined ? {} : { method: 'POST', body };
      const answer = await app.fetch(new Request(`http://service/${query}`, init));
      const { data } = (await answer.json()) as { data: Record<string, unknown> };
      return { status: answer.status, ...data };
    };
    const upload = (path: string) =>
      call('fileUpload', formOf([['files[0]', 'a.txt', 'content']], { source: 'far', path }));
    expect((await upload('')).status).toBe(200);
    expect((await call('folderCreate?source=far&name=sub')).status).toBe(200);
    expect((await upload('sub')).status).toBe(200);
    expect((await call('fileDownload?source=far&name=gone.txt')).status).toBe(404);
    expect((await call('folderCreate?source=near&name=here')).status).toBe(200);

    await take();
    for (const asked of [
      'files?source=far',
      'folders?source=far&path=sub',
      'files?source=far&path=sub',
      'fileDownload?source=far&name=a.txt',
      'fileRemove?source=far&path=sub&name=a.txt',
      'folderRemove?source=far&name=sub',
      'fileRename?source=far&name=a.txt&newname=b.txt',
      'fileMove?source=far&from=a.txt&path=sub',
      'folderCreate?source=far&name=new',
      'trashList?source=far',
    ])
      expect([asked, (await call(asked)).status]).toEqual([asked, 500]);
    expect((await upload('')).status).toBe(500);
    expect((await upload('sub')).status).toBe(500);
    expect(await call('files?mods[withFolders]=true')).toMatchObject({
      status: 200,
      sources: [{ name: 'near', files: [{ file: 'here' }] }],
      messages: ['The source "Far" cannot be reached now.'],
    });
    expect(await call('folders')).toMatchObject({ status: 200, sources: [{ name: 'near' }] });
    expect(await remains?.()).toBeUndefined();

    if (bring === undefined) return;
    await bring();
    const file = await app.fetch(new Request('http://service/fileDownload?source=far&path=sub&name=a.txt'));
    expect([file.status, await file.text()]).toEqual([200, 'content']);
    expect(await call('trashList?source=far')).toMatchObject({ status: 200 });
    expect((await call('fileDownload?source=far&name=gone.txt')).status).toBe(404);
  });
});

it('is out of reach also while a clock that was set back catches up', async () => {
  vi.useFakeTimers({ toFake: ['Date'] });
  onTestFinished(() => void vi.useRealTimers());
  const { options, storageAdapter, take } = await openDav();
  const far = {
    title: 'Far',
    storageAdapter,
    baseurl: 'https://far.test/',
    ...(options === undefined ? {} : { [storageAdapter]: options }),
  };
  const app = createApp({ sources: { far } }, {}, { logger: silent });
  onTestFinished(() => app.close());
  const missing = async (): Promise<number> =>
    (await app.fetch(new Request('http://service/fileDownload?name=gone.txt'))).status;
  const now = Date.now();
  vi.setSystemTime(now + 3_600_000);
  expect(await missing()).toBe(404);
  vi.setSystemTime(now);
  // Each second a few checks are made anew.
  for (let turn = 0; turn < 40; turn += 1) expect(await missing()).toBe(404);
  await take();
  await expect.poll(missing, { timeout: 5000 }).toBe(500);
});
