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
import { blankLocationInIptc, blankLocationInResources } from './photoshop.ts';
import { blankLocationInXmp, MENTIONED } from './xmp-location.ts';

const HEADERS = [Buffer.from('II*\0', 'latin1'), Buffer.from('MM\0*', 'latin1')];
/** One within the other: a picture's, that of its preview, that of notes of the maker. */
const MAX_STRUCTURES = 16;

/** What programs keep inside of the EXIF data: XMP, IPTC, and resources of image editors. */
const BLANKED: ReadonlyMap<number, (value: Buffer, budget: ParseBudget) => void> = new Map([
  [0x02bc, blankLocationInXmp],
  [0x83bb, blankLocationInIptc],
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
    [...BLANKED.keys()].some((known) => entries.filter(({ tag }) => tag === known).length > 1);
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
