import {
  directoriesOf,
  GPS_DIRECTORY,
  openTiff,
  removeEntry,
  type Tiff,
  type TiffDirectory,
} from './tiff.ts';
import { blankLocationInXmp } from './xmp-location.ts';

/** Some programs keep XMP inside of the EXIF data. */
const XMP = 0x02bc;

const blankValues = ({ bytes }: Tiff, { entries }: TiffDirectory): void => {
  for (const { value } of entries) if (value !== undefined) bytes.fill(0, value.start, value.end);
};

/**
 * Takes the position out of EXIF data, in place: the directory of GPS, all its values, and whatever points to
 * it. What remains keeps its location and its meaning; the length does not change.
 *
 * Returns whether anything was there, `unreadable` for data with more directories than any camera writes.
 */
export const blankLocationInExif = (bytes: Buffer): boolean | 'unreadable' => {
  const tiff = openTiff(bytes);
  if (tiff === undefined) return false;
  const directories = directoriesOf(tiff);
  if (directories === undefined) return 'unreadable';
  let isFound = false;
  const others: TiffDirectory[] = [];
  for (const directory of directories) {
    if (directory.reachedBy !== GPS_DIRECTORY) others.push(directory);
    else {
      isFound = true;
      blankValues(tiff, directory);
      bytes.fill(0, directory.at, directory.at + 2 + directory.entries.length * 12);
    }
  }
  for (const directory of others) {
    for (const { tag, value } of directory.entries) {
      if (tag === XMP && value !== undefined) {
        isFound = blankLocationInXmp(bytes.subarray(value.start, value.end)) || isFound;
      }
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
