import { setImmediate as yieldToLoop } from 'node:timers/promises';
import type { ParseBudget } from '../../basics/content/parse-budget.ts';
import {
  blankDirectory,
  directoriesOf,
  GPS_DIRECTORY,
  openTiff,
  removeEntries,
  type TiffDirectory,
} from './tiff.ts';
import { blankLocationInXmp, MENTIONED } from './xmp-location.ts';

/** The first bytes of EXIF data, in either byte order. */
const HEADERS = [Buffer.from('II*\0', 'latin1'), Buffer.from('MM\0*', 'latin1')];
/** Tags that refer to another directory: EXIF, GPS, interoperability. */
const POINTERS: ReadonlySet<number> = new Set([0x8769, 0x8825, 0xa005]);
/** Maximum number of references; cameras write three or four. */
const MAX_POINTERS = 16;
const BYTES_PER_SLICE = 4 * 1024 * 1024;
const ENTRY_BYTES = 12;

/** Whether a TIFF structure has more references to directories than cameras write, whatever their targets. */
const isTangledAt = (bytes: Buffer, budget: ParseBudget): boolean => {
  const tiff = openTiff(bytes);
  if (tiff === undefined) return false;
  const waiting = new Set([tiff.uint32(4)]);
  let pointers = 0;
  // The set grows during the loop; each entry is visited once.
  for (const at of waiting) {
    if (at + 2 > bytes.length) continue;
    const count = Math.min(tiff.uint16(at), Math.floor((bytes.length - at - 2) / ENTRY_BYTES));
    budget.spendItems(count + 1);
    const end = at + 2 + count * ENTRY_BYTES;
    for (let entry = at + 2; entry < end; entry += ENTRY_BYTES) {
      if (!POINTERS.has(tiff.uint16(entry))) continue;
      pointers += 1;
      if (pointers > MAX_POINTERS) return true;
      waiting.add(tiff.uint32(entry + 8));
    }
    // Offset of the next directory, or 0.
    if (end + 4 <= bytes.length) waiting.add(tiff.uint32(end));
  }
  return false;
};

/**
 * Whether EXIF data anywhere in a picture has excessive references to directories. The library parses it with
 * the header of a picture, follows every reference, and cannot be interrupted: four kilobytes can take hours.
 * Yields to the event loop for large files.
 */
export const hasTangledExif = async (file: Buffer, budget: ParseBudget): Promise<boolean> => {
  for (let from = 0; from < file.length; from += BYTES_PER_SLICE) {
    if (from > 0) await yieldToLoop();
    for (const header of HEADERS) {
      const portion = file.subarray(from, from + BYTES_PER_SLICE + header.length - 1);
      for (let at = portion.indexOf(header); at >= 0; at = portion.indexOf(header, at + 1)) {
        // Bytes that only look like EXIF data cost as much as a short structure.
        budget.spendItems();
        if (isTangledAt(file.subarray(from + at), budget)) return true;
      }
    }
  }
  return false;
};

const SIGNATURES: ReadonlySet<string> = new Set(['8BIM', 'PHUT', 'DCSR', 'AgHg', 'MeSa']);
const IPTC_RESOURCE = 0x0404;
const XMP_RESOURCE = 0x0424;
/** Keywords with a position in numbers, as programs for maps write them: `geo:lat=51.5`. */
export const KEYWORD = /geo:l(?:at|ong?)=[-+.\d]*/giu;

/** Blanks such keywords in a text with characters of one byte or, as Windows writes them, two. */
const blankKeywords = (data: Buffer): void => {
  for (const [encoding, bytes] of [
    ['latin1', 1],
    ['utf16le', 2],
  ] as const) {
    for (const { index, 0: keyword } of data.toString(encoding).matchAll(KEYWORD))
      data.fill(' ', index * bytes, (index + keyword.length) * bytes, encoding);
  }
};

/**
 * The image resources of image editors in a picture, with the end of each.
 *
 * @see https://www.adobe.com/devnet-apps/photoshop/fileformatashtml/ Image Resources Section
 */
function* resourcesIn(resources: Buffer, budget: ParseBudget) {
  let at = 0;
  while (at + 12 <= resources.length && SIGNATURES.has(resources.toString('latin1', at, at + 4))) {
    budget.spendItems();
    const id = resources.readUInt16BE(at + 4);
    const nameBytes = (resources[at + 6] ?? 0) + 1;
    const start = at + 6 + nameBytes + (nameBytes % 2) + 4;
    if (start > resources.length) return;
    const size = resources.readUInt32BE(start - 4);
    at = start + size + (size % 2);
    yield { id, content: resources.subarray(start, Math.min(start + size, resources.length)), end: at };
  }
}

/** The IPTC data among image resources, or the data itself when it is IPTC data. */
export const iptcIn = (data: Buffer, budget: ParseBudget): Buffer | undefined => {
  for (const { id, content } of resourcesIn(data, budget)) if (id === IPTC_RESOURCE) return content;
  return data[0] === 0x1c ? data : undefined;
};

/**
 * Removes positions from image resources, in place: from XMP, from keywords, and with `blankExif` from EXIF
 * data, that of previews included. Resources for which it returns false, and data that cannot be parsed, are
 * zeroed.
 */
export const blankLocationInResources = (
  resources: Buffer,
  blankExif: (data: Buffer) => boolean,
  budget: ParseBudget,
): void => {
  let at = 0;
  for (const { id, content, end } of resourcesIn(resources, budget)) {
    if (id === XMP_RESOURCE) blankLocationInXmp(content);
    else if (id === IPTC_RESOURCE) blankKeywords(content);
    else if (!blankExif(content)) content.fill(0);
    at = end;
  }
  resources.fill(0, Math.min(at, resources.length));
};

/** Maximum number of nested structures: of a picture, its preview, notes of the manufacturer. */
const MAX_STRUCTURES = 16;

/** Tags of texts: description and comment, and the title, comment, keywords and subject of Windows. */
const TEXTS: readonly number[] = [0x010e, 0x9286, 0x9c9b, 0x9c9c, 0x9c9e, 0x9c9f];

/** Data that programs embed in EXIF data: texts, XMP, IPTC, and image resources. */
const BLANKED: ReadonlyMap<number, (value: Buffer, budget: ParseBudget) => void> = new Map([
  ...TEXTS.map((tag) => [tag, blankKeywords] as const),
  [0x02bc, blankLocationInXmp],
  [0x83bb, blankKeywords],
  [
    0x8649,
    // Nested EXIF data is zeroed: it could be nested without end.
    (value: Buffer, budget: ParseBudget) => {
      blankLocationInResources(value, (data) => !hasStructure(data), budget);
    },
  ],
]);

/** Tags with a position: the GPS directory, and the location of a map or an aerial picture (GeoTIFF). */
const LOCATED: ReadonlySet<number> = new Set([
  GPS_DIRECTORY,
  0x830e,
  0x8480,
  0x8482,
  0x85d8,
  0x87af,
  0x87b0,
  0x87b1,
]);

/** The marker of EXIF data in containers, in all variants that readers accept. */
const MARK = /^.{0,4}Exif\0./isu;

/** EXIF data after its marker; undefined without a marker. */
export const behindExifMark = (content: Buffer): Buffer | undefined => {
  const mark = MARK.exec(content.toString('latin1', 0, 10))?.[0];
  return mark === undefined ? undefined : content.subarray(mark.length);
};

const hasStructure = (data: Buffer): boolean => HEADERS.some((header) => data.includes(header));

/** Offsets of EXIF structures in other data, which may change during the iteration. */
function* structuresIn(data: Buffer): Generator<number, void, undefined> {
  const next = HEADERS.map((header) => ({ header, at: data.indexOf(header) }));
  for (;;) {
    const found = next.filter(({ at }) => at >= 0);
    if (found.length === 0) return;
    const start = Math.min(...found.map(({ at }) => at));
    yield start;
    // Each search continues from its last match.
    for (const one of found) {
      if (one.at === start || data.indexOf(one.header, one.at) !== one.at)
        one.at = data.indexOf(one.header, Math.max(start + 1, one.at));
    }
  }
}

/**
 * Removes the position from EXIF data, in place: the GPS directory, all its values, and references to it. All
 * other data stays valid and in place; the length does not change.
 *
 * Returns false for data that is not EXIF, or that no camera writes: with too many directories, or with
 * repeated XMP data in one of them.
 */
export const blankLocationInExif = (bytes: Buffer, budget: ParseBudget): boolean => {
  const tiff = openTiff(bytes);
  const directories = tiff === undefined ? undefined : directoriesOf(tiff, budget);
  if (tiff === undefined || directories === undefined) return false;
  // Once per directory: a long value that is referenced a thousand times would be parsed as often.
  const isRepeated = ({ entries }: TiffDirectory): boolean =>
    [...BLANKED.keys()].some(
      (known) => !TEXTS.includes(known) && entries.filter(({ tag }) => tag === known).length > 1,
    );
  if (directories.some(isRepeated)) return false;
  for (const directory of directories) {
    if (directory.reachedBy === GPS_DIRECTORY) blankDirectory(tiff, directory, budget);
  }
  for (const directory of directories) {
    if (directory.reachedBy === GPS_DIRECTORY) continue;
    for (const { tag, value } of directory.entries) {
      const blank = BLANKED.get(tag);
      if (value === undefined || blank === undefined) continue;
      budget.spendBytes(value.end - value.start);
      blank(bytes.subarray(value.start, value.end), budget);
    }
    removeEntries(tiff, directory, (tag) => LOCATED.has(tag), budget);
  }
  return true;
};

/**
 * Removes the position from all EXIF structures in other data, in place: the preview of a picture may have
 * its own. False when one of them cannot be parsed.
 */
export const blankStructures = (data: Buffer, budget: ParseBudget): boolean => {
  let left = MAX_STRUCTURES;
  for (const at of structuresIn(data)) {
    left -= 1;
    if (left < 0 || !blankLocationInExif(data.subarray(at), budget)) return false;
  }
  return true;
};

/** The same for EXIF data. False for data that is not EXIF. */
export const blankExif = (exif: Buffer, budget: ParseBudget): boolean =>
  openTiff(exif) !== undefined && blankStructures(exif, budget);

/** Whether other data contains EXIF data with a position, or EXIF data that cannot be parsed. */
export const hasLocatedExif = (data: Buffer, budget: ParseBudget): boolean => {
  if (!hasStructure(data)) return false;
  budget.spendBytes(data.length);
  const copy = Buffer.from(data);
  return !blankStructures(copy, budget) || !copy.equals(data);
};

/** Whether data of an unknown kind contains a position: as text, or in EXIF data. */
export const saysPosition = (data: Buffer, budget: ParseBudget): boolean =>
  MENTIONED.test(data.toString('latin1')) || hasLocatedExif(data, budget);

/** Metadata of a picture by format. */
export interface FoundData {
  /** EXIF data without its marker. */
  readonly exif: readonly Buffer[];
  readonly xmp: readonly Buffer[];
  /** Separate, or among image resources. */
  readonly iptc: readonly Buffer[];
}
