import { LRUCache } from 'lru-cache';
import { forEachAtOnce } from '../../basics/concurrency/queues.ts';
import { extensionOf } from '../../basics/content/file-type.ts';
import type { Settings } from '../../config/settings.ts';
import { derivedStoreOf, type Source } from '../../sources/source.ts';
import type { Entries } from '../../storage/entry.ts';
import { createStoreKeys } from '../../storage/location.ts';
import type { Entry, ReadableStore } from '../../storage/readable.ts';
import type { SourcePath } from '../../storage/source-path.ts';
import { type PictureSize, sizeWithin } from '../engine.ts';
import type { ImagePool } from '../image-editor.ts';
import { type ReadPart, withoutLongMetadata } from '../metadata/jpeg.ts';
import { inMemory } from '../picture-file.ts';
import type { SourceLocation, Variants } from './thumbnails.ts';

/** Displayed sizes of stored pictures, read from their headers. */
export interface PictureSizes {
  /**
   * The sizes of the images among the entries of a folder, in their order; undefined for other entries, and
   * where the header does not contain it. Reads the first 64 KB of each, of a JPEG with more metadata up to 2
   * MB, eight at a time, and caches sizes by version. Never rejects for a single picture.
   * @throws the signal's reason
   */
  of(
    source: Source,
    folder: SourcePath,
    entries: Entries,
    signal: AbortSignal,
  ): Promise<readonly (PictureSize | undefined)[]>;
  /** Caches the size of this version of a picture from its bytes, so that its header need not be read. */
  learn(files: ReadableStore, path: SourcePath, entry: Entry, image: Buffer): Promise<void>;
  /**
   * Drops the size of a picture with new content, perhaps of the same length and in the same second: stores
   * without versions do not distinguish it from the former one.
   */
  forget(location: SourceLocation): Promise<void>;
}

const HEADER_BYTES = 64 * 1024;
const AT_ONCE = 8;
/** A limit by size: the cache would preallocate lists for a limit by number. */
const REMEMBERED = 20_000;

interface Known {
  readonly entry: Pick<Entry, 'modifiedAt' | 'changedAt' | 'size' | 'etag'>;
  readonly size: PictureSize | undefined;
}

const isSameVersion = (one: Known['entry'], other: Known['entry']): boolean =>
  one.modifiedAt === other.modifiedAt &&
  one.changedAt === other.changedAt &&
  one.size === other.size &&
  // Some listings omit it.
  (one.etag === undefined || other.etag === undefined || one.etag === other.etag);

const partReader =
  (storage: ReadableStore, path: SourcePath, size: number, signal: AbortSignal): ReadPart =>
  async (start, length) => {
    const end = Math.min(size, start + length) - 1;
    if (end < start) return Buffer.alloc(0);
    const read = await storage.read(path, { range: { start, end }, bytesUpTo: length, signal });
    return inMemory(read, length, signal);
  };

const sizeOf = async (engine: ImagePool['engine'], name: string, readPart: ReadPart) => {
  const header = await readPart(0, HEADER_BYTES);
  if (extensionOf(name) === 'svg') return (await import('../svg/svg-size.ts')).svgSize(header);
  const size = await engine.size(header);
  if (size !== undefined || header.length < HEADER_BYTES) return size;
  const shorter = await withoutLongMetadata(header, readPart);
  return shorter && engine.size(shorter);
};

export const createPictureSizes = ({ engine }: Pick<ImagePool, 'engine'>): PictureSizes => {
  const known = new LRUCache<string, Known>({ maxSize: REMEMBERED, sizeCalculation: () => 1 });
  const keyOf = createStoreKeys();

  const read = async (key: string, entry: Entry, readPart: ReadPart): Promise<PictureSize | undefined> => {
    const size = await sizeOf(engine, entry.name, readPart);
    const { modifiedAt, changedAt, size: bytes, etag } = entry;
    known.set(key, { entry: { modifiedAt, changedAt, size: bytes, etag }, size });
    return size;
  };

  return {
    learn: async (files, { parent, name }, entry, image) => {
      const key = `${keyOf(files, parent)}/${name}`;
      await read(key, entry, async (start, length) => image.subarray(start, start + length));
    },
    forget: async ({ source, path: { parent, name } }) => {
      const { files } = await derivedStoreOf(source);
      known.delete(`${keyOf(files, parent)}/${name}`);
    },
    of: async (source, folder, entries, signal) => {
      const images = new Set(source.settings.imageExtensions);
      const sizes = new Array<PictureSize | undefined>(entries.length).fill(undefined);
      const { files: storage } = await derivedStoreOf(source);
      const prefix = `${keyOf(storage, folder)}/`;
      const unread: { readonly index: number; readonly key: string; readonly entry: Entry }[] = [];
      // Cached sizes first, without a promise for each.
      let index = -1;
      for (const entry of entries) {
        index += 1;
        if (entry.kind !== 'file' || entry.size === 0) continue;
        const extension = extensionOf(entry.name) ?? '';
        if (!images.has(extension)) continue;
        const key = prefix + entry.name;
        const row = known.get(key);
        if (row !== undefined && isSameVersion(row.entry, entry)) sizes[index] = row.size;
        else unread.push({ index, key, entry });
      }
      await forEachAtOnce(AT_ONCE, unread, async ({ index: at, key, entry }) => {
        try {
          const path = folder.child(entry.name);
          const readPart = partReader(storage, path, entry.size ?? HEADER_BYTES, signal);
          sizes[at] = await read(key, entry, readPart);
        } catch {
          // Removed meanwhile, or temporarily unreadable: the listing omits its size.
          signal.throwIfAborted();
        }
      });
      return sizes;
    },
  };
};

/** The sizes of variants in pixels, by preset. */
export const variantSizesOf = (
  presets: Settings['imagePresets'],
  variants: Variants | undefined,
  seen: { readonly [Side in keyof PictureSize]?: number | undefined } | undefined,
): Readonly<Record<string, PictureSize>> | undefined => {
  const { width, height } = seen ?? {};
  if (variants === undefined || width === undefined || height === undefined) return undefined;
  const sized = Object.entries(presets).filter(([name]) => Object.hasOwn(variants, name));
  return Object.fromEntries(
    sized.map(([name, { fit, ...box }]) => [
      name,
      sizeWithin({ width: box.width, height: box.height, fit }, { width, height }),
    ]),
  );
};
