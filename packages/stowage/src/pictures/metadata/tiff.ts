import type { ParseBudget } from '../../basics/content/parse-budget.ts';

/**
 * Reads the directories of a TIFF structure, which is also the format of EXIF data. With any
 * offsets, nothing outside of the given bytes is read, no directory twice, and not more directories than a
 * camera writes.
 *
 * @see https://www.cipa.jp/std/documents/download_e.html?DC-008-Translation-2023-E EXIF 3.0
 */

const ENTRY_BYTES = 12;
/** Bytes of one value by its type; 0 for unknown types. */
const TYPE_BYTES = [0, 1, 1, 2, 4, 8, 1, 1, 2, 4, 8, 4, 8, 4];

/** A camera writes a handful, a scanner one for each page of a book. */
const MAX_DIRECTORIES = 1000;
/** Maximum number that one entry refers to. */
const MAX_SUBDIRECTORIES = 32;
const MAX_ENTRIES = 2000;

/** Tags whose value is the offset of another directory. */
const EXIF_DIRECTORY = 0x8769;
/** Tag with the offset of the GPS directory. */
export const GPS_DIRECTORY = 0x8825;
const DIRECTORIES: ReadonlySet<number> = new Set([EXIF_DIRECTORY, GPS_DIRECTORY, 0xa005, 0x014a]);

interface Tiff {
  readonly bytes: Buffer;
  readonly uint16: (at: number) => number;
  readonly uint32: (at: number) => number;
  readonly setUint16: (value: number, at: number) => void;
  readonly setUint32: (value: number, at: number) => void;
}

interface TiffEntry {
  readonly tag: number;
  readonly type: number;
  readonly count: number;
  /** Offset of the entry itself. */
  readonly at: number;
  /** Offsets of its whole value inside the bytes; undefined when it is not inside. */
  readonly value: { readonly start: number; readonly end: number } | undefined;
}

export interface TiffDirectory {
  /** Offset of the directory: the number of its entries, then the entries. */
  readonly at: number;
  readonly entries: readonly TiffEntry[];
  /** The tag that refers to it; undefined for the first directory and those chained to it. */
  readonly reachedBy: number | undefined;
}

/** Opens a structure by its header; undefined without a valid one. */
export const openTiff = (bytes: Buffer): Tiff | undefined => {
  if (bytes.length < 8) return undefined;
  const order = bytes.toString('latin1', 0, 4);
  const isLittle = order === 'II*\0';
  if (!isLittle && order !== 'MM\0*') return undefined;
  const view = new DataView(bytes.buffer, bytes.byteOffset, bytes.length);
  return {
    bytes,
    uint16: (at) => view.getUint16(at, isLittle),
    uint32: (at) => view.getUint32(at, isLittle),
    setUint16: (value, at) => view.setUint16(at, value, isLittle),
    setUint32: (value, at) => view.setUint32(at, value, isLittle),
  };
};

const readEntry = ({ bytes, uint16, uint32 }: Tiff, at: number): TiffEntry => {
  const [tag, type, count] = [uint16(at), uint16(at + 2), uint32(at + 4)];
  const length = count * (TYPE_BYTES[type] ?? 0);
  const start = length <= 4 ? at + 8 : uint32(at + 8);
  const end = start + length;
  return { tag, type, count, at, value: end <= bytes.length ? { start, end } : undefined };
};

/** The entries of the directory at `at`, as far as the bytes go; undefined when it is not inside them. */
export const readDirectory = (tiff: Tiff, at: number): readonly TiffEntry[] | undefined => {
  const { bytes, uint16 } = tiff;
  if (at < 8 || at + 2 > bytes.length) return undefined;
  const count = Math.min(uint16(at), Math.floor((bytes.length - at - 2) / ENTRY_BYTES));
  return Array.from({ length: count }, (_, index) => readEntry(tiff, at + 2 + index * ENTRY_BYTES));
};

const namedBy = ({ uint16, uint32 }: Tiff, { tag, type, value }: TiffEntry): readonly number[] => {
  const bytes = TYPE_BYTES[type];
  if (!DIRECTORIES.has(tag) || value === undefined || (bytes !== 2 && bytes !== 4)) return [];
  const count = Math.min((value.end - value.start) / bytes, MAX_SUBDIRECTORIES);
  const read = bytes === 2 ? uint16 : uint32;
  return Array.from({ length: count }, (_, index) => read(value.start + index * bytes));
};

/**
 * Every directory that is reachable from the header, each once. Undefined when there are more than cameras
 * write. A directory outside the bytes is left out: readers cannot find it either.
 */
export const directoriesOf = (tiff: Tiff, budget: ParseBudget): readonly TiffDirectory[] | undefined => {
  const found: TiffDirectory[] = [];
  const waiting: { readonly at: number; readonly reachedBy: number | undefined }[] = [
    { at: tiff.uint32(4), reachedBy: undefined },
  ];
  const seen = new Set<number>();
  for (const { at, reachedBy } of waiting) {
    if (at === 0 || seen.has(at)) continue;
    seen.add(at);
    budget.spendItems();
    const entries = readDirectory(tiff, at);
    if (entries === undefined) continue;
    if (found.length >= MAX_DIRECTORIES || entries.length > MAX_ENTRIES) return undefined;
    budget.spendItems(entries.length);
    found.push({ at, entries, reachedBy });
    for (const entry of entries) {
      waiting.push(...namedBy(tiff, entry).map((next) => ({ at: next, reachedBy: entry.tag })));
    }
    const next = at + 2 + entries.length * ENTRY_BYTES;
    if (next + 4 <= tiff.bytes.length) waiting.push({ at: tiff.uint32(next), reachedBy });
  }
  return found;
};

/**
 * Removes an entry from its directory, in place: later entries move up, and the gap is zeroed. Does nothing
 * if the directory was overwritten because another one overlapped it.
 */
const removeEntry = (
  { bytes, uint16, setUint16 }: Tiff,
  directory: TiffDirectory,
  index: number,
  budget: ParseBudget,
): void => {
  const { at } = directory;
  const count = uint16(at);
  if (index >= count) return;
  const start = at + 2 + index * ENTRY_BYTES;
  const end = Math.min(at + 2 + count * ENTRY_BYTES + 4, bytes.length);
  budget.spendBytes(end - start);
  bytes.copy(bytes, start, start + ENTRY_BYTES, end);
  bytes.fill(0, end - ENTRY_BYTES, end);
  setUint16(count - 1, at);
};

/** Zeroes the value of an entry. Many entries may refer to the same value, as long as the whole file. */
const blankValue = ({ bytes }: Tiff, { value }: TiffEntry, budget: ParseBudget): void => {
  if (value === undefined) return;
  budget.spendBytes(value.end - value.start);
  bytes.fill(0, value.start, value.end);
};

/** Removes the entries with some tags from a directory, in place, with their values. */
export const removeEntries = (
  tiff: Tiff,
  directory: TiffDirectory,
  isRemoved: (tag: number) => boolean,
  budget: ParseBudget,
): void => {
  // In reverse order: removing an entry moves the later ones.
  for (const [index, entry] of [...directory.entries.entries()].reverse()) {
    if (!isRemoved(entry.tag)) continue;
    blankValue(tiff, entry, budget);
    removeEntry(tiff, directory, index, budget);
  }
};

/** Zeroes a directory and all its values. */
export const blankDirectory = (tiff: Tiff, { at, entries }: TiffDirectory, budget: ParseBudget): void => {
  for (const entry of entries) blankValue(tiff, entry, budget);
  tiff.bytes.fill(0, at, at + 2 + entries.length * ENTRY_BYTES);
};

/**
 * A copy of the structure with another entry in its first directory, which moves to the end of the bytes;
 * values of other entries stay in place. Undefined without a complete first directory.
 */
export const withShortEntry = (original: Buffer, tag: number, number: number): Buffer | undefined => {
  const old = openTiff(original);
  const at = old?.uint32(4);
  const entries = old && at !== undefined ? readDirectory(old, at) : undefined;
  if (at === undefined || entries === undefined || entries.length !== old?.uint16(at)) return undefined;
  const start = original.length + (original.length % 2);
  const bytes = Buffer.alloc(start + 2 + (entries.length + 1) * ENTRY_BYTES + 4);
  original.copy(bytes);
  const tiff = openTiff(bytes);
  if (tiff === undefined) return undefined;
  const before = entries.filter((entry) => entry.tag < tag).length;
  const made = start + 2 + before * ENTRY_BYTES;
  tiff.setUint32(start, 4);
  tiff.setUint16(entries.length + 1, start);
  original.copy(bytes, start + 2, at + 2, at + 2 + before * ENTRY_BYTES);
  tiff.setUint16(tag, made);
  tiff.setUint16(3, made + 2);
  tiff.setUint32(1, made + 4);
  tiff.setUint16(number, made + 8);
  const rest = at + 2 + before * ENTRY_BYTES;
  original.copy(
    bytes,
    made + ENTRY_BYTES,
    rest,
    Math.min(at + 2 + entries.length * ENTRY_BYTES + 4, original.length),
  );
  return bytes;
};

/** Tags of the pixels: order, samples, colours, compression, print size, offsets in the file. */
const SHOWN: ReadonlySet<number> = new Set([
  254, 255, 256, 257, 258, 259, 262, 263, 266, 273, 274, 277, 278, 279, 280, 281, 282, 283, 284, 290, 291,
  292, 293, 296, 297, 301, 317, 318, 319, 320, 321, 322, 323, 324, 325, 332, 334, 338, 339, 340, 341, 347,
  512, 513, 514, 529, 530, 531, 532, 34675,
]);

/**
 * A TIFF file with only its pages and their colour description; the same bytes when there is nothing else.
 * Undefined with more directories than programs write.
 */
export const tiffWithoutMetadata = (original: Buffer, budget: ParseBudget): Buffer | undefined => {
  const file = Buffer.from(original);
  const tiff = openTiff(file);
  const directories = tiff === undefined ? undefined : directoriesOf(tiff, budget);
  if (tiff === undefined || directories === undefined) return undefined;
  for (const directory of directories) {
    if (directory.reachedBy !== undefined) blankDirectory(tiff, directory, budget);
    else removeEntries(tiff, directory, (tag) => !SHOWN.has(tag), budget);
  }
  return file.equals(original) ? original : file;
};
