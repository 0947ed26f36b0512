import { execFileSync } from 'node:child_process';
import { createHash } from 'node:crypto';
import { once } from 'node:events';
import { mkdir, readdir, readFile, rename, utimes, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { buffer } from 'node:stream/consumers';
import { SourcePath } from 'stowage/storage';
import { describe, expect, it } from 'vitest';
import { startService } from '../protocol/service.ts';
import { at, codeOf, contentOf, failureOf, itKeepsPaths, namesIn, usePathServer } from './path-stores.ts';
import { ownedByRunner } from '../../tools/test-servers/programs.ts';
import { hasProftpd, startProftpd } from '../../tools/test-servers/proftpd.ts';
import { hasSshd, makeKey, openSftpStore, startSshd } from '../../tools/test-servers/ssh.ts';

describe.skipIf(!hasSshd)(
  `the sftp adapter and its server${hasSshd ? '' : ' (openssh-server is not installed)'}`,
  () => {
    const inUse = usePathServer(startSshd, openSftpStore);
    const { open, makeRoot } = inUse;
    itKeepsPaths(inUse);

    it('lists and removes folders that lie deeper than requests can name, with accents in their names', async () => {
      const folder = await makeRoot('depths');
      let deep = folder;
      for (let depth = 0; depth < 110; depth += 1) {
        deep = join(deep, 'd');
        await mkdir(deep);
        await ownedByRunner(deep);
      }
      for (const name of ['\u00e9.txt', 'o\u0301.txt']) await writeFile(join(deep, name), 'deep');
      const store = open({}, 'depths');
      const below = Array.from({ length: 110 }).reduce<SourcePath>(
        (path) => path.below('d'),
        SourcePath.root,
      );
      const names: string[] = [];
      for await (const page of store.list(below)) names.push(...page.map(({ name }) => name));
      expect(names.sort()).toEqual(['\u00e9.txt', '\u00f3.txt']);
      await store.removeFolder(at('d'));
      expect(await readdir(folder)).toEqual([]);
    });

    const fingerprintOf = async (file: string): Promise<string> => {
      const blob = Buffer.from((await readFile(file, 'utf8')).split(' ')[1] ?? '', 'base64');
      return `SHA256:${createHash('sha256').update(blob).digest('base64').replace(/=+$/u, '')}`;
    };
    it('is refused with another host key, with no word of it but in the log', async () => {
      const other = await makeKey(inUse.server.base, 'other');
      const hostKey = await readFile(`${other}.pub`, 'utf8');
      const shown = await fingerprintOf(join(inUse.server.base, 'host.pub'));
      expect(await failureOf(open({ hostKey }).stat(SourcePath.root))).toEqual({
        code: 'STORAGE_UNAVAILABLE',
        detail: `the server has shown an unknown host key, ${shown}`,
      });
      const logged: string[] = [];
      const log = (...line: readonly unknown[]): void => void logged.push(JSON.stringify(line));
      const logger = { debug: log, info: log, warn: log, error: log };
      const source = { storageAdapter: 'sftp', root: '', sftp: { ...inUse.server.options, hostKey } };
      const service = await startService({ sources: { files: source } }, {}, logger);
      const answer = await service.call('fileRemove', { name: 'a.txt' });
      expect(answer.status).toBe(500);
      expect(JSON.stringify(answer.data)).not.toMatch(/127\.0\.0\.1|SHA256|key/u);
      expect(logged.join('\n')).toContain(shown);
    });

    it('is accepted by a fingerprint, by a list, and by hashed names of a file, and not when the key is revoked', async () => {
      const key = await readFile(join(inUse.server.base, 'host.pub'), 'utf8');
      const fingerprint = await fingerprintOf(join(inUse.server.base, 'host.pub'));
      const other = await readFile(`${await makeKey(inUse.server.base, 'second')}.pub`, 'utf8');
      for (const hostKey of [fingerprint, [other, key]])
        expect((await open({ hostKey }).stat(SourcePath.root)).kind).toBe('folder');

      const knownHostsFile = join(inUse.server.base, 'known_hosts');
      const name = `[127.0.0.1]:${String(inUse.server.options.port)}`;
      const stat = (): Promise<unknown> => open({ hostKey: undefined, knownHostsFile }).stat(SourcePath.root);
      await writeFile(knownHostsFile, `# comment\nelsewhere.example ${other}${name} ${key}`);
      execFileSync('ssh-keygen', ['-q', '-H', '-f', knownHostsFile], { stdio: 'ignore' });
      expect(await readFile(knownHostsFile, 'utf8')).not.toContain('127.0.0.1');
      await stat();
      for (const lines of [
        `127.0.0.1 ${key}`,
        `${name} ${other}`,
        `*,!${name} ${key}`,
        `${name} ${key}@revoked * ${key}`,
        '',
      ]) {
        await writeFile(knownHostsFile, lines);
        expect(await failureOf(stat()), lines).toMatchObject({ code: 'STORAGE_UNAVAILABLE' });
      }
    });

    it('takes an encrypted key from a file, and says what is wrong with it', async () => {
      const privateKeyFile = await makeKey(inUse.server.base, 'locked', 'open it');
      await writeFile(join(inUse.server.base, 'authorized'), await readFile(`${privateKeyFile}.pub`), {
        flag: 'a',
      });
      const given = { privateKey: undefined, privateKeyFile };
      await open({ ...given, passphrase: 'open it' }).stat(SourcePath.root);
      for (const wrong of [{}, { passphrase: 'wrong' }, { privateKeyFile: `${privateKeyFile}-no` }])
        expect(await failureOf(open({ ...given, ...wrong }).stat(SourcePath.root))).toMatchObject({
          code: 'STORAGE_UNAVAILABLE',
          detail: expect.stringMatching(/[Pp]rivate ?[Kk]ey/u) as string,
        });
      const stranger = await readFile(await makeKey(inUse.server.base, 'stranger'), 'utf8');
      expect(await failureOf(open({ privateKey: stranger }).stat(SourcePath.root))).toMatchObject({
        code: 'STORAGE_DENIED',
      });
    });

    it('leaves out names that are no text, and keeps a folder that it cannot remove for them', async () => {
      const folder = await makeRoot('bytes');
      await writeFile(Buffer.concat([Buffer.from(`${folder}/b`), Buffer.from([0xff, 0xfe])]), 'x');
      await writeFile(join(folder, 'a.txt'), 'a');
      const store = open();
      let omitted = 0;
      for await (const page of store.list(at('bytes'), { onOmitted: (count) => (omitted += count) }))
        expect(page.map(({ name }) => name)).toEqual(['a.txt']);
      expect(omitted).toBe(1);
      expect(await failureOf(store.write(at('bytes/\uFFFD.txt'), contentOf('x')))).toMatchObject({
        code: 'UNSAFE_NAME',
      });
      expect(await failureOf(store.removeFolder(at('bytes')))).toMatchObject({ code: 'STORAGE_DENIED' });
      expect(await readdir(folder)).toHaveLength(1);
    });

    it('lets one of many writers of two connectors have a name', async () => {
      const folder = await makeRoot('race');
      const [one, two] = [open({}, 'race'), open({}, 'race')];
      const winners: string[] = [];
      for (let round = 0; round < 15; round += 1) {
        const path = at(`${String(round)}.txt`);
        await Promise.all(
          Array.from({ length: 6 }, async (_, index) => {
            const store = index % 2 === 0 ? one : two;
            const text = `${String(round)}: ${String(index)}`;
            const outcome = await codeOf(store.write(path, contentOf(text), { createOnly: true }));
            if (outcome === undefined) winners.push(text);
            else expect(outcome).toBe('ALREADY_EXISTS');
          }),
        );
      }
      expect(winners).toHaveLength(15);
      const stored = await Promise.all(
        (await readdir(folder)).map((name) => readFile(join(folder, name), 'utf8')),
      );
      expect(stored.sort()).toEqual(winners.sort());
    });

    it('does not make its root again: what is mounted there may be away', async () => {
      const store = open({}, 'gone');
      const folder = join(inUse.server.data, 'gone');
      await store.write(at('a.txt'), contentOf('a'));
      await rename(folder, `${folder}-away`);
      expect(await codeOf(store.write(at('b.txt'), contentOf('b')))).toBe('NOT_FOUND');
      expect(await codeOf(store.checkRoot())).toBe('NOT_FOUND');
      await rename(`${folder}-away`, folder);
      await store.checkRoot();
      expect(await namesIn(store)).toEqual(['a.txt']);
    });

    it('loses its connection in the midst of a download: an error, and the next one is whole', async () => {
      const folder = await makeRoot('cut-read');
      const bytes = Buffer.alloc(4_000_000, 'stowage');
      await writeFile(join(folder, 'a.bin'), bytes);
      const store = open({ port: inUse.proxy.port }, 'cut-read');
      const { stream } = await store.read(at('a.bin'));
      await once(stream, 'readable');
      inUse.proxy.cut();
      expect(await failureOf(buffer(stream))).toMatchObject({ code: 'STORAGE_UNAVAILABLE' });
      expect((await buffer((await store.read(at('a.bin'))).stream)).equals(bytes)).toBe(true);
    });

    it('gives up a server that says nothing, and lets a request be given up before', async () => {
      await makeRoot('silent');
      const store = open({ port: inUse.proxy.port, timeout: 3 }, 'silent');
      await store.write(at('a.txt'), contentOf('a'));
      inUse.proxy.stall();
      const abort = new AbortController();
      const aborted = store.stat(at('a.txt'), { signal: abort.signal });
      const silent = failureOf(store.stat(at('a.txt')));
      abort.abort(new Error('enough'));
      await expect(aborted).rejects.toThrow('enough');
      expect((await silent).code).toMatch(/^STORAGE_(?:TIMEOUT|UNAVAILABLE)$/u);
      await expect.poll(() => inUse.proxy.open()).toBe(0);
      inUse.proxy.cut();
      expect((await store.stat(at('a.txt'))).size).toBe(1);
    });

    it('closes unused connections, and all of them at its end', async () => {
      const store = open({ port: inUse.proxy.port, idleTimeout: 0.2, connections: 3 });
      await Promise.all(Array.from({ length: 12 }, () => store.stat(SourcePath.root)));
      expect(inUse.proxy.open()).toBeGreaterThan(0);
      expect(inUse.proxy.open()).toBeLessThanOrEqual(3);
      await expect.poll(() => inUse.proxy.open()).toBe(0);
      const reading = store.list(SourcePath.root)[Symbol.asyncIterator]();
      await reading.next();
      await store.close();
      await expect.poll(() => inUse.proxy.open()).toBe(0);
      expect(await failureOf(store.stat(SourcePath.root))).toMatchObject({ code: 'STORAGE_UNAVAILABLE' });
    });

    it('keeps the other file when a reader of an old time meets a new one', async () => {
      const folder = await makeRoot('times');
      const store = open({}, 'times');
      await store.write(at('a.txt'), contentOf('one'));
      const seen = await store.stat(at('a.txt'));
      await utimes(join(folder, 'a.txt'), new Date(1e12), new Date(1e12));
      expect(await failureOf(store.removeFile(at('a.txt'), { ifUnchanged: seen }))).toMatchObject({
        code: 'CHANGED_MEANWHILE',
      });
      expect(await namesIn(store)).toEqual(['a.txt']);
    });
  },
);

describe.skipIf(!hasProftpd)(
  `a login with a password${hasProftpd ? '' : ' (proftpd-mod-crypto is not installed)'}`,
  () => {
    it('is refused when it is wrong', async () => {
      const server = await startProftpd();
      const [right, wrong] = [openSftpStore(server), openSftpStore(server, { password: 'wrong' })];
      expect((await right.stat(SourcePath.root)).kind).toBe('folder');
      expect(await failureOf(wrong.stat(SourcePath.root))).toMatchObject({ code: 'STORAGE_DENIED' });
      await Promise.all([right.close(), wrong.close(), server.stop()]);
    });

    it('is shared by all requests where the server allows one connection only', async () => {
      const server = await startProftpd('MaxClientsPerUser 1');
      const store = openSftpStore(server);
      await store.stat(SourcePath.root);
      const names = Array.from({ length: 40 }, (_, index) => `${String(index)}.txt`);
      await Promise.all(names.map((name) => store.write(at(name), contentOf(name), { createOnly: true })));
      expect((await namesIn(store)).length).toBe(names.length);
      await Promise.all([store.close(), server.stop()]);
    });
  },
);
