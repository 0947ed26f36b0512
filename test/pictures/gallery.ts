import { Readable } from 'node:stream';
import { SourcePath } from 'stowage/storage';
import {
  MemoryAdapter,
  createSilentLogger,
  createThumbnails,
  createTrashRecords,
  KnownRecords,
  settingsSchema,
} from '#internals';
import type { SettingsInput } from '../../packages/stowage/dist/config/settings.js';
import type { ThumbnailsOptions } from '../../packages/stowage/dist/pictures/kept/create-thumbnails.js';
import type { Thumbnails } from '../../packages/stowage/dist/pictures/kept/thumbnails.js';
import type { Source } from '../../packages/stowage/dist/sources/source.js';
import type { Entry, StorageAdapter } from '../../packages/stowage/dist/storage/adapter.js';

export const pathOf = (text: string): SourcePath => SourcePath.parse(text);

/** All bytes of a stored file. */
export const bytesAt = async (storage: StorageAdapter, path: string): Promise<Buffer> => {
  const { stream } = await storage.read(pathOf(path));
  return Buffer.concat((await stream.toArray()) as Buffer[]);
};

export const put = async (storage: StorageAdapter, path: string, content: Buffer | string): Promise<void> => {
  await storage.write(pathOf(path), Readable.from([Buffer.from(content)], { objectMode: false }));
};

/** The entries of a folder without its thumbnails, by name. */
export const entriesOf = async (storage: StorageAdapter, folder = ''): Promise<Entry[]> => {
  const entries: Entry[] = [];
  for await (const page of storage.list(pathOf(folder))) entries.push(...page);
  return entries.filter(({ name }) => name !== '_thumbs').sort((a, b) => (a.name < b.name ? -1 : 1));
};

/** A source whose thumbnails are looked at. */
export interface Gallery {
  readonly storage: StorageAdapter;
  readonly source: Source;
  readonly thumbnails: Thumbnails;
  /** Lists a folder: the thumbnail of each entry by name. */
  list(folder?: string, signal?: AbortSignal): Promise<Record<string, string | undefined>>;
  /** Stores a file in the root, lists it alone and gives the path of its thumbnail and that file's bytes. */
  show(name: string, content: Buffer | string): Promise<{ thumb: string | undefined; bytes: Buffer }>;
}

/** A gallery in memory, or on another store. */
export const createGallery = (
  settings: Partial<SettingsInput> = {},
  options: Partial<ThumbnailsOptions> & { readonly storage?: StorageAdapter } = {},
): Gallery => {
  const storage = options.storage ?? new MemoryAdapter({ maxBytes: 1024 ** 3 });
  const thumbnails = createThumbnails({ log: createSilentLogger(), ...options });
  const source: Source = {
    key: 'gallery',
    name: 'gallery',
    title: 'Gallery',
    baseurl: 'http://localhost/',
    baseurlAliases: [],
    servesItself: false,
    tenant: undefined,
    scope: undefined,
    settings: settingsSchema.parse(settings),
    storage: () => Promise.resolve(storage),
    holdsOtherRoot: () => Promise.resolve(false),
    trashRecords: createTrashRecords(),
    movedRecords: new KnownRecords(),
  };
  const describe = async (
    folder: string,
    entries: readonly Entry[],
    signal?: AbortSignal,
  ): Promise<Record<string, string | undefined>> => {
    const thumbs = await thumbnails.describe(source, pathOf(folder), entries, { signal });
    return Object.fromEntries(entries.map((entry, index) => [entry.name, thumbs(entry, index)]));
  };
  return {
    storage,
    source,
    thumbnails,
    list: async (folder = '', signal) => describe(folder, await entriesOf(storage, folder), signal),
    show: async (name, content) => {
      await put(storage, name, content);
      const entries = (await entriesOf(storage)).filter((entry) => entry.name === name);
      const { [name]: thumb } = await describe('', entries);
      return { thumb, bytes: thumb === undefined ? Buffer.alloc(0) : await bytesAt(storage, thumb) };
    },
  };
};
