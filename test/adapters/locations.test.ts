import {
  containsLocation,
  isSameLocation,
  SourcePath,
  type StorageAdapter,
  type StoreIdentity,
} from 'stowage/storage';
import { describe, expect, it } from 'vitest';
import { MemoryAdapter } from '../../dist/internals.js';

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
