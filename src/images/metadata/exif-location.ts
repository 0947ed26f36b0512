import {
  blankDirectory,
  directoriesOf,
  GPS_DIRECTORY,
  openTiff,
  removeEntry,
  type TiffDirectory,
} from './tiff.ts';
import { blankLocationInResources } from './photoshop.ts';
import { blankLocationInXmp } from './xmp-location.ts';

/** What programs keep inside of the EXIF data: XMP, and resources of image editors. */
const BLANKED: ReadonlyMap<number, (value: Buffer) => boolean> = new Map([
  [0x02bc, blankLocationInXmp],
  // EXIF data inside of these could go on for ever.
  [0x8649, (value: Buffer) => blankLocationInResources(value, (exif) => exif.fill(0).length > 0)],
]);

/** How containers mark EXIF data, in the ways that readers put up with. */
const MARK = /^.{0,4}Exif\0./isu;

/** EXIF data without a mark before it; undefined when there is no mark. */
export const behindExifMark = (content: Buffer): Buffer | undefined => {
  const mark = MARK.exec(content.toString('latin1', 0, 10))?.[0];
  return mark === undefined ? undefined : content.subarray(mark.length);
};

/**
 * Takes the position out of EXIF data, in place: the directory of GPS, all its values, and whatever points to
 * it. What remains keeps its location and its meaning; the length does not change.
 *
 * Returns whether anything was there, `unreadable` for data that no camera writes: with more directories, or
 * with XMP data twice in one.
 */
export const blankLocationInExif = (bytes: Buffer): boolean | 'unreadable' => {
  const tiff = openTiff(bytes);
  if (tiff === undefined) return false;
  const directories = directoriesOf(tiff);
  if (directories === undefined) return 'unreadable';
  let isFound = false;
  const others: TiffDirectory[] = [];
  // One a directory: the same long value, named a thousand times over, would be read as often.
  const isRepeated = ({ entries }: TiffDirectory): boolean =>
    [...BLANKED.keys()].some((known) => entries.filter(({ tag }) => tag === known).length > 1);
  if (directories.some(isRepeated)) return 'unreadable';
  for (const directory of directories) {
    if (directory.reachedBy !== GPS_DIRECTORY) others.push(directory);
    else {
      isFound = true;
      blankDirectory(tiff, directory);
    }
  }
  for (const directory of others) {
    for (const { tag, value } of directory.entries) {
      if (value === undefined) continue;
      isFound = BLANKED.get(tag)?.(bytes.subarray(value.start, value.end)) === true || isFound;
    }
    // From behind: what follows an entry moves.
    for (const [index, { tag }] of [...directory.entries.entries()].reverse()) {
      if (tag !== GPS_DIRECTORY) continue;
      isFound = true;
      removeEntry(tiff, directory, index);
    }
  }
  return isFound;
};
