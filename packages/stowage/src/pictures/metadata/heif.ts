import type { ParseBudget } from '../../basics/content/parse-budget.ts';
import { blankExif, hasLocatedExif } from './exif.ts';
import { blankLocationInXmp } from './xmp-location.ts';

/**
 * Metadata in HEIF files, such as AVIF.
 *
 * @see ISO/IEC 23008-12 and 14496-12
 */

/** Metadata that the library has found in a file. */
export interface FoundMetadata {
  readonly exif?: Buffer | undefined;
  readonly xmp?: Buffer | undefined;
  readonly iptc?: Buffer | undefined;
}

const HEADER = /^(?:Exif\0\0|.{4}Exif\0\0|.{0,10}?)(?=II\*\0|MM\0\*)/su;

/** Positions as text, in XMP data or in the boxes of video files. */
const LOCATED_TEXT = /gpsl(?:at|on)|latitude|longt?itude|geo:l(?:at|on)|\xa9xyz|loci\0{4}|iso6709/iu;

const HEAD_BYTES = 64;

/** The only boxes that a picture needs. */
const SHOWN: ReadonlySet<string> = new Set(['ftyp', 'meta', 'mdat', 'moov', 'free', 'skip']);

/** Types of items that are not pictures: EXIF data, texts, and others without a type of their own. */
const DATA_TYPES: ReadonlySet<string> = new Set(['Exif', 'mime', 'uri ']);

const itemsIn = (file: Buffer, budget: ParseBudget) => {
  const found: { type: string; at: number }[] = [];
  for (let box = file.indexOf('infe'); box >= 0; box = file.indexOf('infe', box + 4)) {
    budget.spendItems();
    // After version and flags: the item's number, and that of its protection.
    const at = box + 8 + (file[box + 4] === 3 ? 4 : 2) + 2;
    found.push({ type: file.toString('latin1', at, at + 4), at });
  }
  return found;
};

const dataItems = (file: Buffer, budget: ParseBudget): ReturnType<typeof itemsIn> =>
  itemsIn(file, budget).filter(({ type }) => DATA_TYPES.has(type));

/**
 * Whether the picture consists of tiles, as Photoshop, Lightroom and `avifenc --grid` write it. The library
 * counts tiles as further pictures, unless they are marked as hidden.
 */
export const isTiled = (file: Buffer, budget: ParseBudget): boolean =>
  itemsIn(file, budget).some(({ type }) => type === 'grid');

const count = (data: Buffer | undefined): number => (data === undefined ? 0 : 1);

/** Whether the library has found all items: it finds one of each kind, and not in all encodings. */
const isAllShown = (file: Buffer, found: FoundMetadata, budget: ParseBudget): boolean => {
  const items = dataItems(file, budget);
  const exif = items.filter(({ type }) => type === 'Exif').length;
  return exif <= count(found.exif) && items.length - exif <= count(found.xmp);
};

const isBareHeif = (file: Buffer, { exif, xmp, iptc }: FoundMetadata, budget: ParseBudget): boolean => {
  if ((exif ?? xmp ?? iptc) !== undefined || !isAllShown(file, {}, budget)) return false;
  for (let at = 0; at + 8 <= file.length;) {
    budget.spendItems();
    if (!SHOWN.has(file.toString('latin1', at + 4, at + 8))) return false;
    const size = file.readUInt32BE(at);
    // The last box may extend to the end; lengths of 64 bits occur in video files.
    if (size === 0) return true;
    if (size < 8) return false;
    at += size;
  }
  return true;
};

/**
 * Offset of data that is contiguous in a file; -1 otherwise. Searches by its first bytes: searching for a
 * long repetitive text would take its length again for each byte of the file.
 */
const whereLies = (file: Buffer, data: Buffer, budget: ParseBudget): number => {
  const head = data.subarray(0, HEAD_BYTES);
  let at = file.indexOf(head);
  while (at >= 0) {
    const end = at + data.length;
    if (end > file.length) return -1;
    budget.spendItems();
    budget.spendBytes(data.length);
    if (file.compare(data, 0, data.length, at, end) === 0) return at;
    at = file.indexOf(head, at + 1);
  }
  return -1;
};

const behindHeader = (exif: Buffer): Buffer =>
  exif.subarray(HEADER.exec(exif.toString('latin1', 0, 24))?.[0].length ?? 0);

/**
 * A file with only its unchanged pixels: metadata is zeroed in place, and its items are marked as free. The
 * same bytes when there is none; undefined when the metadata is not contiguous, or other data exists.
 */
export const heifWithoutMetadata = (
  file: Buffer,
  budget: ParseBudget,
  found: FoundMetadata,
): Buffer | undefined => {
  if (isBareHeif(file, found, budget)) return file;
  if (found.iptc !== undefined || !isAllShown(file, found, budget)) return undefined;
  const copy = Buffer.from(file);
  const exif = found.exif === undefined ? undefined : behindHeader(found.exif);
  for (const data of [exif, found.xmp]) {
    const at = data === undefined ? 0 : whereLies(copy, data, budget);
    if (at < 0) return undefined;
    copy.fill(0, at, at + (data?.length ?? 0));
  }
  for (const { at } of dataItems(copy, budget)) copy.write('free', at, 'latin1');
  return isBareHeif(copy, {}, budget) ? copy : undefined;
};

/** Removes the position in place. False when the metadata is not contiguous, or other data has one. */
export const blankLocationInHeif = (file: Buffer, budget: ParseBudget, found: FoundMetadata): boolean => {
  if (!isAllShown(file, found, budget)) return false;
  const { exif, xmp } = found;
  let others = [file];
  if (exif !== undefined) {
    const data = behindHeader(exif);
    const at = whereLies(file, data, budget);
    if (at < 0 || !blankExif(file.subarray(at, at + data.length), budget)) return false;
  }
  if (xmp !== undefined) {
    const at = whereLies(file, xmp, budget);
    if (at < 0) return false;
    const end = at + xmp.length;
    blankLocationInXmp(file.subarray(at, end));
    others = [file.subarray(0, at), file.subarray(end)];
  }
  return !others.some((part) => LOCATED_TEXT.test(part.toString('latin1')) || hasLocatedExif(part, budget));
};
