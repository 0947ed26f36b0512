import { randomUUID } from 'node:crypto';
import { Readable } from 'node:stream';
import { text } from 'node:stream/consumers';
import { registerStorageAdapter } from 'stowage';
import { withFaults, type Fault } from 'stowage/testing';
import { describe, expect, it } from 'vitest';
import { SourcePath, type StorageAdapter } from 'stowage/storage';
import { MemoryAdapter } from '#internals';
import { photo } from '../pictures/pictures.ts';
import { create, patch, startTus } from './tus-client.ts';

/** Sends `the content` as `a.txt` to a service whose store fails at one write, and asks again. */
const sendTwice = async (
  options: object,
  there: Readonly<Record<string, string>>,
  effect: Fault['effect'],
  call = 1,
) => {
  const storageAdapter = `failing-${randomUUID()}`;
  const store = new MemoryAdapter();
  for (const [name, content] of Object.entries(there))
    await store.write(SourcePath.parse(name), Readable.from([Buffer.from(content)]));
  registerStorageAdapter(storageAdapter, {
    create: () => withFaults(store, [{ operation: 'write', effect, call }]),
  });
  const sources = { files: { storageAdapter } };
  const service = await startTus({ sources, quota: { bytes: 1000 }, ...options });
  const { address } = await create(service.tus, 11, { filename: 'a.txt' });
  expect((await patch(address, 0, 'the content')).status).toBe(500);
  const { status, data } = await patch(address, 11, '');
  const files: Record<string, string> = {};
  for await (const page of store.list(SourcePath.root))
    for (const { name } of page) files[name] = await text((await store.read(SourcePath.parse(name))).stream);
  const used = async (): Promise<unknown> => {
    const { quota } = (await service.call('permissions', { source: '' })).data as { quota: object };
    return (quota as { usedBytes?: number }).usedBytes;
  };
  await expect.poll(used).toBe(Object.values(files).join('').length);
  return { answer: [status, data['files']], files };
};

describe('an upload in parts whose store loses its answer', () => {
  it.each(['addNumber', 'replace', 'error'])('is stored once: %s', async (saveSameFileNameStrategy) => {
    const { answer, files } = await sendTwice({ saveSameFileNameStrategy }, {}, 'fail-after');
    expect(answer).toEqual([200, ['a.txt']]);
    expect(files).toEqual({ 'a.txt': 'the content' });
  });

  it('is found under the number that it got', async () => {
    const there = { 'a.txt': 'of the same', 'a-1.txt': 'shorter' };
    // The store decides about names: two writes are refused before.
    const { answer, files } = await sendTwice({}, there, 'fail-after', 3);
    expect(answer).toEqual([200, ['a-2.txt']]);
    expect(files).toEqual({ ...there, 'a-2.txt': 'the content' });
  });

  it('is stored where that had failed', async () => {
    const there = { 'a.txt': 'of the same' };
    const { answer, files } = await sendTwice({}, there, 'fail-before');
    expect(answer).toEqual([200, ['a-1.txt']]);
    expect(files).toEqual({ ...there, 'a-1.txt': 'the content' });
  });

  it('does not remove what it has found when it fails afterwards', async () => {
    const store = new MemoryAdapter();
    const picture = new Uint8Array(await photo(60, 40));
    const startOn = (create: () => StorageAdapter): ReturnType<typeof startTus> => {
      const storageAdapter = `found-${randomUUID()}`;
      registerStorageAdapter(storageAdapter, { create });
      const uploadImages = { maxWidth: 20, keepOriginal: '_originals' };
      return startTus({ sources: { files: { storageAdapter } }, createThumb: false, uploadImages });
    };
    const other = await startOn(() => store);
    expect((await other.upload([['files[0]', 'a.jpg', picture]])).status).toBe(200);
    const failing = await startOn(() =>
      withFaults(store, [
        { operation: 'commit', effect: 'fail-before', call: 1 },
        { operation: 'write', effect: 'fail-before' },
      ]),
    );
    const { address } = await create(failing.tus, picture.length, { filename: 'a.jpg' });
    expect((await patch(address, 0, picture)).status).toBe(500);
    // The second try finds the picture of the other upload, and cannot keep its own original.
    expect((await patch(address, picture.length, '')).status).toBe(500);
    expect(await store.stat(SourcePath.parse('a.jpg'))).toMatchObject({ kind: 'file' });
  });
});
