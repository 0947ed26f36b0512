import { setImmediate as nextTurn } from 'node:timers/promises';
import { BrokenImageError } from '../errors/errors.ts';
import type { BitmapHeader } from './bmp-header.ts';
import { STEPS_PER_TURN } from './pixels.ts';

const LINE_END = 0;
const PICTURE_END = 1;
const DELTA = 2;

/** Reads one palette index out of a packed row of 1, 2, 4 or 8 bits a pixel. */
export const indexReader = (bits: number): ((bytes: Buffer, row: number, x: number) => number) => {
  if (bits === 8) return (bytes, row, x) => bytes[row + x] ?? 0;
  const perByte = 8 / bits;
  const mask = (1 << bits) - 1;
  return (bytes, row, x) =>
    ((bytes[row + Math.floor(x / perByte)] ?? 0) >> (8 - bits - (x % perByte) * bits)) & mask;
};

/** The pixels of one run, cut at the end of the row: `packed` holds a byte a pixel, or two of them (RLE4), and repeats. */
const putRun = (row: Buffer, x: number, count: number, packed: Buffer, four: boolean): void => {
  const end = Math.min(row.length, x + count);
  for (let to = x, position = 0; to < end; to += 1, position += 1) {
    const byte = packed[(four ? position >> 1 : position) % packed.length] ?? 0;
    row[to] = four ? (position % 2 === 0 ? byte >> 4 : byte & 0x0f) : byte;
  }
};

/**
 * Unpacks a run-length encoded bitmap (RLE8, RLE4) into one palette index a pixel, in the order of the file's rows. Runs that leave
 * their row are cut, pixels that are skipped keep index 0. Costs width x height bytes, and time for what is kept, not for what is claimed.
 * @throws BrokenImageError when the data ends before the picture does.
 */
export const unpackRuns = async (bytes: Buffer, start: number, header: BitmapHeader): Promise<Buffer> => {
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
    if (steps % STEPS_PER_TURN === 0) await nextTurn();
  }
  return indexes;
};
