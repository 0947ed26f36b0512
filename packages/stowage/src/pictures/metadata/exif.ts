import { setImmediate as yieldToLoop } from 'node:timers/promises';
import type { ParseBudget } from '../../basics/content/parse-budget.ts';
import {
  blankDirectory,
  blankValue,
  directoriesOf,
  GPS_DIRECTORY,
  openTiff,
  removeEntry,
  type TiffDirectory,
} from './tiff.ts';
import { blankLocationInXmp, MENTIONED } from './xmp-location.ts';

/** How EXIF data begins, in either byte order. */
const HEADERS = [Buffer.from('II*\0', 'latin1'), Buffer.from('MM\0*', 'latin1')];
/** Entries that name another directory: EXIF, GPS, interoperability. */
const POINTERS: ReadonlySet<number> = new Set([0x8769, 0x8825, 0xa005]);
/** Cameras write three or four. */
const MAX_POINTERS = 16;
const BYTES_PER_SLICE = 4 * 1024 * 1024;
const ENTRY_BYTES = 12;

/** Whether a structure has more references to directories than any camera writes, wherever they lead. */
const isTangledAt = (bytes: Buffer, budget: ParseBudget): boolean => {
  const tiff = openTiff(bytes);
  if (tiff === undefined) return false;
  const waiting = new Set([tiff.uint32(4)]);
  let pointers = 0;
  // Entries that are added in the loop are visited too, each once.
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
    // Another directory may follow.
    if (end + 4 <= bytes.length) waiting.add(tiff.uint32(end));
  }
  return false;
};

/**
 * Whether EXIF data somewhere in a picture refers to directories over and over. The library reads it with the
 * header of a picture, follows every reference to its end, and cannot be stopped: four kilobytes take hours.
 * Gives way to other work between portions of a large file.
 */
export const hasTangledExif = async (file: Buffer, budget: ParseBudget): Promise<boolean> => {
  for (let from = 0; from < file.length; from += BYTES_PER_SLICE) {
    if (from > 0) await yieldToLoop();
    for (const header of HEADERS) {
      const portion = file.subarray(from, from + BYTES_PER_SLICE + header.length - 1);
      for (let at = portion.indexOf(header); at >= 0; at = portion.indexOf(header, at + 1)) {
        // Bytes that are not EXIF data cost as much as a short one.
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
/** Keywords that give a position in numbers, as programs for maps write them: `geo:lat=51.5`. */
export const KEYWORD = /geo:l(?:at|ong?)=[-+.\d]*/giu;

/** Blanks such keywords in a text, whether its characters take one byte or, as Windows writes them, two. */
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
 * The resources that image editors keep in a picture, and where each ends.
 *
 * @see https://www.adobe.com/devnet-apps/photoshop/fileformatashtml/ Image Resources Section
 */
function* resourcesIn(
  resources: Buffer,
  budget: ParseBudget,
): Generator<{ readonly id: number; readonly content: Buffer; readonly end: number }, void, undefined> {
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

/** The IPTC data among such resources, or the data itself where it stands alone. */
export const iptcIn = (data: Buffer, budget: ParseBudget): Buffer | undefined => {
  for (const { id, content } of resourcesIn(data, budget)) if (id === IPTC_RESOURCE) return content;
  return data[0] === 0x1c ? data : undefined;
};

/**
 * Takes positions out of the resources that image editors keep in a picture, in place: out of XMP, keywords,
 * and by `blankExif` out of EXIF data, that of previews too; where that answers false, and what cannot be
 * understood, goes.
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

/** One within the other: a picture's, that of its preview, that of notes of the maker. */
const MAX_STRUCTURES = 16;

/** The description and comment of a picture, and the title, comment, keywords and subject that Windows writes. */
const TEXTS: readonly number[] = [0x010e, 0x9286, 0x9c9b, 0x9c9c, 0x9c9e, 0x9c9f];

/** What programs keep inside of the EXIF data: texts, XMP, IPTC, and resources of image editors. */
const BLANKED: ReadonlyMap<number, (value: Buffer, budget: ParseBudget) => void> = new Map([
  ...TEXTS.map((tag) => [tag, blankKeywords] as const),
  [0x02bc, blankLocationInXmp],
  [0x83bb, blankKeywords],
  [
    0x8649,
    // EXIF data inside of these could go on for ever.
    (value: Buffer, budget: ParseBudget) => {
      blankLocationInResources(value, (data) => !hasStructure(data), budget);
    },
  ],
]);

/** Entries that say where: the directory of GPS, and how a map or a picture from the air lies (GeoTIFF). */
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

/** How containers mark EXIF data, in the ways that readers put up with. */
const MARK = /^.{0,4}Exif\0./isu;

/** EXIF data without a mark before it; undefined when there is no mark. */
export const behindExifMark = (content: Buffer): Buffer | undefined => {
  const mark = MARK.exec(content.toString('latin1', 0, 10))?.[0];
  return mark === undefined ? undefined : content.subarray(mark.length);
};

const hasStructure = (data: Buffer): boolean => HEADERS.some((header) => data.includes(header));

/** Where structures of EXIF data begin that lie in other data, which may change meanwhile. */
function* structuresIn(data: Buffer): Generator<number, void, undefined> {
  const next = HEADERS.map((header) => ({ header, at: data.indexOf(header) }));
  for (;;) {
    const found = next.filter(({ at }) => at >= 0);
    if (found.length === 0) return;
    const start = Math.min(...found.map(({ at }) => at));
    yield start;
    // Each is searched for from where it was found last.
    for (const one of found) {
      if (one.at === start || data.indexOf(one.header, one.at) !== one.at)
        one.at = data.indexOf(one.header, Math.max(start + 1, one.at));
    }
  }
}

/**
 * Takes the position out of EXIF data, in place: the directory of GPS, all its values, and whatever points to
 * it. The rest keeps its location and its meaning; the length does not change.
 *
 * False for what is not EXIF data, and for such as no camera writes: with more directories, or with XMP data
 * twice in one.
 */
export const blankLocationInExif = (bytes: Buffer, budget: ParseBudget): boolean => {
  const tiff = openTiff(bytes);
  const directories = tiff === undefined ? undefined : directoriesOf(tiff, budget);
  if (tiff === undefined || directories === undefined) return false;
  // One a directory: the same long value, named a thousand times over, would be read as often.
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
    // From behind: what follows an entry moves.
    for (const [index, entry] of [...directory.entries.entries()].reverse()) {
      if (!LOCATED.has(entry.tag)) continue;
      blankValue(tiff, entry, budget);
      removeEntry(tiff, directory, index, budget);
    }
  }
  return true;
};

/**
 * Takes the position out of all EXIF data that lies somewhere in other data, in place: in that of a picture
 * its preview may have its own. False when some of it cannot be understood.
 */
export const blankStructures = (data: Buffer, budget: ParseBudget): boolean => {
  let left = MAX_STRUCTURES;
  for (const at of structuresIn(data)) {
    left -= 1;
    if (left < 0 || !blankLocationInExif(data.subarray(at), budget)) return false;
  }
  return true;
};

/** The same for EXIF data. False for what is none. */
export const blankExif = (exif: Buffer, budget: ParseBudget): boolean =>
  openTiff(exif) !== undefined && blankStructures(exif, budget);

/** Whether EXIF data with a position, or such that cannot be understood, lies somewhere in other data. */
export const hasLocatedExif = (data: Buffer, budget: ParseBudget): boolean => {
  if (!hasStructure(data)) return false;
  budget.spendBytes(data.length);
  const copy = Buffer.from(data);
  return !blankStructures(copy, budget) || !copy.equals(data);
};

/** Whether data of an unknown kind says a position: in words, or by EXIF data in it. */
export const saysPosition = (data: Buffer, budget: ParseBudget): boolean =>
  MENTIONED.test(data.toString('latin1')) || hasLocatedExif(data, budget);

/** Data of a picture that says what it is about. */
export interface FoundData {
  /** Behind its mark. */
  readonly exif: readonly Buffer[];
  readonly xmp: readonly Buffer[];
  /** Alone, or among resources of image editors. */
  readonly iptc: readonly Buffer[];
}
