import { registerStorageAdapter } from 'stowage';
import { withFaults } from 'stowage/testing';
import { describe, expect, it } from 'vitest';
import { NotFoundError } from 'stowage/storage';
import { MemoryAdapter } from '#internals';
import { bytesAt, pathOf, put } from '../pictures/gallery.ts';
import { quarters } from '../pictures/pictures.ts';
import { afterReading, changing, withCapabilities } from './changing-store.ts';
import { boxOf } from './images.ts';
import { startService } from './service.ts';

const box = boxOf({ w: 9, h: 9 });

describe('editing an image in place', () => {
  it('never overwrites what somebody else has stored meanwhile', async () => {
    const [old, newer] = [await quarters(40, 40).png().toBuffer(), await quarters(50, 50).png().toBuffer()];
    const inner = new MemoryAdapter();
    await put(inner, 'a.png', old);
    registerStorageAdapter('changing', { create: () => changing(inner, 'a.png', newer) });
    const service = await startService({ sources: { files: { storageAdapter: 'changing' } } });
    const answer = await service.call('imageResize', { name: 'a.png', ...box });
    expect(answer.status).toBe(412);
    expect(await bytesAt(inner, 'a.png')).toEqual(newer);
  });

  it('does neither on stores that cannot compare and replace in one step', async () => {
    const old = await quarters(40, 40).png().toBuffer();
    const newer = await quarters(50, 50).png().toBuffer();
    const inner = new MemoryAdapter();
    const plain = withCapabilities(inner, { ifMatch: false });
    await put(inner, 'a.png', old);
    registerStorageAdapter('changing-plain', { create: () => changing(plain, 'a.png', newer) });
    const service = await startService({ sources: { files: { storageAdapter: 'changing-plain' } } });
    expect((await service.call('imageResize', { name: 'a.png', ...box })).status).toBe(412);
    expect(await bytesAt(inner, 'a.png')).toEqual(newer);
  });

  it('does not bring back what somebody else has removed meanwhile', async () => {
    for (const ifMatch of [true, false]) {
      const inner = new MemoryAdapter();
      await put(inner, 'a.png', await quarters(40, 40).png().toBuffer());
      const name = `removing-${String(ifMatch)}`;
      const removing = afterReading(withCapabilities(inner, { ifMatch }), () =>
        inner.removeFile(pathOf('a.png')),
      );
      registerStorageAdapter(name, { create: () => removing });
      const service = await startService({ sources: { files: { storageAdapter: name } } });
      expect([404, 412]).toContain((await service.call('imageResize', { name: 'a.png', ...box })).status);
      await expect(inner.stat(pathOf('a.png'))).rejects.toThrow(NotFoundError);
    }
  });

  it('leaves the image whole when the store breaks while it is read or written', async () => {
    const old = await quarters(400, 400).png().toBuffer();
    for (const fault of [
      { operation: 'read', effect: 'cut', bytes: 100 },
      { operation: 'read', effect: 'short', bytes: 100 },
      { operation: 'write', effect: 'cut', bytes: 10 },
      { operation: 'write', effect: 'fail-before' },
    ] as const) {
      const inner = new MemoryAdapter();
      await put(inner, 'a.png', old);
      const name = `breaking-${fault.operation}-${fault.effect}`;
      registerStorageAdapter(name, { create: () => withFaults(inner, [fault]) });
      const service = await startService({ sources: { files: { storageAdapter: name } } });
      const { status } = await service.call('imageResize', { name: 'a.png', ...box });
      expect([name, status]).toEqual([name, fault.effect === 'short' ? 400 : 500]);
      expect(await bytesAt(inner, 'a.png')).toEqual(old);
      expect((await inner.stat(pathOf('a.png'))).size).toBe(old.length);
    }
  });
});
