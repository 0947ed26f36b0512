import { readFileSync } from 'node:fs';

/**
 * Small HEIC files, made for these tests with `heif-enc` and `exiftool`. `photo` shows `quarters()` in the
 * numbers of Display P3, with its profile, and has EXIF and XMP data with a position; its EXIF orientation (6)
 * means nothing, as the format has it. `plain`: the same numbers without all that.
 * `alpha`: the upper quarter is transparent. `flat`: 4000x3000 pixels of one grey. `deep`: `quarters()` in ten
 * bits.
 */
export const heicFile = (name: 'photo' | 'plain' | 'alpha' | 'flat' | 'deep'): Buffer =>
  readFileSync(new URL(`./heic/${name}.heic`, import.meta.url));

/** Where the content of the first box of this kind begins. */
const contentOf = (file: Buffer, kind: string): number => {
  const at = file.indexOf(kind, 0, 'latin1');
  if (at < 0) throw new Error(`There is no "${kind}" in the file.`);
  return at + 4;
};

const grow = (file: Buffer, kind: string, bytes: number): void => {
  const size = contentOf(file, kind) - 8;
  file.writeUInt32BE(file.readUInt32BE(size) + bytes, size);
};

/** Moves what the file says about where its items lie. */
const moveItems = (file: Buffer, bytes: number): void => {
  const start = contentOf(file, 'iloc');
  const count = file.readUInt16BE(start + 6);
  for (let at = start + 8, item = 0; item < count; item += 1, at += 20) {
    // 20 bytes each: number, where it lies (0: in the file), a reference, where it begins, then its one part.
    if (file.readUInt16BE(at + 2) === 0) file.writeUInt32BE(file.readUInt32BE(at + 6) + bytes, at + 6);
  }
};

/** What HEIC files have for an EXIF orientation: counterclockwise quarters, then an axis of mirroring. */
const TURNS: readonly (readonly [quarters: number, axis?: 'upright' | 'level'])[] = [
  [0],
  [0, 'upright'],
  [2],
  [2, 'upright'],
  [1, 'level'],
  [3],
  [3, 'level'],
  [1],
];

const box = (kind: string, ...content: readonly number[]): Buffer =>
  Buffer.concat([Buffer.of(0, 0, 0, content.length + 8), Buffer.from(kind, 'latin1'), Buffer.from(content)]);

/** A file that says more of its picture. */
const withProperties = (file: Buffer, boxes: readonly Buffer[]): Buffer => {
  const properties = Buffer.concat(boxes);
  const associations = contentOf(file, 'ipma');
  // The properties end where the box of associations begins.
  const end = associations - 8;
  let present = 0;
  for (let at = contentOf(file, 'ipco'); at < end; at += file.readUInt32BE(at)) present += 1;
  const primary = file.readUInt16BE(contentOf(file, 'pitm') + 4);
  let entry = associations + 8;
  while (file.readUInt16BE(entry) !== primary) entry += 3 + (file[entry + 2] ?? 0);
  const entryEnd = entry + 3 + (file[entry + 2] ?? 0);
  const copy = Buffer.from(file);
  copy[entry + 2] = (file[entry + 2] ?? 0) + boxes.length;
  const added = properties.length + boxes.length;
  grow(copy, 'meta', added);
  grow(copy, 'iprp', added);
  grow(copy, 'ipco', properties.length);
  grow(copy, 'ipma', boxes.length);
  moveItems(copy, added);
  return Buffer.concat([
    copy.subarray(0, end),
    properties,
    copy.subarray(end, entryEnd),
    Buffer.from(boxes.map((_, index) => 0x80 | (present + index + 1))),
    copy.subarray(entryEnd),
  ]);
};

/**
 * A file whose picture is to be turned as an EXIF orientation of this number would say.
 * @see ISO/IEC 23008-12, 6.5.10 and 6.5.12
 */
export const turnedHeic = (file: Buffer, orientation: number): Buffer => {
  const [quarters = 0, axis] = TURNS[orientation - 1] ?? [];
  const mirror = axis === undefined ? [] : [box('imir', axis === 'upright' ? 1 : 0)];
  return withProperties(file, [box('irot', quarters), ...mirror]);
};

/** A file whose colours are those of Display P3, by the numbers of ITU-T H.273. */
export const p3Heic = (file: Buffer): Buffer =>
  withProperties(file, [box('colr', ...Buffer.from('nclx'), 0, 12, 0, 13, 0, 6, 0x80)]);

/** A file that says of all of its pictures that they are so large. */
export const claimingHeic = (file: Buffer, width: number, height: number): Buffer => {
  const copy = Buffer.from(file);
  for (let at = copy.indexOf('ispe'); at >= 0; at = copy.indexOf('ispe', at + 4)) {
    copy.writeUInt32BE(width, at + 8);
    copy.writeUInt32BE(height, at + 12);
  }
  return copy;
};
