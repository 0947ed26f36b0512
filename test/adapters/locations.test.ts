import {
  containsLocation,
  isSameLocation,
  SourcePath,
  type StorageAdapter,
  type StoreIdentity,
  BusyError,
} from 'stowage/storage';
import { describe, expect, it } from 'vitest';
import { createLocationLocks, MemoryAdapter } from '#internals';

const store = (identity: StoreIdentity | undefined, caseSensitive = true): StorageAdapter => {
  const adapter = new MemoryAdapter();
  return Object.assign(adapter, { identity, capabilities: { ...adapter.capabilities, caseSensitive } });
};
const on = (storage: StorageAdapter, path: string) => ({ storage, path: SourcePath.parse(path) });

describe('locations of two stores', () => {
  const all = store({ backend: 'disk', root: ['srv'] });
  const photos = store({ backend: 'disk', root: ['srv', 'photos'] });

  it('are one, or lie in each other, by what their identities say', () => {
    expect(isSameLocation(on(all, 'photos/a'), on(photos, 'a'))).toBe(true);
    expect(containsLocation(on(all, 'photos'), on(photos, 'a/b'))).toBe(true);
    expect(containsLocation(on(photos, ''), on(all, 'photos/a'))).toBe(true);
    expect(containsLocation(on(photos, 'a'), on(all, 'photos'))).toBe(false);
    expect(containsLocation(on(all, 'photo'), on(photos, ''))).toBe(false);
  });

  it('are not compared where the backends differ or are not known', () => {
    const elsewhere = store({ backend: 'another disk', root: ['srv'] });
    const unknown = store(undefined);
    expect(containsLocation(on(all, ''), on(elsewhere, 'a'))).toBe(false);
    expect(containsLocation(on(unknown, ''), on(store(undefined), 'a'))).toBe(false);
    expect(containsLocation(on(unknown, 'a'), on(unknown, 'a/b'))).toBe(true);
  });

  it('are compared without letter case where one of the stores ignores it', () => {
    const folding = store({ backend: 'disk', root: ['SRV'] }, false);
    expect(isSameLocation(on(folding, 'Photos/A'), on(photos, 'a'))).toBe(true);
    expect(isSameLocation(on(all, 'Photos'), on(all, 'photos'))).toBe(false);
    expect(isSameLocation(on(folding, 'Photos'), on(folding, 'photos'))).toBe(true);
  });
});

describe('locks of locations', () => {
  const storage = store(undefined);

  it.each([
    ['a folder waits for a file in it', 'folder/a.txt', 'folder'],
    ['a file waits for its folder', 'folder', 'folder/a.txt'],
    ['one waits for itself', 'a.txt', 'a.txt'],
  ])('%s', async (_title, first, second) => {
    const locks = createLocationLocks();
    const order: string[] = [];
    let end = (): void => undefined;
    const running = locks.hold(
      [on(storage, first)],
      {},
      () => new Promise<void>((resolve) => (end = resolve)),
    );
    const waiting = locks.hold([on(storage, second)], {}, async (hasWaited) => {
      order.push(`second, ${hasWaited ? 'after waiting' : 'immediately'}`);
    });
    await locks.hold([on(storage, 'other')], {}, async () => void order.push('other'));
    end();
    await Promise.all([running, waiting]);
    expect(order).toEqual(['other', 'second, after waiting']);
  });

  it('are not waited for longer than their limit, or than the request lasts', async () => {
    const locks = createLocationLocks(10);
    let end = (): void => undefined;
    const hang = () => new Promise<void>((resolve) => (end = resolve));
    const running = locks.hold([on(storage, 'folder')], {}, hang);
    const late = locks.hold([on(storage, 'folder/a.txt')], {}, async () => undefined);
    await expect(late).rejects.toBeInstanceOf(BusyError);
    const leaving = new AbortController();
    const left = locks.hold([on(storage, 'folder')], leaving, async () => undefined);
    leaving.abort(new Error('the client has left'));
    await expect(left).rejects.toThrow('the client has left');
    end();
    await running;
  });
});
