import { randomUUID } from 'node:crypto';
import { mkdtemp, readdir, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { EventEmitter, once } from 'node:events';
import { setTimeout } from 'node:timers/promises';
import { registerStorageAdapter } from 'stowage';
import { describe, expect, it, onTestFinished, vi } from 'vitest';
import { MemoryAdapter, openLocalAdapter } from '#internals';
import type { StagedFile, StorageAdapter } from '../../packages/stowage/dist/storage/adapter.js';
import { heicFile } from '../pictures/heic-files.ts';
import { photo, quarters } from '../pictures/pictures.ts';
import { formOf, silent, startService } from './service.ts';

/** A store that knows which staged files are neither committed nor discarded. */
interface Watched {
  readonly store: StorageAdapter;
  readonly open: Set<StagedFile>;
}

const watch = (inner: StorageAdapter & Required<Pick<StorageAdapter, 'stage'>>): Watched => {
  const open = new Set<StagedFile>();
  const stage: typeof inner.stage = async (...input) => {
    const staged = await inner.stage(...input);
    open.add(staged);
    return {
      size: staged.size,
      open: () => staged.open(),
      commit: async (...target) => {
        const stat = await staged.commit(...target);
        open.delete(staged);
        return stat;
      },
      discard: async () => {
        await staged.discard();
        open.delete(staged);
      },
    };
  };
  const store = new Proxy(inner, {
    get: (target, key) => {
      if (key === 'stage') return stage;
      const member: unknown = Reflect.get(target, key);
      return typeof member === 'function' ? (member.bind(target) as unknown) : member;
    },
  });
  return { store, open };
};

const stores = {
  memory: () => Promise.resolve(new MemoryAdapter()),
  local: async () => {
    const root = await mkdtemp(join(tmpdir(), 'stowage-aborted-'));
    onTestFinished(() => rm(root, { recursive: true, force: true }));
    return Object.assign(await openLocalAdapter({ root, log: silent }), { root });
  },
};

describe.each(['memory', 'local'] as const)(
  'a client that leaves while its picture is worked on (%s)',
  (kind) => {
    it.each([
      ['a.jpg', () => photo(4000, 3000)],
      ['a.heic', () => Promise.resolve(heicFile('flat'))],
    ] as const)('leaves nothing: %s', async (name, content) => {
      const { store, open } = watch(await stores[kind]());
      const storageAdapter = `watched-${randomUUID()}`;
      registerStorageAdapter(storageAdapter, { create: () => store });
      const events = new EventEmitter();
      const service = await startService(
        {
          sources: { files: { storageAdapter, root: undefined } },
          uploadImages: { maxWidth: 3900, keepOriginal: '_originals' },
          quota: { bytes: '100mb' },
          // Room for one at a time: what comes next waits for the end of the first.
          imageMemory: '330mb',
        },
        { beforeEvent: () => void events.emit('received') },
      );
      const large = new Uint8Array(await content());
      const leaving = new AbortController();
      const received = once(events, 'received');
      const request = fetch(`${service.url}/fileUpload`, {
        method: 'POST',
        body: formOf([['files[0]', name, large]]),
        signal: leaving.signal,
      });
      await received;
      // By then its header is read, and its pixels are not.
      await setTimeout(20);
      leaving.abort();
      await expect(request).rejects.toThrow();
      const small = new Uint8Array(await quarters().png().toBuffer());
      const next = await Promise.all(
        ['1.png', '2.png', '3.png', '4.png'].map((file) => service.upload([['files[0]', file, small]])),
      );
      expect(next.map(({ status }) => status)).toEqual([200, 200, 200, 200]);
      await vi.waitFor(() => expect(open.size).toBe(0));
      const { data } = await service.call('files', { 'mods[withFolders]': 'true' });
      const [listed] = data['sources'] as { files: { file: string }[] }[];
      expect(listed?.files.map(({ file }) => file).sort()).toEqual(['1.png', '2.png', '3.png', '4.png']);
      const { quota } = (await service.call('permissions', { source: 'files' })).data;
      expect(quota).toMatchObject({ usedBytes: 4 * small.length });
      if ('root' in store) {
        const names = await readdir(String(store.root), { recursive: true });
        expect(names.filter((one) => one.includes('_originals') || /\.(?:jpg|heic)$/u.test(one))).toEqual([]);
      }
    });
  },
);
