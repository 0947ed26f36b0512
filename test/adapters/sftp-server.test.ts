import { execFileSync } from 'node:child_process';
import { createHash } from 'node:crypto';
import { chown, mkdir, readdir, readFile, rm, symlink, utimes, writeFile } from 'node:fs/promises';
import { once } from 'node:events';
import { join } from 'node:path';
import { Readable } from 'node:stream';
import { buffer } from 'node:stream/consumers';
import { SourcePath } from 'stowage/storage';
import { afterAll, afterEach, beforeAll, describe, expect, it } from 'vitest';
import type { SftpAdapter } from '../../dist/adapters/sftp/adapter.js';
import { startService } from '../protocol/service.ts';
import { runner } from './servers/programs.ts';
import { hasProftpd, startProftpd } from './servers/proftpd.ts';
import { hasSshd, makeKey, openSftpStore, startSshd, type SftpServer } from './servers/ssh.ts';
import { startTcpProxy, type TcpProxy } from './servers/tcp-proxy.ts';

const at = (text: string): SourcePath => SourcePath.parse(text);
const contentOf = (text: string): Readable => Readable.from([Buffer.from(text)], { objectMode: false });

/** What an error tells the log, and what it is. */
const failureOf = async (failing: Promise<unknown>): Promise<{ code: string; detail: string }> => {
  const error: unknown = await failing.then(
    () => undefined,
    (reason: unknown) => reason,
  );
  const { code, detail = '' } = error as { code: string; detail?: string };
  return { code, detail };
};

describe.skipIf(!hasSshd)(
  `the sftp adapter and its server${hasSshd ? '' : ' (openssh-server is not installed)'}`,
  () => {
    let server: SftpServer;
    let proxy: TcpProxy;
    const stores: SftpAdapter[] = [];
    beforeAll(async () => {
      server = await startSshd();
      proxy = await startTcpProxy(server.options.port);
    });
    afterEach(async () => {
      await Promise.all(stores.splice(0).map((store) => store.close()));
    });
    afterAll(async () => {
      await proxy?.close();
      await server?.stop();
    });

    const open = (options: object = {}, root = ''): SftpAdapter => {
      const store = openSftpStore(server, options, root);
      stores.push(store);
      return store;
    };
    const makeRoot = async (name: string): Promise<string> => {
      const folder = join(server.data, name);
      await mkdir(folder);
      if (process.getuid?.() === 0) await chown(folder, runner.uid, runner.gid);
      return folder;
    };
    const fingerprintOf = async (file: string): Promise<string> => {
      const blob = Buffer.from((await readFile(file, 'utf8')).split(' ')[1] ?? '', 'base64');
      return `SHA256:${createHash('sha256').update(blob).digest('base64').replace(/=+$/u, '')}`;
    };
    const namesIn = async (store: SftpAdapter, folder = ''): Promise<readonly string[]> => {
      const names: string[] = [];
      for await (const page of store.list(at(folder))) names.push(...page.map(({ name }) => name));
      return names.sort();
    };

    it('is refused with another host key, with no word of it but in the log', async () => {
      const other = await makeKey(server.base, 'other');
      const hostKey = await readFile(`${other}.pub`, 'utf8');
      const shown = await fingerprintOf(join(server.base, 'host.pub'));
      expect(await failureOf(open({ hostKey }).stat(SourcePath.root))).toEqual({
        code: 'STORAGE_UNAVAILABLE',
        detail: `the server has shown an unknown host key, ${shown}`,
      });
      const logged: string[] = [];
      const log = (...line: readonly unknown[]): void => void logged.push(JSON.stringify(line));
      const logger = { debug: log, info: log, warn: log, error: log };
      const source = { storageAdapter: 'sftp', root: '', sftp: { ...server.options, hostKey } };
      const service = await startService({ sources: { files: source } }, {}, logger);
      const answer = await service.call('fileRemove', { name: 'a.txt' });
      expect(answer.status).toBe(500);
      expect(JSON.stringify(answer.data)).not.toMatch(/127\.0\.0\.1|SHA256|key/u);
      expect(logged.join('\n')).toContain(shown);
    });

    it('is accepted by a fingerprint, by a list, and by hashed names of a file, and not when the key is revoked', async () => {
      const key = await readFile(join(server.base, 'host.pub'), 'utf8');
      const fingerprint = await fingerprintOf(join(server.base, 'host.pub'));
      const other = await readFile(`${await makeKey(server.base, 'second')}.pub`, 'utf8');
      for (const hostKey of [fingerprint, [other, key]])
        expect((await open({ hostKey }).stat(SourcePath.root)).kind).toBe('folder');

      const knownHostsFile = join(server.base, 'known_hosts');
      const name = `[127.0.0.1]:${String(server.options.port)}`;
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
      const privateKeyFile = await makeKey(server.base, 'locked', 'open it');
      await writeFile(join(server.base, 'authorized'), await readFile(`${privateKeyFile}.pub`), {
        flag: 'a',
      });
      const given = { privateKey: undefined, privateKeyFile };
      await open({ ...given, passphrase: 'open it' }).stat(SourcePath.root);
      for (const wrong of [{}, { passphrase: 'wrong' }, { privateKeyFile: `${privateKeyFile}-no` }])
        expect(await failureOf(open({ ...given, ...wrong }).stat(SourcePath.root))).toMatchObject({
          code: 'STORAGE_UNAVAILABLE',
          detail: expect.stringMatching(/[Pp]rivate ?[Kk]ey/u) as string,
        });
      const stranger = await readFile(await makeKey(server.base, 'stranger'), 'utf8');
      expect(await failureOf(open({ privateKey: stranger }).stat(SourcePath.root))).toMatchObject({
        code: 'STORAGE_DENIED',
      });
    });

    it('never follows links of the server, whose targets stay as they are', async () => {
      const [inside, outside] = [await makeRoot('inside'), await makeRoot('outside')];
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
        expect(await failureOf(store.stat(at(path)))).toMatchObject({ code: 'NOT_FOUND' });
        expect(await failureOf(store.read(at(path)))).toMatchObject({ code: 'NOT_FOUND' });
        expect(await failureOf(store.removeFile(at(path)))).toMatchObject({ code: 'NOT_FOUND' });
        expect(await failureOf(store.copyFile(at(path), at('copy')))).toMatchObject({ code: 'NOT_FOUND' });
        expect(await failureOf(store.moveFile(at(path), at('moved')))).toMatchObject({ code: 'NOT_FOUND' });
      }
      for (const path of ['folder/new.txt', 'folder/deep/new.txt'])
        expect(await failureOf(store.write(at(path), contentOf('new')))).toMatchObject({ code: 'NOT_FOUND' });
      for (const path of ['file.txt', 'folder'])
        expect(await failureOf(store.write(at(path), contentOf('new')))).toMatchObject({
          code: 'WRONG_KIND',
        });
      expect(await failureOf(store.makeFolder(at('folder/new')))).toMatchObject({ code: 'NOT_FOUND' });
      expect(await failureOf(store.removeFolder(at('folder')))).toMatchObject({ code: 'NOT_FOUND' });
      // Links go with the folder that holds them.
      await open().removeFolder(at('inside'));
      expect(await readdir(outside)).toEqual(['secret.txt']);
      expect(await readFile(join(outside, 'secret.txt'), 'utf8')).toBe('secret');
      expect(await readdir(server.data)).not.toContain('inside');
      // The directory of the options may be one.
      await symlink(outside, join(server.data, 'link'));
      expect(await namesIn(open({ directory: join(server.data, 'link') }))).toEqual(['secret.txt']);
      expect(await failureOf(open({}, 'link').stat(SourcePath.root))).toMatchObject({
        code: 'STORAGE_UNAVAILABLE',
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
        code: 'STORAGE_DENIED',
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
            const outcome = await failureOf(store.write(path, contentOf(text), { createOnly: true })).catch(
              () => undefined,
            );
            if (outcome === undefined) winners.push(text);
            else expect(outcome.code).toBe('ALREADY_EXISTS');
          }),
        );
      }
      expect(winners).toHaveLength(15);
      const stored = await Promise.all(
        (await readdir(folder)).map((name) => readFile(join(folder, name), 'utf8')),
      );
      expect(stored.sort()).toEqual(winners.sort());
    });

    it('removes what a killed process has left long ago, and leaves what may be in use', async () => {
      const folder = await makeRoot('leftovers');
      const old = '.01900000-0000-7000-8000-000000000000.tmp';
      const nameAt = (time: number): string => {
        const hex = time.toString(16).padStart(12, '0');
        return `.${hex.slice(0, 8)}-${hex.slice(8)}-7000-8000-000000000000.tmp`;
      };
      const young = nameAt(Date.now());
      for (const name of [old, young]) await writeFile(join(folder, name), 'left');
      await mkdir(join(folder, nameAt(1_700_000_000_000)));
      const store = open({}, 'leftovers');
      expect(await namesIn(store)).toEqual([]);
      await expect.poll(() => readdir(folder)).toEqual([young]);
      expect(await failureOf(store.read(at(young)))).toMatchObject({ code: 'NOT_FOUND' });
    });

    it('makes its root again when somebody has removed it', async () => {
      const store = open({}, 'gone');
      await store.write(at('a.txt'), contentOf('a'));
      await rm(join(server.data, 'gone'), { recursive: true });
      expect(await namesIn(store)).toEqual([]);
      await rm(join(server.data, 'gone'), { recursive: true });
      await store.write(at('b.txt'), contentOf('b'));
      expect(await readdir(join(server.data, 'gone'))).toEqual(['b.txt']);
    });

    it('loses its connection in the midst of an upload: an error, nothing left, and the next request works', async () => {
      const folder = await makeRoot('cut');
      await writeFile(join(folder, 'old.txt'), 'old');
      const store = open({ port: proxy.port }, 'cut');
      for (const name of ['old.txt', 'new.txt']) {
        const content = new Readable({ read: () => undefined });
        const writing = failureOf(store.write(at(name), content));
        content.push(Buffer.alloc(300_000));
        await expect.poll(async () => (await readdir(folder)).length).toBe(2);
        proxy.cut();
        content.push(Buffer.alloc(300_000));
        content.push(null);
        expect(await writing).toMatchObject({ code: 'STORAGE_UNAVAILABLE' });
        expect(await namesIn(store)).toEqual(['old.txt']);
        await expect.poll(() => readdir(folder)).toEqual(['old.txt']);
      }
      expect(await readFile(join(folder, 'old.txt'), 'utf8')).toBe('old');
    });

    it('loses its connection in the midst of a download: an error, and the next one is whole', async () => {
      const folder = await makeRoot('cut-read');
      const bytes = Buffer.alloc(4_000_000, 'stowage');
      await writeFile(join(folder, 'a.bin'), bytes);
      const store = open({ port: proxy.port }, 'cut-read');
      const { stream } = await store.read(at('a.bin'));
      await once(stream, 'readable');
      proxy.cut();
      expect(await failureOf(buffer(stream))).toMatchObject({ code: 'STORAGE_UNAVAILABLE' });
      expect((await buffer((await store.read(at('a.bin'))).stream)).equals(bytes)).toBe(true);
    });

    it('gives up a server that says nothing, and lets a request be given up before', async () => {
      await makeRoot('silent');
      const store = open({ port: proxy.port, timeout: 1 }, 'silent');
      await store.write(at('a.txt'), contentOf('a'));
      proxy.stall();
      const abort = new AbortController();
      const aborted = store.stat(at('a.txt'), { signal: abort.signal });
      const silent = failureOf(store.stat(at('a.txt')));
      abort.abort(new Error('enough'));
      await expect(aborted).rejects.toThrow('enough');
      expect((await silent).code).toMatch(/^STORAGE_(?:TIMEOUT|UNAVAILABLE)$/u);
      await expect.poll(() => proxy.open()).toBe(0);
      proxy.cut();
      expect((await store.stat(at('a.txt'))).size).toBe(1);
    });

    it('closes connections that nobody uses, and all of them at its end', async () => {
      const store = open({ port: proxy.port, idleTimeout: 0.2, connections: 3 });
      await Promise.all(Array.from({ length: 12 }, () => store.stat(SourcePath.root)));
      expect(proxy.open()).toBeGreaterThan(0);
      expect(proxy.open()).toBeLessThanOrEqual(3);
      await expect.poll(() => proxy.open()).toBe(0);
      const reading = store.list(SourcePath.root)[Symbol.asyncIterator]();
      await reading.next();
      await store.close();
      await expect.poll(() => proxy.open()).toBe(0);
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
  },
);
