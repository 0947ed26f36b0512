import { execFileSync } from 'node:child_process';
import {
  closeSync,
  existsSync,
  mkdtempSync,
  openSync,
  readdirSync,
  readFileSync,
  rmSync,
  writeFileSync,
} from 'node:fs';
import { chmod, mkdir, mkdtemp, readdir, readFile, rm, stat, utimes, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { Readable } from 'node:stream';
import { afterEach, beforeEach, describe, expect, it } from 'vitest';
import type { LocalAdapter } from '../../packages/stowage/dist/adapters/local/adapter.js';
import type { Entry } from '../../packages/stowage/dist/storage/adapter.js';
import {
  AlreadyExistsError,
  ChangedMeanwhileError,
  SourcePath,
  StorageDeniedError,
  StorageFullError,
} from 'stowage/storage';
import { createSilentLogger, openLocalAdapter, readProcessMark } from '#internals';

const MOUNT_BYTES = 2 * 1024 * 1024;

const mountMemory = (folder: string): void => {
  execFileSync('mount', ['-t', 'tmpfs', '-o', `size=${MOUNT_BYTES}`, 'none', folder], { stdio: 'ignore' });
};
const unmount = (folder: string): void => {
  execFileSync('umount', [folder], { stdio: 'ignore' });
};

const canMount = (() => {
  const folder = mkdtempSync(join(tmpdir(), 'stowage-mount-'));
  try {
    mountMemory(folder);
    unmount(folder);
    return true;
  } catch {
    return false;
  } finally {
    rmSync(folder, { recursive: true });
  }
})();

const at = (path: string) => SourcePath.parse(path);
const content = (bytes: Buffer | string) => Readable.from([Buffer.from(bytes)], { objectMode: false });

describe.skipIf(!canMount)(
  'a folder of the root that is another file system (needs the right to mount)',
  () => {
    let root: string;
    let adapter: LocalAdapter;

    beforeEach(async () => {
      root = await mkdtemp(join(tmpdir(), 'stowage-mounts-'));
      await mkdir(join(root, 'mounted'));
      mountMemory(join(root, 'mounted'));
      adapter = await openLocalAdapter({ root, log: createSilentLogger() });
    });
    afterEach(async () => {
      await adapter.close();
      unmount(join(root, 'mounted'));
      await rm(root, { recursive: true });
    });

    /** All paths but the empty folders for what has no name yet, which stay as long as the store. */
    const everything = async (): Promise<string[]> =>
      (await readdir(root, { recursive: true }))
        .filter((path) => !/(?:^|\/)\.stowage-tmp(?:\/[^/]+)?$/u.test(path))
        .sort();

    it('takes writes whole, and createOnly is decided there too', async () => {
      await adapter.write(at('mounted/deep/a.txt'), content('one'));
      await adapter.write(at('mounted/deep/a.txt'), content('two'));
      await expect(
        adapter.write(at('mounted/deep/a.txt'), content('x'), { createOnly: true }),
      ).rejects.toBeInstanceOf(AlreadyExistsError);
      const outcomes = await Promise.allSettled(
        Array.from({ length: 10 }, (_, index) =>
          adapter.write(at('mounted/prize'), content(String(index)), { createOnly: true }),
        ),
      );
      expect(outcomes.filter((outcome) => outcome.status === 'fulfilled')).toHaveLength(1);
      expect(await readFile(join(root, 'mounted/deep/a.txt'), 'utf8')).toBe('two');
      expect(await everything()).toEqual(['mounted', 'mounted/deep', 'mounted/deep/a.txt', 'mounted/prize']);
    });

    it('takes files and folders that are moved and copied across, with the times of moved files', async () => {
      const time = new Date(1_600_000_000_000);
      await adapter.write(at('f/a.txt'), content('a'));
      await adapter.write(at('f/deep/b.txt'), content('b'));
      await utimes(join(root, 'f/a.txt'), time, time);
      await adapter.copyFolder(at('f'), at('mounted/copy'));
      await adapter.moveFile(at('f/a.txt'), at('mounted/a.txt'), { createOnly: true });
      expect((await adapter.stat(at('mounted/a.txt'))).modifiedAt).toBe(time.getTime());
      await adapter.moveFolder(at('f'), at('mounted/moved'));
      await adapter.moveFolder(at('mounted/moved'), at('back'));
      await adapter.removeFolder(at('mounted/copy/deep'));
      expect(await everything()).toEqual([
        'back',
        'back/deep',
        'back/deep/b.txt',
        'mounted',
        'mounted/a.txt',
        'mounted/copy',
        'mounted/copy/a.txt',
      ]);
    });

    it('holds what two processes move out of it at the same moment at one of the targets', async () => {
      // Stores that share nothing in memory, as those of two processes.
      const other = await openLocalAdapter({ root, log: createSilentLogger() });
      const names = Array.from({ length: 60 }, (_, index) => `${String(index)}.txt`).sort();
      for (let round = 0; round < 5; round += 1) {
        for (const name of names) await adapter.write(at(`mounted/f/${name}`), content(name));
        await Promise.allSettled([
          adapter.moveFolder(at('mounted/f'), at('one')),
          other.moveFolder(at('mounted/f'), at('two')),
        ]);
        const found = (await everything()).filter((path) => path.endsWith('.txt'));
        expect(found.map((path) => path.slice(path.lastIndexOf('/') + 1)).sort()).toEqual(names);
        for (const folder of ['one', 'two']) await rm(join(root, folder), { recursive: true, force: true });
        await rm(join(root, 'mounted/f'), { recursive: true, force: true });
      }
      await other.close();
    });

    it('is not removed, nor anything in it, and takes no other name', async () => {
      await adapter.write(at('mounted/a.txt'), content('kept'));
      await adapter.write(at('outer/b.txt'), content('kept'));
      await expect(adapter.removeFolder(at('mounted'))).rejects.toBeInstanceOf(StorageDeniedError);
      await expect(adapter.removeEmptyFolder(at('mounted'))).rejects.toBeInstanceOf(StorageDeniedError);
      await expect(adapter.moveFolder(at('mounted'), at('other'))).rejects.toBeInstanceOf(StorageDeniedError);
      expect(await readFile(join(root, 'mounted/a.txt'), 'utf8')).toBe('kept');
      expect(await everything()).toEqual(['mounted', 'mounted/a.txt', 'outer', 'outer/b.txt']);
    });

    it('stays, with all it holds, when the folder around it is to be removed', async () => {
      const inner = join(root, 'outer/a b/inner');
      await mkdir(inner, { recursive: true });
      for (const args of [
        ['--bind', join(root, 'mounted')],
        ['-t', 'tmpfs', 'none'],
      ]) {
        execFileSync('mount', [...args, inner], { stdio: 'ignore' });
        try {
          await adapter.write(at('outer/a b/inner/a.txt'), content('kept'));
          await expect(adapter.removeFolder(at('outer'))).rejects.toBeInstanceOf(StorageDeniedError);
          expect(await readFile(join(inner, 'a.txt'), 'utf8')).toBe('kept');
        } finally {
          unmount(inner);
        }
      }
      await adapter.removeFolder(at('outer'));
      expect(await everything()).toEqual(['mounted', 'mounted/a.txt']);
    });

    it('says when it is full, and keeps the old file and no half of the new one', async () => {
      await adapter.write(at('mounted/old.bin'), content('old'));
      const big = Buffer.alloc(MOUNT_BYTES + 1, 7);
      await expect(adapter.write(at('mounted/old.bin'), content(big))).rejects.toBeInstanceOf(
        StorageFullError,
      );
      await expect(adapter.write(at('mounted/new.bin'), content(big))).rejects.toBeInstanceOf(
        StorageFullError,
      );
      expect(await readFile(join(root, 'mounted/old.bin'), 'utf8')).toBe('old');
      expect(await everything()).toEqual(['mounted', 'mounted/old.bin']);
    });

    it('full as a root it says so too, at every size of the last piece', async () => {
      const full = await openLocalAdapter({ root: join(root, 'mounted'), log: createSilentLogger() });
      for (const size of [MOUNT_BYTES + 1, MOUNT_BYTES * 2, MOUNT_BYTES * 3 + 12_345]) {
        await expect(full.write(at('new.bin'), content(Buffer.alloc(size)))).rejects.toBeInstanceOf(
          StorageFullError,
        );
        await expect(full.stage(content(Buffer.alloc(size)))).rejects.toBeInstanceOf(StorageFullError);
      }
      await full.close();
      expect(await everything()).toEqual(['mounted']);
    });

    it('takes more than the small root around it has room for, and leaves nothing there', async () => {
      const small = join(root, 'mounted');
      const volume = join(small, 'volume');
      await mkdir(volume);
      execFileSync('mount', ['-t', 'tmpfs', '-o', 'size=40m', 'none', volume], { stdio: 'ignore' });
      try {
        const store = await openLocalAdapter({ root: small, log: createSilentLogger() });
        const big = Buffer.alloc(2 * MOUNT_BYTES, 7);
        await store.write(at('volume/f/a.bin'), content(big));
        const staged = await store.stage(content(big), { near: at('volume/f') });
        await staged.commit(at('volume/f/b.bin'), { createOnly: true });
        await store.copyFile(at('volume/f/a.bin'), at('volume/f/c.bin'));
        await store.copyFolder(at('volume/f'), at('volume/g'));
        expect((await readFile(join(volume, 'g/c.bin'))).equals(big)).toBe(true);
        await store.removeFolder(at('volume/g'));
        await store.close();
        expect(await everything()).toEqual([
          'mounted',
          'mounted/volume',
          'mounted/volume/f',
          ...['a', 'b', 'c'].map((name) => `mounted/volume/f/${name}.bin`),
        ]);
      } finally {
        unmount(volume);
      }
    });

    it('keeps the rights of files that are replaced in it or moved to it', async () => {
      for (const path of ['mounted/private.txt', 'moved.txt']) {
        await adapter.write(at(path), content('old'));
        await chmod(join(root, path), 0o600);
      }
      await adapter.write(at('mounted/private.txt'), content('new'));
      await adapter.moveFile(at('moved.txt'), at('mounted/moved.txt'));
      for (const path of ['mounted/private.txt', 'mounted/moved.txt'])
        expect((await stat(join(root, path))).mode & 0o777).toBe(0o600);
    });

    it('holds what is appended to a file while it is moved to it', async () => {
      await adapter.write(at('log.txt'), content('first'));
      const mounted = join(root, 'mounted');
      const isCopied = (): boolean =>
        readdirSync(mounted).some(
          (name) => name !== '.stowage-tmp' && readFileSync(join(mounted, name), 'utf8') === 'first',
        );
      // Asked a last time when the copy is whole, before the original goes.
      const { signal } = new AbortController();
      signal.throwIfAborted = () => {
        if (isCopied()) writeFileSync(join(root, 'log.txt'), 'first, second', { flag: 'r+' });
      };
      await expect(
        adapter.moveFile(at('log.txt'), at('mounted/log.txt'), { createOnly: true, signal }),
      ).rejects.toBeInstanceOf(ChangedMeanwhileError);
      expect(await readFile(join(root, 'log.txt'), 'utf8')).toBe('first, second');
      expect(await everything()).toEqual(['log.txt', 'mounted']);
    });

    it('holds what replaces a file while another edit of it is copied to it', async () => {
      const { etag: ifMatch } = await adapter.write(at('mounted/a.txt'), content('old'));
      const staged = await adapter.stage(content('edited'));
      const mounted = join(root, 'mounted');
      const isCopied = (): boolean =>
        readdirSync(mounted).some(
          (name) => name !== '.stowage-tmp' && readFileSync(join(mounted, name), 'utf8') === 'edited',
        );
      const { signal } = new AbortController();
      signal.throwIfAborted = () => {
        if (isCopied()) writeFileSync(join(mounted, 'a.txt'), 'a newer version');
      };
      await expect(staged.commit(at('mounted/a.txt'), { ifMatch, signal })).rejects.toBeInstanceOf(
        ChangedMeanwhileError,
      );
      await staged.discard();
      expect(await readFile(join(mounted, 'a.txt'), 'utf8')).toBe('a newer version');
      expect(await everything()).toEqual(['mounted', 'mounted/a.txt']);
    });

    it.skipIf(!existsSync('/dev/fuse'))(
      'hides a folder whose file system has ended, and nothing beside it',
      async () => {
        for (const others of [1, 100]) {
          const folder = join(root, `f${String(others)}`);
          await mkdir(join(folder, 'dead'), { recursive: true });
          for (let number = 0; number < others; number += 1)
            await writeFile(join(folder, `${String(number)}.txt`), 'x');
          // As when a program has ended that had mounted a drive or a bucket.
          const fuse = openSync('/dev/fuse', 'r+');
          const options = 'fd=3,rootmode=40000,user_id=0,group_id=0';
          execFileSync('mount', ['-i', '-t', 'fuse', '-o', options, 'none', join(folder, 'dead')], {
            stdio: ['ignore', 'ignore', 'ignore', fuse],
          });
          closeSync(fuse);
          try {
            const path = at(`f${String(others)}`);
            const names: string[] = [];
            let omitted = 0;
            const onOmitted = (count: number): void => void (omitted += count);
            for await (const page of adapter.list(path, { onOmitted }))
              names.push(...page.map(({ name }) => name));
            expect(names).toHaveLength(others);
            expect(omitted).toBe(1);
            expect(await adapter.tally(path, { of: 'sizes' })).toMatchObject({
              files: others,
              unreadable: 1,
            });
            const view = () => ({ enters: () => true, wants: (entry: Entry) => entry.kind === 'file' });
            let found = 0;
            for await (const page of adapter.walk(path, { detail: 'full', words: [], most: 1000, view }))
              found += page.found.length;
            expect(found).toBe(others);
          } finally {
            unmount(join(folder, 'dead'));
          }
        }
      },
    );

    it('is swept of what a killed process left in it beside its targets', async () => {
      // As a process leaves it that is killed between the copy across and the last rename.
      const instance = `${(await readProcessMark()).replace(/-\d+-\d+$/u, '-1-1')}-12345678`;
      await mkdir(join(root, '.stowage-tmp', instance), { recursive: true });
      await writeFile(join(root, '.stowage-tmp', instance, 'across-1'), 'mounted/deep');
      await mkdir(join(root, 'mounted/deep'));
      await writeFile(join(root, `mounted/deep/.stowage-tmp-${instance}-1`), 'half');
      await writeFile(join(root, 'mounted/deep/.stowage-tmp-other-1'), 'not ours');
      const second = await openLocalAdapter({ root, log: createSilentLogger() });
      await second.close();
      expect(await everything()).toEqual(['mounted', 'mounted/deep', 'mounted/deep/.stowage-tmp-other-1']);
    });
  },
);
