import { BrokenImageError, InvalidParametersError } from '../errors/errors.ts';
import { hasEmptyAlpha, readBitmapHeader, type ChannelMasks, type Pixels } from './bmp-header.ts';
import { indexReader, rowBytes, unpackBitmap } from './bmp.ts';
import type { PictureSize } from './engine.ts';
import { sniffPicture } from './picture-file.ts';

/** One picture of an icon file. `data` begins with its PNG signature or its bitmap header. */
export interface IcoEntry {
  readonly kind: 'png' | 'bmp';
  readonly width: number;
  readonly height: number;
  readonly bitsPerPixel: number;
  readonly data: Buffer;
}

const DIRECTORY_BYTES = 6;
const ENTRY_BYTES = 16;
/** More than any program writes; further entries are ignored. */
const MAX_ENTRIES = 256;
/** Bitmaps in icons are small, nearly always up to 256x256; larger pictures are stored as PNG. */
const MAX_BITMAP_SIDE = 1024;
const PNG_CHANNELS: Readonly<Record<number, number>> = { 0: 1, 2: 3, 3: 1, 4: 2, 6: 4 };
const WITH_ALPHA: ChannelMasks = { red: 0xff0000, green: 0x00ff00, blue: 0x0000ff, alpha: 0xff000000 };

const readEntry = (bytes: Buffer, at: number): IcoEntry | undefined => {
  const size = bytes.readUInt32LE(at + 8);
  const offset = bytes.readUInt32LE(at + 12);
  const data = bytes.subarray(offset, offset + size);
  if (data.length !== size || size < 40) return undefined;
  if (sniffPicture(data) === 'png') {
    const bitsPerPixel = data.readUInt8(24) * (PNG_CHANNELS[data.readUInt8(25)] ?? 1);
    return { kind: 'png', width: data.readUInt32BE(16), height: data.readUInt32BE(20), bitsPerPixel, data };
  }
  try {
    const { width, height, bitsPerPixel } = readBitmapHeader(data, 0, true);
    if (Math.max(width, height) > MAX_BITMAP_SIDE) return undefined;
    return { kind: 'bmp', width, height, bitsPerPixel, data };
  } catch (error) {
    // An unreadable entry does not affect the others.
    if (error instanceof BrokenImageError) return undefined;
    throw error;
  }
};

/**
 * The readable pictures of an icon (or cursor) file, largest first, then most colours first. Reads headers
 * only. @throws BrokenImageError when there is none.
 */
export const readIco = (bytes: Buffer): readonly IcoEntry[] => {
  if (bytes.length < DIRECTORY_BYTES || sniffPicture(bytes) !== 'ico') throw new BrokenImageError();
  const count = Math.min(bytes.readUInt16LE(4), MAX_ENTRIES);
  const entries: IcoEntry[] = [];
  for (let index = 0; index < count; index += 1) {
    const at = DIRECTORY_BYTES + index * ENTRY_BYTES;
    const entry = at + ENTRY_BYTES <= bytes.length ? readEntry(bytes, at) : undefined;
    if (entry) entries.push(entry);
  }
  if (entries.length === 0) throw new BrokenImageError({ detail: 'icon without readable entries' });
  return entries.sort((a, b) => b.width * b.height - a.width * a.height || b.bitsPerPixel - a.bitsPerPixel);
};

/** Applies the mask below the picture: set bits are transparent. A truncated mask has no effect. */
const applyMask = (bytes: Buffer, start: number, pixels: Pixels): Pixels => {
  const { width, height, channels } = pixels;
  const stride = rowBytes(width, 1);
  const transparent = indexReader(1);
  const data = new Uint8Array(width * height * 4);
  for (let y = 0; y < height; y += 1) {
    const row = start + (height - 1 - y) * stride;
    for (let x = 0; x < width; x += 1) {
      const from = (y * width + x) * channels;
      const to = (y * width + x) * 4;
      data.set(pixels.data.subarray(from, from + 3), to);
      data[to + 3] = transparent(bytes, row, x) === 1 ? 0 : 255;
    }
  }
  return { data, width, height, channels: 4 };
};

/** Decodes a bitmap entry of an icon file with its transparency; PNG entries are ordinary PNG files. */
export const decodeIcoBitmap = async (entry: IcoEntry): Promise<Pixels> => {
  const header = readBitmapHeader(entry.data, 0, true);
  if (header.compression !== 'none') throw new BrokenImageError({ detail: 'icon with compressed bitmap' });
  const masks = header.bitsPerPixel === 32 ? WITH_ALPHA : header.masks;
  const pixels = await unpackBitmap(entry.data, header.end, header, masks);
  if (pixels.channels === 4 && !hasEmptyAlpha(pixels)) return pixels;
  const mask = header.end + rowBytes(header.width, header.bitsPerPixel) * header.height;
  return applyMask(entry.data, mask, pixels);
};

const ICO_HEADER_BYTES = 22;
/** The directory has one byte for each side; 0 means 256. */
const MAX_ICON_SIDE = 256;

/** @throws InvalidParametersError when a picture is too large for an icon */
export const requireIconSize = ({ width, height }: PictureSize): void => {
  if (Math.max(width, height) <= MAX_ICON_SIDE) return;
  throw new InvalidParametersError(`An icon can be ${MAX_ICON_SIDE} pixels wide and high at most.`);
};

/** Wraps a PNG file of this size in an icon file with a single picture. */
export const encodeIco = (png: Buffer, { width, height }: PictureSize): Buffer => {
  const header = Buffer.alloc(ICO_HEADER_BYTES);
  header.writeUInt16LE(1, 2);
  header.writeUInt16LE(1, 4);
  header.writeUInt8(width % MAX_ICON_SIDE, 6);
  header.writeUInt8(height % MAX_ICON_SIDE, 7);
  header.writeUInt16LE(1, 10);
  header.writeUInt16LE(32, 12);
  header.writeUInt32LE(png.length, 14);
  header.writeUInt32LE(ICO_HEADER_BYTES, 18);
  return Buffer.concat([header, png]);
};
