import { LRUCache } from 'lru-cache';
import { extensionOf } from '../basics/content/extension.ts';
import type { Source } from '../sources/source.ts';
import type { Entry, StorageAdapter } from '../storage/adapter.ts';
import type { SourcePath } from '../storage/source-path.ts';
import type { PictureSize } from './engine.ts';
import { collect, type ImagePool } from './image-pool.ts';
import { type ReadPart, withoutLongMetadata } from './metadata/jpeg-frame.ts';

/** Sizes of stored pictures as they are meant to be seen, read from their headers. */
export interface PictureSizes {
  /**
   * The sizes of the images among the entries of a folder, in their order; undefined for other entries and
   * where the header does not say. Reads the first 64 KB of each, of a JPEG with more metadata up to 2 MB, eight at
   * a time, and remembers them by version. Never rejects for a single picture.
   * @throws the signal's reason
   */
  of(
    source: Source,
    folder: SourcePath,
    entries: readonly Entry[],
    signal: AbortSignal,
  ): Promise<readonly (PictureSize | undefined)[]>;
}

const HEADER_BYTES = 64 * 1024;
const AT_ONCE = 8;
/** Given to the cache as a size: as a number of entries it would make lists of that length at the start. */
const REMEMBERED = 20_000;

/** What is known of a picture; `size` is undefined when its header does not say. */
interface Known {
  readonly entry: Pick<Entry, 'modifiedAt' | 'changedAt' | 'size'>;
  readonly size: PictureSize | undefined;
}

const isSameVersion = (one: Known['entry'], other: Known['entry']): boolean =>
  one.modifiedAt === other.modifiedAt && one.changedAt === other.changedAt && one.size === other.size;

/** A picture of a page whose size is not remembered, or was that of another version. */
interface Unread {
  readonly index: number;
  readonly key: string;
  readonly entry: Entry;
}

/** Reads parts of a file of a known size. */
const partReader =
  (storage: StorageAdapter, path: SourcePath, size: number, signal: AbortSignal): ReadPart =>
  async (start, length) => {
    const end = Math.min(size, start + length) - 1;
    if (end < start) return Buffer.alloc(0);
    const { stream } = await storage.read(path, { range: { start, end }, signal });
    return collect(stream, length, signal);
  };

const sizeOf = async (
  engine: ImagePool['engine'],
  header: Buffer,
  readPart: ReadPart,
): Promise<PictureSize | undefined> => {
  const size = await engine.size(header);
  if (size !== undefined || header.length < HEADER_BYTES) return size;
  const shorter = await withoutLongMetadata(header, readPart);
  return shorter && engine.size(shorter);
};

/** The sizes of one connector. */
export const createPictureSizes = ({ engine }: Pick<ImagePool, 'engine'>): PictureSizes => {
  const known = new LRUCache<string, Known>({ maxSize: REMEMBERED, sizeCalculation: () => 1 });
  const numbers = new WeakMap<StorageAdapter, number>();
  let stores = 0;

  const numberOf = (storage: StorageAdapter): number => {
    const number = numbers.get(storage) ?? (stores += 1);
    numbers.set(storage, number);
    return number;
  };

  /** Reads it, and remembers it under a key. */
  const read = async (
    storage: StorageAdapter,
    path: SourcePath,
    { key, entry }: Unread,
    signal: AbortSignal,
  ): Promise<PictureSize | undefined> => {
    const readPart = partReader(storage, path, entry.size ?? HEADER_BYTES, signal);
    const header = await readPart(0, HEADER_BYTES);
    const isDrawing = extensionOf(entry.name) === 'svg';
    const size = isDrawing
      ? (await import('./svg/svg-size.ts')).svgSize(header)
      : await sizeOf(engine, header, readPart);
    const { modifiedAt, changedAt, size: bytes } = entry;
    known.set(key, { entry: { modifiedAt, changedAt, size: bytes }, size });
    return size;
  };

  return {
    of: async (source, folder, entries, signal) => {
      const images = new Set(source.settings.imageExtensions);
      const sizes = new Array<PictureSize | undefined>(entries.length).fill(undefined);
      const storage = await source.storage();
      const prefix = `${String(numberOf(storage))}/${folder.toString()}/`;
      const unread: Unread[] = [];
      // All that is remembered first, without a promise for each.
      for (const [index, entry] of entries.entries()) {
        if (entry.kind !== 'file' || entry.size === 0) continue;
        const extension = extensionOf(entry.name) ?? '';
        if (!images.has(extension)) continue;
        const key = prefix + entry.name;
        const row = known.get(key);
        if (row !== undefined && isSameVersion(row.entry, entry)) sizes[index] = row.size;
        else unread.push({ index, key, entry });
      }
      const rest = unread.values();
      const work = async (): Promise<void> => {
        for (const one of rest) {
          try {
            sizes[one.index] = await read(storage, folder.child(one.entry.name), one, signal);
          } catch {
            // Removed meanwhile, or not readable now: the listing goes on without its size.
            signal.throwIfAborted();
          }
        }
      };
      await Promise.all(Array.from({ length: Math.min(AT_ONCE, unread.length) }, work));
      return sizes;
    },
  };
};
