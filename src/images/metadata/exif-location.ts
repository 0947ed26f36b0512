import {
  blankDirectory,
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
const BLANKED: ReadonlyMap<number, (value: Buffer) => void> = new Map([
  [0x02bc, blankLocationInXmp],
  [0x83bb, blankLocationInIptc],
  [
    0x8649,
    // EXIF data inside of these could go on for ever.
    (value: Buffer) => {
      blankLocationInResources(value, (data) => firstStructure(data) === undefined);
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

/** Where the first structure of EXIF data begins that lies in other data, from `from` on. */
const firstStructure = (data: Buffer, from = 0): number | undefined => {
  const starts = HEADERS.map((header) => data.indexOf(header, from)).filter((at) => at >= 0);
  return starts.length === 0 ? undefined : Math.min(...starts);
};

/**
 * Takes the position out of EXIF data, in place: the directory of GPS, all its values, and whatever points to
 * it. What remains keeps its location and its meaning; the length does not change.
 *
 * False for what is not EXIF data, and for such as no camera writes: with more directories, or with XMP data
 * twice in one.
 */
export const blankLocationInExif = (bytes: Buffer): boolean => {
  const tiff = openTiff(bytes);
  const directories = tiff === undefined ? undefined : directoriesOf(tiff);
  if (tiff === undefined || directories === undefined) return false;
  // One a directory: the same long value, named a thousand times over, would be read as often.
  const isRepeated = ({ entries }: TiffDirectory): boolean =>
    [...BLANKED.keys()].some((known) => entries.filter(({ tag }) => tag === known).length > 1);
  if (directories.some(isRepeated)) return false;
  for (const directory of directories) {
    if (directory.reachedBy === GPS_DIRECTORY) blankDirectory(tiff, directory);
  }
  for (const directory of directories) {
    if (directory.reachedBy === GPS_DIRECTORY) continue;
    for (const { tag, value } of directory.entries) {
      if (value !== undefined) BLANKED.get(tag)?.(bytes.subarray(value.start, value.end));
    }
    // From behind: what follows an entry moves.
    for (const [index, { tag, value }] of [...directory.entries.entries()].reverse()) {
      if (!LOCATED.has(tag)) continue;
      if (value !== undefined) bytes.fill(0, value.start, value.end);
      removeEntry(tiff, directory, index);
    }
  }
  return true;
};

/**
 * Takes the position out of all EXIF data that lies somewhere in other data, in place: in that of a picture
 * its preview may have its own. False when some of it cannot be understood.
 */
export const blankStructures = (data: Buffer): boolean => {
  let left = MAX_STRUCTURES;
  for (let at = firstStructure(data); at !== undefined; at = firstStructure(data, at + 1)) {
    left -= 1;
    if (left < 0 || !blankLocationInExif(data.subarray(at))) return false;
  }
  return true;
};

/** The same for EXIF data. False for what is none. */
export const blankExif = (exif: Buffer): boolean => openTiff(exif) !== undefined && blankStructures(exif);

/** Whether EXIF data with a position, or such that cannot be understood, lies somewhere in other data. */
export const hasLocatedExif = (data: Buffer): boolean => {
  if (firstStructure(data) === undefined) return false;
  const copy = Buffer.from(data);
  return !blankStructures(copy) || !copy.equals(data);
};

/** Whether data of an unknown kind says a position: in words, or by EXIF data in it. */
export const saysPosition = (data: Buffer): boolean =>
  MENTIONED.test(data.toString('latin1')) || hasLocatedExif(data);
