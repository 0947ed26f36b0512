import { chown, mkdir, readdir, readFile, symlink, writeFile } from 'node:fs/promises';
import { once } from 'node:events';
import { join } from 'node:path';
import { Readable } from 'node:stream';
import { buffer } from 'node:stream/consumers';
import { createApp } from 'stowage';
import { createClient } from 'stowage/client';
import { SourcePath } from 'stowage/storage';
import { afterAll, afterEach, beforeAll, describe, expect, it, onTestFinished } from 'vitest';
import type { FtpAdapter } from '../../dist/adapters/ftp/adapter.js';
import { silent } from '../protocol/service.ts';
import { hasPyftpdlib, openFtpStore, startFtp, startPyftpdlib, type FtpServer } from './servers/ftp.ts';
import { runner } from './servers/programs.ts';
import { hasProftpd } from './servers/proftpd.ts';
import { startTcpProxy, type TcpProxy } from './servers/tcp-proxy.ts';

const at = (text: string): SourcePath => SourcePath.parse(text);
const contentOf = (text: string): Readable => Readable.from([Buffer.from(text)], { objectMode: false });

const codeOf = async (failing: Promise<unknown>): Promise<string | undefined> => {
  const error: unknown = await failing.then(
    () => undefined,
    (reason: unknown) => reason,
  );
  return (error as { readonly code?: string } | undefined)?.code;
};

const makeRoot = async (server: FtpServer, name: string): Promise<string> => {
  const folder = join(server.data, name);
  await mkdir(folder);
  if (process.getuid?.() === 0) await chown(folder, runner.uid, runner.gid);
  return folder;
};

const namesIn = async (store: FtpAdapter, folder = ''): Promise<readonly string[]> => {
  const names: string[] = [];
  for await (const page of store.list(at(folder))) names.push(...page.map(({ name }) => name));
  return names.sort();
};

describe.skipIf(!hasProftpd)(
  `the ftp adapter and its server${hasProftpd ? '' : ' (proftpd-core is not installed)'}`,
  () => {
    let server: FtpServer;
    let proxy: TcpProxy;
    const stores: FtpAdapter[] = [];
    beforeAll(async () => {
      server = await startFtp();
      proxy = await startTcpProxy(server.options.port);
    });
    afterEach(async () => {
      await Promise.all(stores.splice(0).map((store) => store.close()));
    });
    afterAll(async () => {
      await proxy?.close();
      await server?.stop();
    });
    const open = (options: object = {}, root = ''): FtpAdapter => {
      const store = openFtpStore(server, options, root);
      stores.push(store);
      return store;
    };

    it('never follows links of the server, whose targets stay as they are', async () => {
      const [inside, outside] = [await makeRoot(server, 'inside'), await makeRoot(server, 'outside')];
      await writeFile(join(outside, 'secret.txt'), 'secret', { mode: 0o666 });
      await symlink(outside, join(inside, 'folder'));
      await symlink(join(outside, 'secret.txt'), join(inside, 'file.txt'));
      await symlink('/etc/passwd', join(inside, 'passwd'));
      const store = open({}, 'inside');
      let omitted = 0;
      for await (const page of store.list(SourcePath.root, { onOmitted: (count) => (omitted += count) }))
        expect(page).toEqual([]);
      expect(omitted).toBe(3);
      for (const path of ['file.txt', 'folder', 'folder/secret.txt', 'passwd']) {
        expect(await codeOf(store.stat(at(path))), path).toBe('NOT_FOUND');
        expect(await codeOf(store.read(at(path))), path).toBe('NOT_FOUND');
        expect(await codeOf(store.removeFile(at(path))), path).toBe('NOT_FOUND');
        expect(await codeOf(store.copyFile(at(path), at('copy'))), path).toBe('NOT_FOUND');
        expect(await codeOf(store.moveFile(at(path), at('moved'))), path).toBe('NOT_FOUND');
      }
      for (const path of ['folder/new.txt', 'folder/deep/new.txt'])
        expect(await codeOf(store.write(at(path), contentOf('new'))), path).toBe('NOT_FOUND');
      for (const path of ['file.txt', 'folder'])
        expect(await codeOf(store.write(at(path), contentOf('new'))), path).toBe('WRONG_KIND');
      expect(await codeOf(store.makeFolder(at('folder/new')))).toBe('NOT_FOUND');
      expect(await codeOf(store.removeFolder(at('folder')))).toBe('NOT_FOUND');
      expect(await codeOf(namesIn(store, 'folder'))).toBe('NOT_FOUND');
      // Links go with the folder that holds them.
      await open().removeFolder(at('inside'));
      expect(await readdir(outside)).toEqual(['secret.txt']);
      expect(await readFile(join(outside, 'secret.txt'), 'utf8')).toBe('secret');
      expect(await readdir(server.data)).not.toContain('inside');
      // The directory of the options may be one.
      await symlink(outside, join(server.data, 'link'));
      expect(await namesIn(open({ directory: join(server.data, 'link') }))).toEqual(['secret.txt']);
      expect(await codeOf(open({}, 'link').stat(SourcePath.root))).toBe('STORAGE_UNAVAILABLE');
    });

    it('knows a link by its own name, also where that is a pattern for other names', async () => {
      const folder = await makeRoot(server, 'patterns');
      const outside = await makeRoot(server, 'patterns-outside');
      await writeFile(join(outside, 'secret.txt'), 'secret', { mode: 0o666 });
      for (const name of ['a[1].txt', 'b.txt', 'c[1].txt', 'd e*.txt'])
        await symlink(join(outside, 'secret.txt'), join(folder, name));
      for (const name of ['a1.txt', '[b].txt']) await writeFile(join(folder, name), 'own');
      const store = open({}, 'patterns');
      for (const name of ['a[1].txt', 'c[1].txt', 'd e*.txt'])
        expect(await codeOf(store.read(at(name))), name).toBe('NOT_FOUND');
      expect(await codeOf(store.write(at('a[1].txt'), contentOf('new')))).toBe('WRONG_KIND');
      for (const name of ['a1.txt', '[b].txt'])
        expect((await buffer((await store.read(at(name))).stream)).toString(), name).toBe('own');
    });

    it('removes what a killed process has left long ago, and leaves what may be in use', async () => {
      const folder = await makeRoot(server, 'leftovers');
      const nameAt = (time: number): string => {
        const hex = time.toString(16).padStart(12, '0');
        return `.${hex.slice(0, 8)}-${hex.slice(8)}-7000-8000-000000000000.tmp`;
      };
      const young = nameAt(Date.now());
      for (const name of [nameAt(1_700_000_000_000), young]) await writeFile(join(folder, name), 'left');
      await mkdir(join(folder, nameAt(1_600_000_000_000)));
      const store = open({}, 'leftovers');
      expect(await namesIn(store)).toEqual([]);
      await expect.poll(() => readdir(folder)).toEqual([young]);
      expect(await codeOf(store.read(at(young)))).toBe('NOT_FOUND');
    });

    it('gives back the connection of a download that its reader leaves', async () => {
      const folder = await makeRoot(server, 'left');
      const bytes = Buffer.alloc(8_000_000, 'stowage');
      await writeFile(join(folder, 'a.bin'), bytes);
      const store = open({ port: proxy.port, connections: 1, timeout: 5 }, 'left');
      for (let round = 0; round < 5; round += 1) {
        const { stream } = await store.read(at('a.bin'));
        await once(stream, 'readable');
        stream.destroy();
        const part = await store.read(at('a.bin'), { range: { start: 7, end: 13 } });
        expect((await buffer(part.stream)).toString()).toBe('stowage');
      }
      expect((await buffer((await store.read(at('a.bin'))).stream)).equals(bytes)).toBe(true);
      expect(proxy.open()).toBeLessThanOrEqual(1);
    });

    it('loses its connection in the midst of an upload: an error, nothing left, and the next request works', async () => {
      const folder = await makeRoot(server, 'cut');
      await writeFile(join(folder, 'old.txt'), 'old');
      const store = open({ port: proxy.port }, 'cut');
      for (const name of ['old.txt', 'new.txt']) {
        const content = new Readable({ read: () => undefined });
        const writing = codeOf(store.write(at(name), content));
        content.push(Buffer.alloc(300_000));
        await expect.poll(async () => (await readdir(folder)).length).toBe(2);
        proxy.cut();
        content.push(Buffer.alloc(300_000));
        content.push(null);
        expect(await writing).toBe('STORAGE_UNAVAILABLE');
        expect(await namesIn(store)).toEqual(['old.txt']);
        await expect.poll(() => readdir(folder)).toEqual(['old.txt']);
      }
      expect(await readFile(join(folder, 'old.txt'), 'utf8')).toBe('old');
    });

    it('lets one of many writers of one connector have a name, in two sources on one folder too', async () => {
      await makeRoot(server, 'race');
      const ftp = { ...server.options, connections: 6 };
      const source = { title: 'Files', serve: 'public', storageAdapter: 'ftp', root: 'race', ftp } as const;
      const app = createApp({ sources: { one: source, two: source } }, {}, { logger: silent });
      onTestFinished(() => app.close());
      const { port } = await app.listen(0, '127.0.0.1');
      const client = createClient({ url: `http://127.0.0.1:${String(port)}` });
      for (let round = 0; round < 8; round += 1) {
        const name = `folder-${String(round)}`;
        const upload = (index: number) =>
          client.fileUpload({
            source: index % 2 === 0 ? 'one' : 'two',
            files: [new File([`${String(round)}: ${String(index)}`], `${name}.txt`)],
          });
        await Promise.all(Array.from({ length: 6 }, (_, index) => upload(index)));
      }
      const folder = join(server.data, 'race');
      const stored = await Promise.all(
        (await readdir(folder)).map((name) => readFile(join(folder, name), 'utf8')),
      );
      // Nothing was replaced: what came second has a name of its own.
      expect(new Set(stored).size).toBe(48);
    });
  },
);

describe.skipIf(!hasPyftpdlib)(
  `a server that shows links as what they lead to${hasPyftpdlib ? '' : ' (python3-pyftpdlib is not installed)'}`,
  () => {
    it('keeps what a link in a removed folder leads to', async () => {
      const server = await startPyftpdlib();
      onTestFinished(() => server.stop());
      const [album, other] = [await makeRoot(server, 'album'), await makeRoot(server, 'other')];
      await writeFile(join(other, 'kept.txt'), 'kept');
      await symlink('../other', join(album, 'link'));
      const store = openFtpStore(server);
      onTestFinished(() => store.close());
      await store.removeFolder(at('album'));
      expect(await readdir(server.data)).toEqual(['other']);
      expect(await readdir(other)).toEqual(['kept.txt']);
    });
  },
);
