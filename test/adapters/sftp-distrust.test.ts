import {
  existsSync,
  mkdirSync,
  readdirSync,
  readFileSync,
  statSync,
  symlinkSync,
  writeFileSync,
} from 'node:fs';
import { join } from 'node:path';
import { text } from 'node:stream/consumers';
import { setImmediate } from 'node:timers/promises';
import { describe, expect, it, onTestFinished } from 'vitest';
import { moveFolder } from 'stowage/storage';
import type { SftpAdapter } from '../../packages/stowage/dist/adapters/remote/sftp/adapter.js';
import { startService } from '../protocol/service.ts';
import { at, codeOf, contentOf, namesIn } from './path-stores.ts';
import { startSftpStub, type SftpDialect, type SftpStub } from '../../tools/test-servers/sftp-stub.ts';
import { openSftpStore } from '../../tools/test-servers/ssh.ts';

/** `root` is the folder of the store; beside it lies what it must not reach. */
const start = async (
  dialect: SftpDialect = {},
  options: object = {},
): Promise<{ readonly stub: SftpStub; readonly store: SftpAdapter; readonly root: string }> => {
  const stub = await startSftpStub(dialect);
  const root = join(stub.data, 'root');
  mkdirSync(root);
  const store = openSftpStore(stub, { timeout: 2, ...options }, 'root');
  onTestFinished(() => stub.close());
  onTestFinished(() => store.close());
  return { stub, store, root };
};

describe('an SFTP server whose listings say of links what they lead to', () => {
  it.each([undefined, 'kind'] as const)(
    'loses nothing outside of a folder that is removed (%s)',
    async (untold) => {
      const { stub, store, root } = await start({ followsInListings: true, untold });
      const outside = join(stub.data, 'outside');
      mkdirSync(join(outside, 'deep'), { recursive: true });
      writeFileSync(join(outside, 'deep', 'kept.txt'), 'kept');
      mkdirSync(join(root, 'album', 'inner'), { recursive: true });
      for (const folder of ['album', 'album/inner']) symlinkSync(outside, join(root, folder, 'shortcut'));
      expect(await codeOf(store.read(at('album/shortcut/deep/kept.txt')))).toBe('NOT_FOUND');
      await store.removeFolder(at('album'));
      expect(readdirSync(root)).toEqual([]);
      expect(existsSync(join(outside, 'deep', 'kept.txt'))).toBe(true);
    },
  );
});

it('an SFTP server that denies hard links, as OpenSSH does on FAT, stores new files all the same', async () => {
  const { store, root } = await start({ deniesLinks: true });
  await store.write(at('a.txt'), contentOf('a'), { createOnly: true });
  expect(await codeOf(store.write(at('a.txt'), contentOf('b'), { createOnly: true }))).toBe('ALREADY_EXISTS');
  expect(readdirSync(root)).toEqual(['a.txt']);
  expect(readFileSync(join(root, 'a.txt'), 'utf8')).toBe('a');
});

it('an SFTP server that renames no folders, as AWS Transfer, moves and removes them file by file', async () => {
  const { stub, store, root } = await start({ storesAtClose: true });
  mkdirSync(join(root, 'f', 'deep'), { recursive: true });
  writeFileSync(join(root, 'f', 'a.txt'), 'a');
  writeFileSync(join(root, 'f', 'deep', 'b.txt'), 'b');
  stub.dialect = {
    before: (request, path) => (request === 'RENAME' && statSync(path).isDirectory() ? 'unknown' : undefined),
  };
  await moveFolder(store, at('f'), at('g'));
  expect(readdirSync(root, { recursive: true }).sort()).toEqual(['g', 'g/a.txt', 'g/deep', 'g/deep/b.txt']);
  expect(readFileSync(join(root, 'g', 'deep', 'b.txt'), 'utf8')).toBe('b');
  const client = new AbortController();
  stub.dialect = {
    before: (request, path) => {
      if (request === 'REMOVE') client.abort();
      return request === 'RENAME' && statSync(path).isDirectory() ? 'unknown' : undefined;
    },
  };
  // Once a part of it is gone, the rest follows, although the client has left.
  await store.removeFolder(at('g'), { signal: client.signal });
  expect(readdirSync(root)).toEqual([]);
});

it('an SFTP server that allows one connection serves others too while downloads wait for their readers', async () => {
  const { store, root } = await start({ most: 1 }, { connections: 2 });
  writeFileSync(join(root, 'a.txt'), 'a'.repeat(1_000_000));
  const reads = Array.from({ length: 16 }, () => store.read(at('a.txt')));
  await setImmediate();
  const stats = Array.from({ length: 16 }, () => store.stat(at('a.txt')));
  expect((await Promise.all(stats)).map(({ kind }) => kind)).toEqual(stats.map(() => 'file'));
  for (const { stream } of await Promise.all(reads)) stream.destroy();
});

describe('names in the listings of an SFTP server', () => {
  it('may begin as the lines of ls do', async () => {
    const { store, root } = await start();
    for (const name of ['logo.txt', 'lrwx.txt']) writeFileSync(join(root, name), 'a');
    mkdirSync(join(root, 'letters'));
    expect(await namesIn(store)).toEqual(['letters', 'logo.txt', 'lrwx.txt']);
  });

  it('may be too long for its file system when their letters are decomposed', async () => {
    const { store, root } = await start();
    const name = `${'한'.repeat(43)}.txt`;
    await store.write(at(name), contentOf('a'), { createOnly: true });
    expect(readdirSync(root)).toEqual([name]);
    await store.removeFile(at(name));
    expect(await codeOf(store.stat(at(name)))).toBe('NOT_FOUND');
  });

  it('that its text shows as links are left out, whatever their attributes say', async () => {
    const longname = (name: string, isLink: boolean): string =>
      `${isLink ? 'l' : '-'}rwxrwxrwx 1 a b 4 Jan 12 2025 ${name}`;
    const { store, root } = await start({ followsInListings: true, longname });
    writeFileSync(join(root, 'a.txt'), 'a');
    symlinkSync('a.txt', join(root, 'b.txt'));
    expect(await namesIn(store)).toEqual(['a.txt']);
  });
});

describe('an SFTP server that does not report sizes', () => {
  it('has its files read and copied whole', async () => {
    const { store, root } = await start({ untold: 'size' });
    const content = 'a'.repeat(100_000);
    writeFileSync(join(root, 'a.txt'), content);
    const { stat, stream } = await store.read(at('a.txt'));
    expect([stat.size, await text(stream)]).toEqual([undefined, content]);
    await store.copyFile(at('a.txt'), at('b.txt'));
    await store.write(at('c.txt'), contentOf(content));
    for (const name of ['b.txt', 'c.txt']) expect(readFileSync(join(root, name), 'utf8')).toBe(content);
  });
});

it('an SFTP server that does not report kinds has files and folders', async () => {
  const { store, root } = await start({ untold: 'kind' });
  await store.write(at('f/a.txt'), contentOf('a'), { createOnly: true });
  await store.write(at('f/a.txt'), contentOf('b'));
  await store.makeFolder(at('g'));
  const entries: unknown[] = [];
  for await (const page of store.list(at(''))) entries.push(...page);
  expect(entries).toMatchObject([
    { name: 'f', kind: 'folder' },
    { name: 'g', kind: 'folder' },
  ]);
  expect(await namesIn(store, 'f')).toEqual(['a.txt']);
  await store.moveFolder(at('f'), at('h'));
  expect(await text((await store.read(at('h/a.txt'))).stream)).toBe('b');
  await store.removeFolder(at('h'));
  expect(readdirSync(root)).toEqual(['g']);
});

describe('an SFTP server that has a file when it is closed, as in front of an object store', () => {
  it('stores, replaces and copies', async () => {
    const { store, root } = await start({ storesAtClose: true });
    for (const content of ['old', 'new']) await store.write(at('a.txt'), contentOf(content));
    await store.copyFile(at('a.txt'), at('b.txt'));
    for (const name of ['a.txt', 'b.txt']) expect(readFileSync(join(root, name), 'utf8')).toBe('new');
    expect(readdirSync(root)).toEqual(['a.txt', 'b.txt']);
  });
});

describe('what an SFTP server has open', () => {
  it('is not stored where the server refuses to close it, as at the end of a quota', async () => {
    const { stub, store, root } = await start({
      before: (request) => (request === 'CLOSE' ? 'refuse' : undefined),
    });
    expect(await codeOf(store.write(at('a.txt'), contentOf('new')))).toBe('STORAGE_UNAVAILABLE');
    stub.dialect = {};
    expect(await namesIn(store)).toEqual([]);
    expect(readdirSync(root)).toEqual([]);
  });

  it('is closed when it cannot say what it has opened', async () => {
    const { stub, store, root } = await start({
      before: (request) => (request === 'FSTAT' ? 'refuse' : undefined),
    });
    writeFileSync(join(root, 'a.txt'), 'a');
    for (let time = 0; time < 3; time += 1)
      expect(await codeOf(store.read(at('a.txt')))).toBe('STORAGE_UNAVAILABLE');
    expect(stub.open()).toBe(0);
    stub.dialect = {};
    expect(await text((await store.read(at('a.txt'))).stream)).toBe('a');
  });
});

describe('an answer of an SFTP server that is lost', () => {
  it('is not waited for while others come', async () => {
    const { store, root } = await start(
      { before: (request, path) => (request === 'LSTAT' && path.endsWith('lost.txt') ? 'mute' : undefined) },
      { timeout: 0.5, connections: 1 },
    );
    for (const name of ['lost.txt', 'a.txt']) writeFileSync(join(root, name), 'a');
    let isWaiting = true;
    const lost = codeOf(store.stat(at('lost.txt'))).finally(() => (isWaiting = false));
    while (isWaiting) await store.stat(at('a.txt')).catch(() => undefined);
    expect(await lost).toBe('STORAGE_TIMEOUT');
    expect((await store.stat(at('a.txt'))).size).toBe(1);
  });

  it('of the rename that hides a folder: what was asked for is done', async () => {
    const { stub, store, root } = await start();
    mkdirSync(join(root, 'album'));
    writeFileSync(join(root, 'album', 'a.txt'), 'a');
    await store.stat(at('album'));
    stub.dialect = {
      before: (request) => {
        if (request === 'RENAME') stub.dialect = {};
        return request === 'RENAME' ? 'cut' : undefined;
      },
    };
    await store.removeFolder(at('album'));
    expect(readdirSync(root)).toEqual([]);
  });
});

describe('a name on SFTP that is given meanwhile', () => {
  it('while a folder is hidden that cannot be removed: the folder comes back under a number', async () => {
    const { store, root } = await start({
      before: (request) => {
        if (request !== 'REMOVE') return undefined;
        mkdirSync(join(root, 'album'), { recursive: true });
        return 'refuse';
      },
    });
    mkdirSync(join(root, 'album'));
    writeFileSync(join(root, 'album', 'a.txt'), 'a');
    expect(await codeOf(store.removeFolder(at('album')))).toBe('STORAGE_DENIED');
    expect(readdirSync(root).sort()).toEqual(['album', 'album (1)']);
    expect(readdirSync(join(root, 'album (1)'))).toEqual(['a.txt']);
  });

  it('while a file is moved aside to be replaced: the file comes back under a number', async () => {
    let renames = 0;
    const { store, root } = await start({
      before: (request) => {
        if (request === 'RENAME') renames += 1;
        if (request === 'RENAME' && renames === 2) writeFileSync(join(root, 'a.txt'), 'of another');
        return undefined;
      },
    });
    writeFileSync(join(root, 'a.txt'), 'old');
    expect(await codeOf(store.write(at('a.txt'), contentOf('new')))).toBe('STORAGE_UNAVAILABLE');
    expect(readdirSync(root).sort()).toEqual(['a (1).txt', 'a.txt']);
    expect(readFileSync(join(root, 'a (1).txt'), 'utf8')).toBe('old');
    expect(readFileSync(join(root, 'a.txt'), 'utf8')).toBe('of another');
  });
});

describe('an SFTP server that has names of Windows', () => {
  const fold = (name: string): string =>
    /^privat~1$/iu.test(name)
      ? 'private'
      : name
          .toLowerCase()
          .replace(/:.*$/u, '')
          .replace(/[. ]+$/u, '');

  it.each(['private.', 'private ', 'PRIVAT~1', 'private::$DATA'])(
    'keeps what rules say of a folder when it is called %j',
    async (alias) => {
      const { stub, store, root } = await start({ fold });
      mkdirSync(join(root, 'private'));
      writeFileSync(join(root, 'private', 'a.txt'), 'secret');
      const source = { storageAdapter: 'sftp', root: 'root', sftp: stub.options };
      const accessControl = [
        { role: '*', FILES: true, FILE_REMOVE: true, FILE_DOWNLOAD: true },
        { role: '*', path: '/private', FILES: false, FILE_REMOVE: false, FILE_DOWNLOAD: false },
      ];
      const service = await startService({ sources: { files: source }, accessControl, createThumb: false });
      for (const action of ['files', 'fileDownload', 'fileRemove']) {
        const { status } = await service.call(action, { path: alias, name: 'a.txt' });
        expect([403, 404], action).toContain(status);
      }
      expect(await codeOf(store.write(at(`${alias}/a.txt`), contentOf('new')))).toBe('UNSAFE_NAME');
      expect(readdirSync(join(root, 'private'))).toEqual(['a.txt']);
      expect(readdirSync(root)).toEqual(['private']);
    },
  );

  it('lists names with colons and the like only where they are no other names', async () => {
    const names = ['10:30.txt', 'a.txt', 'end.'];
    const listed = async (dialect: SftpDialect, present: readonly string[]): Promise<readonly string[]> => {
      const { store, root } = await start(dialect);
      for (const name of present) writeFileSync(join(root, name), name);
      return namesIn(store);
    };
    expect(await listed({}, names)).toEqual(names);
    expect(await listed({}, ['10:30'])).toEqual(['10:30']);
    expect(await listed({ fold: (name) => (name === 'A.TXT' ? 'a.txt' : name) }, names)).toEqual(['a.txt']);
  });
});
