import { setImmediate as yieldToLoop } from 'node:timers/promises';
import { BrokenImageError } from '../errors/errors.ts';
import {
  BITFIELDS,
  type BitmapHeader,
  type ChannelMasks,
  FILE_HEADER_BYTES,
  hasEmptyAlpha,
  type Pixels,
  readBmpFileHeader,
  STEPS_PER_SLICE,
} from './bmp-header.ts';

const LINE_END = 0;
const PICTURE_END = 1;
const DELTA = 2;

/** Returns a reader of palette indexes in packed rows of 1, 2, 4 or 8 bits a pixel. */
export const indexReader = (bits: number): ((bytes: Buffer, row: number, x: number) => number) => {
  if (bits === 8) return (bytes, row, x) => bytes[row + x] ?? 0;
  const perByte = 8 / bits;
  const mask = (1 << bits) - 1;
  return (bytes, row, x) =>
    ((bytes[row + Math.floor(x / perByte)] ?? 0) >> (8 - bits - (x % perByte) * bits)) & mask;
};

/** Writes the pixels of one run, cut at the end of the row. `packed` repeats; RLE4 packs two in a byte. */
const putRun = (row: Buffer, x: number, count: number, packed: Buffer, four: boolean): void => {
  const end = Math.min(row.length, x + count);
  for (let to = x, position = 0; to < end; to += 1, position += 1) {
    const byte = packed[(four ? position >> 1 : position) % packed.length] ?? 0;
    row[to] = four ? (position % 2 === 0 ? byte >> 4 : byte & 0x0f) : byte;
  }
};

/**
 * Decodes a run-length encoded bitmap (RLE8, RLE4) into one palette index per pixel, in the order of the
 * file's rows. Runs are cut at the end of their row, skipped pixels get index 0. Takes width x height bytes;
 * the time depends on the pixels that are stored, not on the lengths that the data claims.
 * @throws BrokenImageError when the data ends before the picture does.
 */
const unpackRuns = async (bytes: Buffer, start: number, header: BitmapHeader): Promise<Buffer> => {
  const { width, height } = header;
  const indexes = Buffer.alloc(width * height);
  const four = header.compression === 'rle4';
  let [at, x, y, steps] = [start, 0, 0, 0];
  const take = (count: number): Buffer => {
    at += count;
    if (at > bytes.length) throw new BrokenImageError({ detail: 'bitmap runs cut off' });
    return bytes.subarray(at - count, at);
  };
  const run = (count: number, packed: Buffer): void => {
    putRun(indexes.subarray(y * width, (y + 1) * width), x, count, packed, four);
    x += count;
  };
  while (y < height) {
    const [count = 0, value = 0] = take(2);
    if (count > 0) {
      run(count, bytes.subarray(at - 1, at));
    } else if (value === LINE_END) {
      [x, y] = [0, y + 1];
    } else if (value === PICTURE_END) {
      break;
    } else if (value === DELTA) {
      const [right = 0, on = 0] = take(2);
      [x, y] = [x + right, y + on];
    } else {
      const length = four ? Math.ceil(value / 2) : value;
      run(value, take(length));
      // Literal runs are padded to 16 bits.
      at += length % 2;
    }
    steps += 64;
    if (steps % STEPS_PER_SLICE === 0) await yieldToLoop();
  }
  return indexes;
};

type WriteRow = (row: number, out: number) => void;

/** Bytes of a stored row; rows are padded to 32 bits. */
export const rowBytes = (width: number, bits: number): number => Math.ceil((width * bits) / 32) * 4;

/** Maps the values of a mask to 0 to 255. */
const channel = (mask: number): { shift: number; table: Uint8Array } => {
  if (mask === 0) return { shift: 0, table: Uint8Array.of(0) };
  const low = 31 - Math.clz32(mask & -mask);
  const high = 32 - Math.clz32(mask);
  // Of a channel wider than 8 bits only the upper 8 are used.
  const shift = Math.max(low, high - 8);
  const table = new Uint8Array(1 << (high - shift));
  const top = table.length - 1;
  return { shift, table: table.map((_, value) => Math.round((value * 255) / top)) };
};

const maskedRow = (bytes: Buffer, header: BitmapHeader, out: Uint8Array, masks: ChannelMasks): WriteRow => {
  const [red, green, blue, alpha] = [masks.red, masks.green, masks.blue, masks.alpha].map(channel);
  if (!red || !green || !blue || !alpha) throw new BrokenImageError();
  const wide = header.bitsPerPixel === 32;
  const step = masks.alpha === 0 ? 3 : 4;
  return (row, start) => {
    for (let x = 0, to = start; x < header.width; x += 1, to += step) {
      const pixel = wide ? bytes.readUInt32LE(row + x * 4) : bytes.readUInt16LE(row + x * 2);
      out[to] = red.table[(pixel >>> red.shift) & (red.table.length - 1)] ?? 0;
      out[to + 1] = green.table[(pixel >>> green.shift) & (green.table.length - 1)] ?? 0;
      out[to + 2] = blue.table[(pixel >>> blue.shift) & (blue.table.length - 1)] ?? 0;
      if (step === 4) out[to + 3] = alpha.table[(pixel >>> alpha.shift) & (alpha.table.length - 1)] ?? 0;
    }
  };
};

const trueColourRow =
  (bytes: Buffer, header: BitmapHeader, out: Uint8Array): WriteRow =>
  (row, start) => {
    for (let x = 0, from = row, to = start; x < header.width; x += 1, from += 3, to += 3) {
      out[to] = bytes[from + 2] ?? 0;
      out[to + 1] = bytes[from + 1] ?? 0;
      out[to + 2] = bytes[from] ?? 0;
    }
  };

const paletteRow = (
  bytes: Buffer,
  header: BitmapHeader,
  out: Uint8Array,
  indexes: { data: Buffer; bits: number },
): WriteRow => {
  const { offset, count, entryBytes } = header.palette;
  const colours = Buffer.alloc(256 * entryBytes);
  bytes.copy(colours, 0, offset, offset + count * entryBytes);
  const read = indexReader(indexes.bits);
  return (row, start) => {
    for (let x = 0, to = start; x < header.width; x += 1, to += 3) {
      const colour = read(indexes.data, row, x) * entryBytes;
      out[to] = colours[colour + 2] ?? 0;
      out[to + 1] = colours[colour + 1] ?? 0;
      out[to + 2] = colours[colour] ?? 0;
    }
  };
};

const requireRows = (bytes: Buffer, start: number, header: BitmapHeader): number => {
  const stride = rowBytes(header.width, header.bitsPerPixel);
  // Some programs omit the padding of the last row.
  const needed = stride * (header.height - 1) + Math.ceil((header.width * header.bitsPerPixel) / 8);
  if (start < 0 || start + needed > bytes.length) throw new BrokenImageError({ detail: 'bitmap cut off' });
  return stride;
};

/** Maximum pixels that two bytes of runs encode: files that claim more are rejected before allocation. */
const MAX_RUN = 255;

const requireData = (bytes: Buffer, start: number, header: BitmapHeader): void => {
  if (header.compression === 'none') requireRows(bytes, start, header);
  else if (header.width * header.height > ((bytes.length - start) / 2) * MAX_RUN)
    throw new BrokenImageError({ detail: 'bitmap runs cut off' });
};

const rowsOf = async (
  bytes: Buffer,
  start: number,
  header: BitmapHeader,
  target: { data: Uint8Array; masks: ChannelMasks },
): Promise<{ readonly write: WriteRow; readonly first: number; readonly stride: number }> => {
  const { width, bitsPerPixel: bits } = header;
  if (header.compression !== 'none') {
    const indexes = { data: await unpackRuns(bytes, start, header), bits: 8 };
    return { write: paletteRow(bytes, header, target.data, indexes), first: 0, stride: width };
  }
  const rows = { first: start, stride: requireRows(bytes, start, header) };
  if (bits <= 8) return { write: paletteRow(bytes, header, target.data, { data: bytes, bits }), ...rows };
  if (bits === 24) return { write: trueColourRow(bytes, header, target.data), ...rows };
  return { write: maskedRow(bytes, header, target.data, target.masks), ...rows };
};

/**
 * Decodes the pixels of a bitmap from `start`, with the header's masks or others. Yields to the event loop.
 * @throws BrokenImageError when the data is too short.
 */
export const unpackBitmap = async (
  bytes: Buffer,
  start: number,
  header: BitmapHeader,
  masks: ChannelMasks = header.masks,
): Promise<Pixels> => {
  const { width, height, bitsPerPixel } = header;
  requireData(bytes, start, header);
  const masked = bitsPerPixel === 16 || bitsPerPixel === 32;
  const channels = masked && masks.alpha !== 0 ? 4 : 3;
  const data = new Uint8Array(width * height * channels);
  const { write, first, stride } = await rowsOf(bytes, start, header, { data, masks });
  const rowsPerSlice = Math.ceil(STEPS_PER_SLICE / width);
  for (let y = 0; y < height; y += 1) {
    write(first + (header.topDown ? y : height - 1 - y) * stride, y * width * channels);
    if ((y + 1) % rowsPerSlice === 0) await yieldToLoop();
  }
  return { data, width, height, channels };
};

/**
 * Decodes a `.bmp` file: 1, 2, 4, 8, 16, 24 and 32 bits, bit masks, RLE4 and RLE8, OS/2 and Windows headers,
 * rows in either order. The dimensions are checked before memory is allocated; takes three or four bytes per
 * pixel. An alpha channel that is zero everywhere is ignored.
 *
 * Own code, because available libraries fail on valid files: they ignore the header's offset of the pixels,
 * stop at the first row of a 4-bit picture of odd width, and decode skips in runs incorrectly.
 * @throws BrokenImageError
 */
export const decodeBmp = async (bytes: Buffer): Promise<Pixels> => {
  const { header, pixels: start } = readBmpFileHeader(bytes);
  const pixels = await unpackBitmap(bytes, start, header);
  return hasEmptyAlpha(pixels) ? unpackBitmap(bytes, start, header, { ...header.masks, alpha: 0 }) : pixels;
};

const INFO_HEADER_BYTES = 40;
/** The version 4 header is the first with a mask of the alpha channel. */
const V4_HEADER_BYTES = 108;
const SRGB = 0x73524742;
/** 72 dots per inch. */
const PIXELS_PER_METER = 2835;
const RGBA_MASKS = [0x00ff0000, 0x0000ff00, 0x000000ff, 0xff000000];

const writeHeaders = (file: Buffer, { width, height, channels }: Pixels, start: number): void => {
  file.write('BM', 0, 'latin1');
  file.writeUInt32LE(file.length, 2);
  file.writeUInt32LE(start, 10);
  const at = FILE_HEADER_BYTES;
  file.writeUInt32LE(start - at, at);
  file.writeInt32LE(width, at + 4);
  file.writeInt32LE(height, at + 8);
  file.writeUInt16LE(1, at + 12);
  file.writeUInt16LE(channels * 8, at + 14);
  file.writeUInt32LE(channels === 4 ? BITFIELDS : 0, at + 16);
  file.writeUInt32LE(file.length - start, at + 20);
  file.writeInt32LE(PIXELS_PER_METER, at + 24);
  file.writeInt32LE(PIXELS_PER_METER, at + 28);
  if (channels === 3) return;
  RGBA_MASKS.forEach((mask, index) => file.writeUInt32LE(mask, at + INFO_HEADER_BYTES + index * 4));
  file.writeUInt32LE(SRGB, at + 56);
};

/** Encodes pixels as a `.bmp` file, in memory, of 24 or 32 bits. Yields to the event loop. */
export const encodeBmp = async (pixels: Pixels): Promise<Buffer> => {
  const { data, width, height, channels } = pixels;
  const stride = Math.ceil((width * channels) / 4) * 4;
  const start = FILE_HEADER_BYTES + (channels === 4 ? V4_HEADER_BYTES : INFO_HEADER_BYTES);
  const file = Buffer.alloc(start + stride * height);
  writeHeaders(file, pixels, start);
  const rowsPerSlice = Math.ceil(STEPS_PER_SLICE / width);
  for (let y = 0; y < height; y += 1) {
    let from = y * width * channels;
    let to = start + (height - 1 - y) * stride;
    for (let x = 0; x < width; x += 1, from += channels, to += channels) {
      file[to] = data[from + 2] ?? 0;
      file[to + 1] = data[from + 1] ?? 0;
      file[to + 2] = data[from] ?? 0;
      if (channels === 4) file[to + 3] = data[from + 3] ?? 0;
    }
    if ((y + 1) % rowsPerSlice === 0) await yieldToLoop();
  }
  return file;
};
