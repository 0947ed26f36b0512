import { randomUUID } from 'node:crypto';
import type { Readable } from 'node:stream';
import { setTimeout as pause } from 'node:timers/promises';
import { registerStorageAdapter } from 'stowage';
import { withFaults } from 'stowage/testing';
import { describe, expect, it } from 'vitest';
import { AlreadyExistsError, SourcePath, StorageDeniedError } from 'stowage/storage';
import { MemoryAdapter } from '#internals';
import type {
  ListOptions,
  StorageAdapter,
  WriteOptions,
} from '../../packages/stowage/dist/storage/adapter.js';
import { bytesAt, put } from '../pictures/gallery.ts';
import { afterReading, changing, replacing } from './changing-store.ts';
import { startService } from './service.js';

/** The name under which a store is known from here on. */
const registered = (storage: StorageAdapter): string => {
  const name = `across-${randomUUID()}`;
  registerStorageAdapter(name, { create: () => storage });
  return name;
};

const presets = { imagePresets: { small: { width: 10, format: 'webp' } } };
const two = {
  sources: { photos: presets, archive: { extensions: ['txt', 'jpg'], imageExtensions: ['jpg'] } },
};

describe('copying and moving from one source into another', () => {
  it('copies a file, and numbers the copy where the name is taken', async () => {
    const service = await startService(two);
    const [photos, archive] = [service.source('photos'), service.source('archive')];
    await photos.put({ 'sub/a.txt': 'new' });
    await archive.put({ 'in/a.txt': 'old' });
    const answer = await service.call('fileCopy', {
      source: 'archive',
      path: 'in',
      fromSource: 'photos',
      from: 'sub/a.txt',
    });
    expect(answer.status).toBe(200);
    expect(await archive.paths()).toEqual(['in/', 'in/a (1).txt', 'in/a.txt']);
    expect(await archive.text('in/a (1).txt')).toBe('new');
    expect(await archive.text('in/a.txt')).toBe('old');
    expect(await photos.text('sub/a.txt')).toBe('new');
  });

  it('moves a file: whole at the target, gone at the source', async () => {
    const service = await startService(two);
    await service.source('photos').put({ 'big.txt': 'x'.repeat(3_000_000) });
    const answer = await service.call('fileMove', {
      source: 'archive',
      fromSource: 'photos',
      from: 'big.txt',
    });
    expect(answer.status).toBe(200);
    expect((await service.source('archive').bytes('big.txt')).length).toBe(3_000_000);
    expect(await service.source('photos').paths()).toEqual([]);
  });

  it('never replaces anything by a move', async () => {
    const service = await startService(two);
    await service.source('photos').put({ 'a.txt': 'new' });
    await service.source('archive').put({ 'a.txt': 'old' });
    expect(
      (await service.call('fileMove', { source: 'archive', fromSource: 'photos', from: 'a.txt' })).status,
    ).toBe(400);
    expect(await service.source('archive').text('a.txt')).toBe('old');
    expect(await service.source('photos').text('a.txt')).toBe('new');
  });

  it.each(['folderMove', 'fileMove'])(
    'moves a folder with all it holds by %s, thumbnails left behind',
    async (action) => {
      const service = await startService(two);
      const photos = service.source('photos');
      await photos.put({ 'f/a.jpg': '1', 'f/deep/b.txt': '2', 'f/empty/': '' });
      await photos.put({ 'f/_thumbs/a.jpg': 'thumb', 'f/_thumbs/small/a.jpg.webp': 'variant' });
      expect(
        (await service.call(action, { source: 'archive', fromSource: 'photos', from: 'f/' })).status,
      ).toBe(200);
      expect(await service.source('archive').paths()).toEqual([
        'f/',
        'f/a.jpg',
        'f/deep/',
        'f/deep/b.txt',
        'f/empty/',
      ]);
      expect(await photos.paths()).toEqual([]);
    },
  );

  it('moves folders that have been listed, with the icons of their files, present and former', async () => {
    const service = await startService({ sources: { photos: {}, archive: {} } });
    const photos = service.source('photos');
    await photos.put({ 'f/a.txt': '1', 'f/old.zip': '2', 'f/broken.png': 'no picture', 'f/deep/b.txt': '3' });
    const list = (path: string) =>
      service.call('files', { source: 'photos', path, 'mods[withFolders]': 'true' });
    for (const path of ['f', 'f/deep']) expect((await list(path)).status).toBe(200);
    for (const [path, name] of [
      ['f', 'old.zip'],
      ['f/deep', 'b.txt'],
    ] as const)
      expect((await service.call('fileRemove', { source: 'photos', path, name })).status).toBe(200);
    expect(await photos.paths()).toContain('f/_thumbs/');
    const answer = await service.call('folderMove', { source: 'archive', fromSource: 'photos', from: 'f' });
    expect([answer.status, answer.messages]).toEqual([200, []]);
    expect(await photos.paths()).toEqual([]);
    expect(await service.source('archive').paths()).toEqual(['f/', 'f/a.txt', 'f/broken.png', 'f/deep/']);
  });

  it('a move leaves other files in the folder of thumbnails, and reports them', async () => {
    const service = await startService(two);
    const photos = service.source('photos');
    await photos.put({ 'f/a.jpg': '1', 'f/_thumbs/a.jpg': 'thumb', 'f/_thumbs/contract.pdf': 'only copy' });
    const answer = await service.call('folderMove', { source: 'archive', fromSource: 'photos', from: 'f' });
    expect(answer.status).toBe(500);
    expect(answer.messages.join()).toContain('1 with content that its source does not show');
    expect(await service.source('archive').paths()).toEqual(['f/', 'f/a.jpg']);
    expect(await photos.paths()).toEqual(['f/', 'f/_thumbs/', 'f/_thumbs/contract.pdf']);
  });

  it('copies a folder and leaves the source as it was', async () => {
    const service = await startService(two);
    const photos = service.source('photos');
    await photos.put({ 'f/a.txt': '1', 'f/deep/b.jpg': '2' });
    const before = await photos.paths();
    expect(
      (await service.call('folderCopy', { source: 'archive', fromSource: 'photos', from: 'f' })).status,
    ).toBe(200);
    expect(
      (await service.call('folderCopy', { source: 'archive', fromSource: 'photos', from: 'f' })).status,
    ).toBe(200);
    expect(await service.source('archive').paths()).toEqual([
      'f (1)/',
      'f (1)/a.txt',
      'f (1)/deep/',
      'f (1)/deep/b.jpg',
      'f/',
      'f/a.txt',
      'f/deep/',
      'f/deep/b.jpg',
    ]);
    expect(await photos.paths()).toEqual(before);
  });

  it.each([
    ['fileCopy', { from: 'page.html' }],
    ['fileMove', { from: 'page.html' }],
    ['folderCopy', { from: 'f' }],
    ['folderMove', { from: 'f' }],
  ])('obeys the extensions of the target: %s', async (action, fields) => {
    const service = await startService(two);
    await service.source('photos').put({ 'page.html': '<p>', 'f/a.txt': '1', 'f/x/page.html': '<p>' });
    const before = await service.source('photos').paths();
    const answer = await service.call(action, { source: 'archive', fromSource: 'photos', ...fields });
    expect(answer.status).toBe(403);
    expect(await service.source('archive').paths()).toEqual([]);
    expect(await service.source('photos').paths()).toEqual(before);
  });

  it('keeps what somebody replaces while its folder is moved, also by as many bytes, and says so', async () => {
    const inner = new MemoryAdapter();
    await put(inner, 'f/a.txt', Buffer.from('old'));
    await put(inner, 'f/b.txt', Buffer.from('same'));
    const storageAdapter = registered(changing(inner, 'f/a.txt', Buffer.from('new')));
    const service = await startService({ sources: { photos: { storageAdapter }, archive: {} } });
    const answer = await service.call('folderMove', { source: 'archive', fromSource: 'photos', from: 'f' });
    expect(answer.status).toBe(500);
    expect(answer.messages.join()).toContain('1 item stays where it was (1 changed or added meanwhile)');
    expect((await bytesAt(inner, 'f/a.txt')).toString()).toBe('new');
    await expect(bytesAt(inner, 'f/b.txt')).rejects.toThrow();
    expect(await service.source('archive').text('f/b.txt')).toBe('same');
  });

  it('tells of a folder that has moved but for a file, counts it, and old links lead to it', async () => {
    const inner = new MemoryAdapter();
    for (const name of ['a.txt', 'b.txt']) await put(inner, `f/${name}`, Buffer.from(name));
    const held = {
      operation: 'removeFile',
      effect: 'fail-before',
      call: 2,
      error: new StorageDeniedError(),
    } as const;
    const storageAdapter = registered(withFaults(inner, [held]));
    const serving = { baseurl: undefined, serve: 'public', redirectMoved: {}, createThumb: false };
    const told: unknown[] = [];
    const service = await startService(
      { quota: { bytes: 1000 }, sources: { photos: { ...serving, storageAdapter }, archive: serving } },
      { onEvent: ({ type, fromSource, source, path }) => void told.push([type, fromSource, source, path]) },
    );
    const used = async (): Promise<unknown> =>
      (await service.call('permissions', { source: 'archive' })).data['quota'];
    expect(await used()).toMatchObject({ usedBytes: 0 });
    const answer = await service.call('folderMove', { source: 'archive', fromSource: 'photos', from: 'f' });
    expect([answer.status, answer.data['error']]).toEqual([500, 'MOVED_IN_PART']);
    expect(told).toEqual([['folder.moved', 'photos', 'archive', 'f']]);
    await expect.poll(used).toMatchObject({ usedBytes: 10 });
    const answers = await Promise.all(
      ['a.txt', 'b.txt'].map((name) => fetch(`${service.url}/file/photos/f/${name}`, { redirect: 'manual' })),
    );
    // One has gone, the other is at both places.
    expect(answers.map(({ status }) => status).sort()).toEqual([200, 308]);
    const link = answers.find(({ status }) => status === 308)?.headers.get('location');
    expect(link).toMatch(/^\/file\/archive\/f\/[ab]\.txt$/u);
  });

  it('keeps a file that somebody replaces while it is moved, and leaves no copy', async () => {
    const inner = new MemoryAdapter();
    await put(inner, 'a.txt', Buffer.from('old'));
    const storageAdapter = registered(changing(inner, 'a.txt', Buffer.from('new')));
    const service = await startService({ sources: { photos: { storageAdapter }, archive: {} } });
    const fields = { source: 'archive', fromSource: 'photos', from: 'a.txt' };
    expect((await service.call('fileMove', fields)).status).toBe(412);
    expect((await bytesAt(inner, 'a.txt')).toString()).toBe('new');
    expect(await service.source('archive').paths()).toEqual([]);
  });

  it('keeps what an upload replaces during a move, where the store cannot tell the versions apart', async () => {
    const blind = new MemoryAdapter({}, () => 1_000_000);
    const untagged = <Found extends { readonly etag?: string | undefined }>(found: Found): Found => ({
      ...found,
      etag: undefined,
    });
    let upload: Promise<{ readonly status: number }> | undefined;
    const reading = afterReading(blind, async () => {
      upload ??= service.upload([['files[0]', 'a.txt', 'new']], { source: 'photos' });
      await Promise.race([upload, pause(300)]);
    });
    const storageAdapter = registered(
      replacing(reading, {
        stat: async (...input) => untagged(await blind.stat(...input)),
        read: async (...input) => {
          const { stat, stream } = await reading.read(...input);
          return { stat: untagged(stat), stream };
        },
        write: async (...input) => untagged(await blind.write(...input)),
        // All versions have the same length and time.
        removeFile: (path) => blind.removeFile(path),
      }),
    );
    const photos = { storageAdapter, saveSameFileNameStrategy: 'replace' } as const;
    const service = await startService({ sources: { photos, archive: {} } });
    await put(blind, 'a.txt', Buffer.from('old'));
    const fields = { source: 'archive', fromSource: 'photos', from: 'a.txt' };
    expect(await service.call('fileMove', fields)).toMatchObject({ status: 200 });
    expect((await upload)?.status).toBe(200);
    expect((await bytesAt(blind, 'a.txt')).toString()).toBe('new');
    expect(await service.source('archive').text('a.txt')).toBe('old');
  });

  it.each(['a.txt', 'f'])(
    'leaves no copy of %s where the rules of its source deny the removal',
    async (from) => {
      const inner = new MemoryAdapter();
      await put(inner, 'a.txt', Buffer.from('a'));
      await put(inner, 'f/b.txt', Buffer.from('b'));
      const refused = {
        operation: 'removeFile',
        effect: 'fail-before',
        error: new StorageDeniedError(),
      } as const;
      const storageAdapter = registered(withFaults(inner, [refused]));
      const service = await startService({ sources: { photos: { storageAdapter }, archive: {} } });
      const fields = { source: 'archive', fromSource: 'photos', from };
      expect((await service.call('fileMove', fields)).status).toBe(500);
      expect(await service.source('archive').paths()).toEqual([]);
      expect((await bytesAt(inner, from === 'f' ? 'f/b.txt' : from)).length).toBe(1);
    },
  );

  it('refuses to move a folder that holds names which no path can have, before anything is copied', async () => {
    const inner = new MemoryAdapter();
    await put(inner, 'f/a.txt', Buffer.from('a'));
    const storageAdapter = registered(
      replacing(inner, {
        list: (folder: SourcePath, options?: ListOptions) => {
          if (folder.name === 'f') options?.onOmitted?.(2);
          return inner.list(folder, options);
        },
      }),
    );
    const service = await startService({ sources: { photos: { storageAdapter }, archive: {} } });
    const fields = { source: 'archive', fromSource: 'photos', from: 'f' };
    const answer = await service.call('folderMove', fields);
    expect(answer.status).toBe(400);
    expect(answer.messages.join()).toContain('2 items in it have names');
    expect(await service.source('archive').paths()).toEqual([]);
    expect((await bytesAt(inner, 'f/a.txt')).toString()).toBe('a');
    expect((await service.call('folderCopy', fields)).status).toBe(200);
    expect(await service.source('archive').paths()).toEqual(['f/', 'f/a.txt']);
  });

  it('copies once, and no more, when a name inside the folder is taken', async () => {
    const inner = new MemoryAdapter();
    const made: string[] = [];
    const storageAdapter = registered(
      replacing(inner, {
        makeFolder: (path: SourcePath) => {
          made.push(path.toString());
          return inner.makeFolder(path);
        },
        // As a store that ignores letter case.
        write: (path: SourcePath, content: Readable, options?: WriteOptions) =>
          path.name === 'Cat.txt'
            ? Promise.reject(new AlreadyExistsError())
            : inner.write(path, content, options),
      }),
    );
    const service = await startService({ sources: { photos: {}, archive: { storageAdapter } } });
    await service.source('photos').put({ 'f/Cat.txt': '1', 'f/cat.txt': '2' });
    const answer = await service.call('folderCopy', { source: 'archive', fromSource: 'photos', from: 'f' });
    expect(answer.status).toBe(400);
    expect(answer.messages.join()).toContain('inside the folder');
    expect(made).toEqual(['f']);
    await expect(inner.stat(SourcePath.parse('f'))).rejects.toThrow();
  });

  it('copies nothing of a folder that is being moved away, and says that it is gone', async () => {
    const inner = new MemoryAdapter();
    let copying: Promise<unknown> | undefined;
    const removeFile: MemoryAdapter['removeFile'] = async (...input) => {
      await inner.removeFile(...input);
      copying ??= service.call('folderCopy', { source: 'photos', from: 'd', path: 'in' });
      // It waits for the move.
      await Promise.race([copying, pause(100)]);
    };
    const storageAdapter = registered(replacing(inner, { removeFile }));
    const service = await startService({ sources: { photos: { storageAdapter }, archive: {} } });
    for (const path of ['d/a.txt', 'd/e/b.txt', 'in/c.txt']) await put(inner, path, path);
    const moved = await service.call('folderMove', { source: 'archive', fromSource: 'photos', from: 'd' });
    expect([moved.status, await copying]).toMatchObject([200, { status: 404 }]);
    expect(await service.source('archive').paths()).toEqual(['d/', 'd/a.txt', 'd/e/', 'd/e/b.txt']);
    const { data } = await service.call('folders', { source: 'photos', path: 'in' });
    expect(JSON.stringify(data)).not.toContain('"d"');
  });

  it('knows when two sources are one store', async () => {
    const inner = new MemoryAdapter();
    await put(inner, 'f/a.txt', Buffer.from('a'));
    await inner.makeFolder(SourcePath.parse('f/sub'));
    const storageAdapter = registered(inner);
    const service = await startService({ sources: { all: { storageAdapter }, again: { storageAdapter } } });
    const into = { source: 'again', fromSource: 'all', from: 'f', path: 'f/sub' };
    for (const action of ['folderCopy', 'folderMove']) {
      const answer = await service.call(action, into);
      expect([answer.status, answer.messages]).toEqual([400, ['A folder cannot be put into itself.']]);
    }
    for (const from of ['f', 'f/a.txt']) {
      const onto = { source: 'again', fromSource: 'all', from, path: from === 'f' ? '' : 'f' };
      expect((await service.call('fileMove', onto)).status).toBe(400);
    }
    expect((await bytesAt(inner, 'f/a.txt')).toString()).toBe('a');
  });

  it('closes what it does not read of a drawing whose size its store does not tell', async () => {
    const inner = new MemoryAdapter();
    await put(inner, 'a.svg', Buffer.from('<svg xmlns="http://www.w3.org/2000/svg" width="9" height="9"/>'));
    const opened: Readable[] = [];
    const unsized = <Found extends object>(found: Found) => ({ ...found, size: undefined });
    const storageAdapter = registered(
      replacing(inner, {
        stat: async (...input) => unsized(await inner.stat(...input)),
        read: async (...input) => {
          const { stat, stream } = await inner.read(...input);
          opened.push(stream);
          return { stat: unsized(stat), stream };
        },
      }),
    );
    const service = await startService({
      sanitizeSvg: true,
      extensions: ['svg'],
      sources: { photos: { storageAdapter }, archive: {} },
    });
    const fields = { source: 'archive', fromSource: 'photos', from: 'a.svg' };
    expect((await service.call('fileCopy', fields)).status).toBe(200);
    expect(opened.map(({ destroyed }) => destroyed)).toEqual(opened.map(() => true));
  });

  it('refuses to move a folder whose hidden contents would be lost', async () => {
    const service = await startService(two);
    const photos = service.source('photos');
    await photos.put({ 'f/a.txt': '1', 'f/.quarantine/b.txt': '2' });
    const before = await photos.paths();
    expect(
      (await service.call('folderMove', { source: 'archive', fromSource: 'photos', from: 'f' })).status,
    ).toBe(403);
    expect(await photos.paths()).toEqual(before);
    expect(await service.source('archive').paths()).toEqual([]);
  });

  it('checks both sources and every child by the rules', async () => {
    const rules = [
      { path: 'f/secret', FILE_MOVE: false, FOLDER_MOVE: false },
      { path: 'closed', FILE_COPY: false },
    ];
    const service = await startService({ ...two, accessControl: rules });
    await service.source('photos').put({ 'f/secret/a.txt': '1', 'b.txt': '2' });
    await service.source('archive').put({ 'closed/': '' });
    expect(
      (await service.call('folderMove', { source: 'archive', fromSource: 'photos', from: 'f' })).status,
    ).toBe(403);
    const copy = { source: 'archive', path: 'closed', fromSource: 'photos', from: 'b.txt' };
    expect((await service.call('fileCopy', copy)).status).toBe(403);
    expect(await service.source('archive').paths()).toEqual(['closed/']);
    expect(await service.source('photos').text('f/secret/a.txt')).toBe('1');
  });

  it('answers 404 for an unknown source and for what does not exist', async () => {
    const service = await startService(two);
    await service.source('photos').put({ 'a.txt': '1' });
    for (const fields of [
      { source: 'archive', fromSource: 'nowhere', from: 'a.txt' },
      { source: 'archive', fromSource: 'photos', from: 'b.txt' },
      { source: 'archive', path: 'nowhere', fromSource: 'photos', from: 'a.txt' },
    ]) {
      expect((await service.call('fileMove', fields)).status).toBe(404);
      expect((await service.call('fileCopy', fields)).status).toBe(404);
    }
    expect(await service.source('photos').paths()).toEqual(['a.txt']);
  });

  it('takes fromSource to be the source when they are one', async () => {
    const service = await startService(two);
    await service.source('photos').put({ 'f/a.txt': '1' });
    const fields = { source: 'photos', fromSource: 'photos', from: 'f/a.txt' };
    expect((await service.call('fileMove', fields)).status).toBe(200);
    expect(await service.source('photos').paths()).toEqual(['a.txt', 'f/']);
    const into = { source: 'photos', fromSource: 'photos', from: 'f', path: 'f' };
    expect((await service.call('folderCopy', into)).status).toBe(400);
  });

  describe('what the target asks of what enters it', () => {
    const settings = {
      extensions: ['txt', 'svg', 'jpg', 'ini', 'php', 'html'],
      imageExtensions: ['svg', 'jpg'],
      forceSingleExtension: true,
      sanitizeSvg: true,
      maxUploadFileSize: 100,
    };
    const script = '<svg xmlns="http://www.w3.org/2000/svg"><script>alert(1)</script><rect/></svg>';
    const startBoth = () =>
      startService({ sources: { photos: { extensions: settings.extensions }, archive: settings } });

    it.each([
      ['fileCopy', 'x.svg', 'x.svg'],
      ['fileMove', 'x.svg', 'x.svg'],
      ['folderCopy', 'f', 'f/x.svg'],
      ['folderMove', 'f', 'f/x.svg'],
    ])('%s cleans SVG files', async (action, from, arrived) => {
      const service = await startBoth();
      await service.source('photos').put({ 'x.svg': script, 'f/x.svg': script });
      const fields = { source: 'archive', fromSource: 'photos', from };
      expect((await service.call(action, fields)).status).toBe(200);
      const text = await service.source('archive').text(arrived);
      expect(text).toContain('<rect');
      expect(text).not.toContain('script');
      expect((await service.source('photos').paths()).includes(arrived)).toBe(action.endsWith('Copy'));
    });

    it('is not larger than the target accepts, also from a store that shows no sizes', async () => {
      const inner = new MemoryAdapter();
      const unsized = <Found extends { readonly size?: number | undefined }>(found: Found): Found => ({
        ...found,
        size: undefined,
      });
      const storageAdapter = registered(
        replacing(inner, {
          stat: async (...input) => unsized(await inner.stat(...input)),
          read: async (...input) => {
            const { stat, stream } = await inner.read(...input);
            return { stat: unsized(stat), stream };
          },
        }),
      );
      const extensions = ['txt', 'xml'];
      const photos = { storageAdapter, extensions };
      const service = await startService({
        sources: { photos, archive: { ...settings, extensions } },
      });
      for (const [name, content] of [
        ['a.xml', `<a>${'x'.repeat(200)}</a>`],
        ['a.txt', 'x'.repeat(200)],
      ] as const) {
        await put(inner, name, Buffer.from(content));
        const fields = { source: 'archive', fromSource: 'photos', from: name };
        expect([name, (await service.call('fileCopy', fields)).status]).toEqual([name, 403]);
      }
      expect(await service.source('archive').paths()).toEqual([]);
    });

    it.each(['fileCopy', 'fileMove'])('%s gives names as an upload does', async (action) => {
      const service = await startBoth();
      await service.source('photos').put({ 'a.php.txt': '1' });
      const fields = { source: 'archive', fromSource: 'photos', from: 'a.php.txt' };
      expect((await service.call(action, fields)).status).toBe(200);
      expect(await service.source('archive').paths()).toEqual(['a_php.txt']);
    });

    it('folderCopy gives names as an upload does', async () => {
      const service = await startBoth();
      await service.source('photos').put({ 'f/deep/a.php.txt': '1' });
      const fields = { source: 'archive', fromSource: 'photos', from: 'f' };
      expect((await service.call('folderCopy', fields)).status).toBe(200);
      expect(await service.source('archive').text('f/deep/a_php.txt')).toBe('1');
    });

    it.each([
      ['a file that servers obey', 'php.ini', 'x'],
      ['a file beyond the size limit', 'big.txt', 'x'.repeat(101)],
    ])('refuses %s, by itself and in a folder', async (_what, name, content) => {
      const service = await startBoth();
      await service.source('photos').put({ [name]: content, 'f/a.txt': '1', [`f/x/${name}`]: content });
      const before = await service.source('photos').paths();
      for (const [action, from] of [
        ['fileCopy', name],
        ['fileMove', name],
        ['folderCopy', 'f'],
        ['folderMove', 'f'],
      ] as const) {
        const answer = await service.call(action, { source: 'archive', fromSource: 'photos', from });
        expect(answer.status).toBe(403);
        expect(answer.messages.join()).toContain(name);
      }
      expect(await service.source('archive').paths()).toEqual([]);
      expect(await service.source('photos').paths()).toEqual(before);
    });
  });

  it('carries nothing out of a source that the source does not show', async () => {
    const service = await startService({
      sources: { photos: { extensions: ['txt'] }, archive: { extensions: ['txt', 'pem'] } },
    });
    await service.source('photos').put({ 'f/a.txt': '1', 'f/key.pem': 'SECRET', 'f/.DS_Store': 'x' });
    const before = await service.source('photos').paths();
    const fields = { source: 'archive', fromSource: 'photos', from: 'f' };
    expect((await service.call('folderMove', fields)).status).toBe(403);
    expect(await service.source('archive').paths()).toEqual([]);
    expect((await service.call('folderCopy', fields)).status).toBe(200);
    expect(await service.source('archive').paths()).toEqual(['f/', 'f/a.txt']);
    expect(await service.source('photos').paths()).toEqual(before);
  });

  it('moves folders in which macOS and Windows have left files, without these', async () => {
    const service = await startService({ sources: { photos: {}, archive: {} } });
    const left = { 'f/.DS_Store': 'x', 'f/in/._a.txt': 'x', 'f/in/Thumbs.db': 'x', 'f/Desktop.ini': 'x' };
    await service.source('photos').put({ 'f/in/a.txt': '1', ...left });
    const fields = { source: 'archive', fromSource: 'photos', from: 'f' };
    expect((await service.call('folderMove', fields)).status).toBe(200);
    expect(await service.source('archive').paths()).toEqual(['f/', 'f/in/', 'f/in/a.txt']);
    expect(await service.source('photos').paths()).toEqual([]);
  });

  it('checks what is inside a folder by the rules for where it goes', async () => {
    const rules = [{ path: 'in/f/inner', FILE_COPY: false, FILE_MOVE: false }];
    const service = await startService({ ...two, accessControl: rules });
    await service.source('photos').put({ 'f/inner/a.txt': '1' });
    await service.source('archive').put({ 'in/': '' });
    const fields = { source: 'archive', path: 'in', fromSource: 'photos', from: 'f' };
    for (const action of ['folderCopy', 'folderMove'])
      expect((await service.call(action, fields)).status).toBe(403);
    expect(await service.source('archive').paths()).toEqual(['in/']);
    expect(await service.source('photos').text('f/inner/a.txt')).toBe('1');
  });
});
