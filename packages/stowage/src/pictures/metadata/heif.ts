import type { ParseBudget } from '../../basics/content/parse-budget.ts';
import { blankExif, type FoundData, hasLocatedExif } from './exif.ts';
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

interface Box {
  readonly type: string;
  /** The range of its content. */
  readonly start: number;
  readonly end: number;
}

/** The boxes between two offsets; a truncated one ends with the file. */
const boxesIn = (file: Buffer, start: number, end: number, budget: ParseBudget): readonly Box[] => {
  const boxes: Box[] = [];
  for (let at = start; at + 8 <= end;) {
    budget.spendItems();
    const size = file.readUInt32BE(at);
    const isLong = size === 1 && at + 16 <= end;
    const length = isLong ? Number(file.readBigUInt64BE(at + 8)) : size;
    const next = length === 0 ? end : Math.min(end, at + Math.max(8, length));
    boxes.push({ type: file.toString('latin1', at + 4, at + 8), start: at + (isLong ? 16 : 8), end: next });
    at = next;
  }
  return boxes;
};

const FULL_BOX = 4;
const XMP_TYPE = 'application/rdf+xml';

/** Numbers of the items with EXIF data or XMP, by their entries: version, number, protection, type. */
const textItems = (file: Buffer, { start, end }: Box, budget: ParseBudget) => {
  const found = new Map<number, 'exif' | 'xmp'>();
  const countBytes = file[start] === 0 ? 2 : 4;
  for (const entry of boxesIn(file, start + FULL_BOX + countBytes, end, budget)) {
    const idBytes = file[entry.start] === 3 ? 4 : 2;
    const at = entry.start + FULL_BOX;
    const type = file.toString('latin1', at + idBytes + 2, at + idBytes + 6);
    const id = file.readUIntBE(at, idBytes);
    if (type === 'Exif') found.set(id, 'exif');
    if (type === 'mime' && file.toString('latin1', at, entry.end).includes(XMP_TYPE)) found.set(id, 'xmp');
  }
  return found;
};

/** EXIF and XMP data in a file, in whatever pieces it is stored. @throws RangeError for a truncated file */
export const heifData = (file: Buffer, budget: ParseBudget): FoundData => {
  const top = boxesIn(file, 0, file.length, budget);
  const meta = top.find(({ type }) => type === 'meta');
  const boxes = meta === undefined ? [] : boxesIn(file, meta.start + FULL_BOX, meta.end, budget);
  const boxOf = (wanted: string): Box | undefined => boxes.find(({ type }) => type === wanted);
  const [items, locations, inside] = ['iinf', 'iloc', 'idat'].map(boxOf);
  const found: Record<'exif' | 'xmp', Buffer[]> = { exif: [], xmp: [] };
  if (items === undefined || locations === undefined) return { ...found, iptc: [] };
  const kinds = textItems(file, items, budget);
  let at = locations.start;
  const next = (bytes: number): number => {
    at += bytes;
    if (bytes === 8) return Number(file.readBigUInt64BE(at - bytes));
    return bytes === 0 ? 0 : file.readUIntBE(at - bytes, bytes);
  };
  const version = next(1);
  at += 3;
  const [sizes, more] = [next(1), next(1)];
  const idBytes = version === 2 ? 4 : 2;
  for (let left = next(idBytes); left > 0; left -= 1) {
    budget.spendItems();
    const kind = kinds.get(next(idBytes));
    const isInside = version > 0 && (next(2) & 0x0f) === 1;
    at += 2;
    const base = next(more >> 4) + (isInside ? (inside?.start ?? 0) : 0);
    const pieces: Buffer[] = [];
    for (let extents = next(2); extents > 0; extents -= 1) {
      budget.spendItems();
      if (version > 0) at += more & 0x0f;
      const start = base + next(sizes >> 4);
      const piece = file.subarray(start, start + next(sizes & 0x0f));
      budget.spendBytes(kind === undefined ? 0 : piece.length);
      pieces.push(piece);
    }
    if (kind === 'xmp') found.xmp.push(Buffer.concat(pieces));
    if (kind === 'exif') found.exif.push(behindHeader(Buffer.concat(pieces)));
  }
  return { ...found, iptc: [] };
};
