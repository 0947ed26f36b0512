import { Readable } from 'node:stream';
import { describe, expect, it } from 'vitest';
import { describeStorageConformance, withFaults } from 'stowage/testing';
import { SourcePath, StorageFullError } from 'stowage/storage';
import { capabilitiesOf, MemoryAdapter, memoryFactory } from '#internals';

const at = (text: string) => SourcePath.parse(text);
const bytes = (length: number) => Readable.from([Buffer.alloc(length)], { objectMode: false });

const promises = capabilitiesOf('memory');

describeStorageConformance({ describe, it }, 'the memory adapter', {
  open: () => ({ adapter: new MemoryAdapter() }),
  promises,
});
describeStorageConformance({ describe, it }, 'the memory adapter through a decorator without faults', {
  open: () => ({ adapter: withFaults(new MemoryAdapter(), []) }),
  promises,
});
describeStorageConformance({ describe, it }, 'the memory adapter with nothing but the required operations', {
  open: () => ({
    adapter: withFaults(new MemoryAdapter(), [], { hide: ['copyFolder', 'moveFolder', 'stage', 'statMany'] }),
  }),
  promises: { ...promises, atomicFolderMove: false },
});

describe('the bound of the memory adapter', () => {
  it('refuses what does not fit, keeps what was there, and has the room back after a removal', async () => {
    const adapter = new MemoryAdapter({ maxBytes: 10_000 });
    for (let round = 0; round < 5; round += 1) {
      await adapter.write(at('f/a.bin'), bytes(6000));
      await expect(adapter.write(at('f/b.bin'), bytes(6000))).rejects.toBeInstanceOf(StorageFullError);
      await expect(adapter.copyFile(at('f/a.bin'), at('f/b.bin'))).rejects.toBeInstanceOf(StorageFullError);
      await expect(adapter.stage(bytes(6000))).rejects.toBeInstanceOf(StorageFullError);
      await adapter.moveFile(at('f/a.bin'), at('g/a.bin'));
      expect((await adapter.stat(at('g/a.bin'))).size).toBe(6000);
      await adapter.removeFolder(at('g'));
      const staged = await adapter.stage(bytes(6000));
      await staged.discard();
    }
  });

  it('has room for the new file only once the old one is gone, and gives the old one back', async () => {
    const adapter = new MemoryAdapter({ maxBytes: 13_000 });
    for (let round = 0; round < 10; round += 1) await adapter.write(at('a.bin'), bytes(6000));
    expect((await adapter.stat(at('a.bin'))).size).toBe(6000);
  });

  it('counts names and folders too', async () => {
    const adapter = new MemoryAdapter({ maxBytes: 10_000 });
    const making = (async () => {
      for (let index = 0; index < 1000; index += 1) await adapter.makeFolder(at(`folder-${index}`));
    })();
    await expect(making).rejects.toBeInstanceOf(StorageFullError);
  });

  it('reads its options, and names what is wrong with them', () => {
    const parse = memoryFactory.parseOptions;
    expect(parse?.(undefined)).toEqual({ value: {} });
    expect(parse?.({ maxBytes: 5 })).toEqual({ value: { maxBytes: 5 } });
    expect(parse?.({ maxBytes: '5', other: 1 })).toEqual({
      problems: ['maxBytes: must be a whole number of bytes above 0', 'other: is not a known key'],
    });
    expect(parse?.([])).toEqual({ problems: [': must be an object'] });
  });
});
