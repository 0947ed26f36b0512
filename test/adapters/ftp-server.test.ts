import { once } from 'node:events';
import { readdir, readFile, symlink, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { buffer } from 'node:stream/consumers';
import { createApp } from 'stowage';
import { createClient } from 'stowage/client';
import { describe, expect, it, onTestFinished } from 'vitest';
import { silent } from '../protocol/service.ts';
import { at, codeOf, contentOf, itKeepsPaths, makeRoot as makeRootOn, usePathServer } from './path-stores.ts';
import { hasPyftpdlib, openFtpStore, startFtp, startPyftpdlib } from '../../tools/test-servers/ftp.ts';
import { hasProftpd } from '../../tools/test-servers/proftpd.ts';

describe.skipIf(!hasProftpd)(
  `the ftp adapter and its server${hasProftpd ? '' : ' (proftpd-core is not installed)'}`,
  () => {
    const inUse = usePathServer(startFtp, openFtpStore);
    const { open, makeRoot } = inUse;
    itKeepsPaths(inUse);

    it('knows a link by its own name, also where that is a pattern for other names', async () => {
      const folder = await makeRoot('patterns');
      const outside = await makeRoot('patterns-outside');
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

    it('gives back the connection of a download that its reader leaves', async () => {
      const folder = await makeRoot('left');
      const bytes = Buffer.alloc(8_000_000, 'stowage');
      await writeFile(join(folder, 'a.bin'), bytes);
      const store = open({ port: inUse.proxy.port, connections: 1, timeout: 5 }, 'left');
      for (let round = 0; round < 5; round += 1) {
        const { stream } = await store.read(at('a.bin'));
        await once(stream, 'readable');
        stream.destroy();
        const part = await store.read(at('a.bin'), { range: { start: 7, end: 13 } });
        expect((await buffer(part.stream)).toString()).toBe('stowage');
      }
      expect((await buffer((await store.read(at('a.bin'))).stream)).equals(bytes)).toBe(true);
      expect(inUse.proxy.open()).toBeLessThanOrEqual(1);
    });

    it('lets one of many writers of one connector have a name, in two sources on one folder too', async () => {
      await makeRoot('race');
      const ftp = { ...inUse.server.options, connections: 6 };
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
      const folder = join(inUse.server.data, 'race');
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
      const [album, other] = [await makeRootOn(server, 'album'), await makeRootOn(server, 'other')];
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
