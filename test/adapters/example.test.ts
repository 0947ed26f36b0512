import { describe, expect, it } from 'vitest';
import { createApp } from 'stowage';
import { registerStorageAdapter } from 'stowage/storage';
import { describeStorageConformance } from 'stowage/testing';
import { createMapStore, KeyValueAdapter } from '../../examples/storage-adapter.js';
import { createSilentLogger } from '#internals';

describeStorageConformance({ describe, it }, 'the adapter of the examples', {
  open: () => ({ adapter: new KeyValueAdapter(createMapStore()) }),
});

describe('a registered adapter', () => {
  it('serves a source of its name', async () => {
    const app = createApp(
      {
        sources: { notes: { title: 'Notes', baseurl: 'https://example.com/notes/', storageAdapter: 'map' } },
      },
      {},
      { logger: createSilentLogger() },
    );
    const made = await app.fetch(new Request('http://localhost/folderCreate?name=new'));
    expect(await made.json()).toMatchObject({ success: true });
    const listed = await app.fetch(new Request('http://localhost/folders'));
    expect(await listed.json()).toMatchObject({
      data: { sources: [{ name: 'notes', folders: ['.', 'new'] }] },
    });
    await app.close();
  });

  it.each(['local', 's3', 'webdav', 'memory', '', ' '])('cannot take the name "%s"', (name) => {
    const factory = { create: () => new KeyValueAdapter(createMapStore()) };
    expect(() => registerStorageAdapter(name, factory)).toThrow(/storage adapter/u);
  });
});
