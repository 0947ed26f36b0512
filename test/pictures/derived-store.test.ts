import { expect, it } from 'vitest';
import { UnsafePathError, derivedStoreOf } from '#internals';
import { bytesAt, createGallery, entriesOf, pathOf, put } from './gallery.ts';

it('changes derived files, and no others', async () => {
  const gallery = createGallery();
  const store = await derivedStoreOf(gallery.source);
  const content = Buffer.from('content');
  await put(gallery.storage, 'a/b.png', 'original');
  await put(gallery.storage, '_thumbs', 'a file');
  const derived = pathOf('a/_thumbs/b.png');
  for (const path of ['a/b.png', 'b.png', '_thumbs', 'a/_thumbs', '_thumbs/card/deep/b.png'].map(pathOf)) {
    await expect(store.write(path, content, {})).rejects.toThrow(UnsafePathError);
    await expect(store.remove(path)).rejects.toThrow(UnsafePathError);
    for (const kind of ['move', 'copy'] as const) {
      await expect(store[kind](path, derived)).rejects.toThrow(UnsafePathError);
      await expect(store[kind](derived, path)).rejects.toThrow(UnsafePathError);
    }
  }
  await store.write(derived, content, {});
  await store.copy(derived, pathOf('a/_thumbs/card/b.png'));
  await store.move(derived, pathOf('c/_thumbs/b.png'));
  await store.removeEmptyFolders(derived, pathOf('a'));
  expect(await bytesAt(gallery.storage, 'a/b.png')).toEqual(Buffer.from('original'));
  await store.remove(pathOf('c/_thumbs/b.png'));
  await store.removeEmptyFolders(pathOf('c/_thumbs/b.png'), pathOf('c'));
  expect((await entriesOf(gallery.storage)).map(({ name }) => name)).toEqual(['a']);
});
