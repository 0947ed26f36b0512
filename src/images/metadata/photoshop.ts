import { blankLocationInXmp } from './xmp-location.ts';

const SIGNATURE = '8BIM';
const EXIF_RESOURCES: ReadonlySet<number> = new Set([0x0422, 0x0423]);
const XMP_RESOURCE = 0x0424;

/**
 * Takes positions out of the resources that image editors keep in a picture, in place, EXIF data by
 * `blankExif`. Returns whether there were any.
 *
 * @see https://www.adobe.com/devnet-apps/photoshop/fileformatashtml/ Image Resources Section
 */
export const blankLocationInResources = (
  resources: Buffer,
  blankExif: (exif: Buffer) => boolean,
): boolean => {
  let isFound = false;
  for (let at = 0; at + 12 <= resources.length;) {
    if (resources.toString('latin1', at, at + 4) !== SIGNATURE) return isFound;
    const id = resources.readUInt16BE(at + 4);
    const nameBytes = (resources[at + 6] ?? 0) + 1;
    const start = at + 6 + nameBytes + (nameBytes % 2) + 4;
    if (start > resources.length) return isFound;
    const size = resources.readUInt32BE(start - 4);
    const content = resources.subarray(start, Math.min(start + size, resources.length));
    if (EXIF_RESOURCES.has(id)) isFound = blankExif(content) || isFound;
    if (id === XMP_RESOURCE) isFound = blankLocationInXmp(content) || isFound;
    at = start + size + (size % 2);
  }
  return isFound;
};
