import { setImmediate as nextTurn } from 'node:timers/promises';
import { STEPS_PER_TURN, type Pixels } from './bmp-header.ts';

const FILE_HEADER_BYTES = 14;
const INFO_HEADER_BYTES = 40;
/** The version 4 header is the first that says where the alpha channel is. */
const V4_HEADER_BYTES = 108;
const BITFIELDS = 3;
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

/**
 * Encodes pixels as a `.bmp` file: 24 bits a pixel, or 32 with an alpha channel. Costs memory for the whole
 * file. Gives way to other work between portions.
 */
export const encodeBmp = async (pixels: Pixels): Promise<Buffer> => {
  const { data, width, height, channels } = pixels;
  const stride = Math.ceil((width * channels) / 4) * 4;
  const start = FILE_HEADER_BYTES + (channels === 4 ? V4_HEADER_BYTES : INFO_HEADER_BYTES);
  const file = Buffer.alloc(start + stride * height);
  writeHeaders(file, pixels, start);
  const rowsPerTurn = Math.ceil(STEPS_PER_TURN / width);
  for (let y = 0; y < height; y += 1) {
    let from = y * width * channels;
    let to = start + (height - 1 - y) * stride;
    for (let x = 0; x < width; x += 1, from += channels, to += channels) {
      file[to] = data[from + 2] ?? 0;
      file[to + 1] = data[from + 1] ?? 0;
      file[to + 2] = data[from] ?? 0;
      if (channels === 4) file[to + 3] = data[from + 3] ?? 0;
    }
    if ((y + 1) % rowsPerTurn === 0) await nextTurn();
  }
  return file;
};
