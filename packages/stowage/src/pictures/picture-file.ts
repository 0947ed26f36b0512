import { addAbortSignal, type Readable } from 'node:stream';
import { BrokenImageError } from '../errors/errors.ts';
import type { ReadResult } from '../storage/readable.ts';
import { mediaTypeOf } from '../basics/content/file-type.ts';
import { boundedBytes, joined, ParseBudget } from '../basics/content/parse-budget.ts';
import { pngChunks } from './metadata/png.ts';

/** A stored or uploaded picture. */
export interface PictureFile {
  /** Bytes; undefined where the store does not report it. */
  readonly size: number | undefined;
  /** Opens it from the start; called at most once unless a method says otherwise. */
  readonly open: () => Readable | Promise<Readable>;
}

const tooLarge = (): Error => new BrokenImageError('The image file is too large.');

/**
 * Reads a picture's stream into memory, at most `limit` bytes; the stream is destroyed in every case.
 * @throws BrokenImageError when it is longer, or the error of `failure`
 */
export const collect = (
  stream: Readable,
  limit: number,
  signal?: AbortSignal,
  failure: () => Error = tooLarge,
): Promise<Buffer> => {
  if (signal) addAbortSignal(signal, stream);
  return boundedBytes(stream, limit, failure);
};

/**
 * Reads an opened file into memory: at most `limit` bytes.
 * @throws the errors of `collect`
 */
export const inMemory = async (
  read: Pick<ReadResult, 'bytes' | 'stream'>,
  limit: number,
  signal: AbortSignal,
): Promise<Buffer> => {
  const { bytes } = read;
  // For content that is in memory already, the stream is created only on access.
  return bytes === undefined
    ? collect(read.stream, limit, signal)
    : Buffer.from(bytes.buffer, bytes.byteOffset, bytes.byteLength);
};

/** The beginning of a file: until `isEnough`, or `most` bytes. The stream is destroyed. */
export const beginningOf = async (
  stream: Readable,
  most: number,
  isEnough: (beginning: Buffer) => boolean = () => false,
): Promise<Buffer> => {
  let beginning: Buffer = Buffer.alloc(0);
  let chunks: Buffer[] = [];
  let length = 0;
  for await (const chunk of stream as AsyncIterable<Buffer>) {
    chunks.push(chunk);
    length += chunk.length;
    // Joined whenever the length has doubled: each byte is copied only a few times.
    if (length < 2 * beginning.length && length < most) continue;
    beginning = joined(chunks, length);
    chunks = [beginning];
    if (length >= most || isEnough(beginning)) return beginning;
  }
  return joined(chunks, length);
};

/** Maximum number of chunks, segments, blocks and EXIF entries; an hour of animation has fewer. */
const MAX_ITEMS = 50_000;
const MAX_DEPTH = 16;
/** Number of times that all bytes of a file may be scanned or copied. */
const PASSES = 4;
const SPARE_BYTES = 1024 * 1024;

/** Budget for parsing one picture. Its methods throw BrokenImageError when the file exceeds it. */
export const pictureBudget = (file: Buffer): ParseBudget =>
  new ParseBudget(
    { items: MAX_ITEMS, depth: MAX_DEPTH, bytes: PASSES * file.length + SPARE_BYTES },
    (limit) => new BrokenImageError({ detail: `a picture that takes too much to read: ${limit}` }),
  );

/** Decodable formats, detected by content. */
export type PictureFormat = WritableFormat | 'heic';

/** Formats in which pictures can be stored. `heif` is AVIF. */
export type WritableFormat = 'jpeg' | 'png' | 'gif' | 'webp' | 'heif' | 'tiff' | 'bmp' | 'ico';

const starts = (bytes: Uint8Array, ...expected: readonly number[]): boolean =>
  bytes.length >= expected.length && expected.every((byte, index) => bytes[index] === byte);

const ascii = (bytes: Uint8Array, start: number, end: number): string =>
  String.fromCharCode(...bytes.subarray(start, end));

const HEIF_BRANDS = new Set(['avif', 'avis', 'heic', 'heix', 'heim', 'heis', 'hevc', 'mif1', 'msf1']);

/** Whether a HEIF file is a photo of a phone (HEIC), which the library does not decode: by its brands. */
const isHeic = (bytes: Uint8Array): boolean => {
  const length = new DataView(bytes.buffer, bytes.byteOffset, 4).getUint32(0);
  const brands = ascii(bytes, 8, Math.min(length, bytes.length, 256));
  return /hei[cxms]|hev[cx]/u.test(brands) && !/avi[fs]/u.test(brands);
};

/**
 * The format of a picture by its first bytes (256 suffice), regardless of its name. Undefined for everything
 * else, SVG included: only the formats listed here reach a decoder.
 */
export const sniffPicture = (bytes: Uint8Array): PictureFormat | undefined => {
  if (starts(bytes, 0xff, 0xd8, 0xff)) return 'jpeg';
  if (starts(bytes, 0x89, 0x50, 0x4e, 0x47, 0x0d, 0x0a, 0x1a, 0x0a)) return 'png';
  const six = ascii(bytes, 0, 6);
  if (six === 'GIF87a' || six === 'GIF89a') return 'gif';
  if (ascii(bytes, 0, 4) === 'RIFF' && ascii(bytes, 8, 12) === 'WEBP') return 'webp';
  if (ascii(bytes, 4, 8) === 'ftyp' && HEIF_BRANDS.has(ascii(bytes, 8, 12)))
    return isHeic(bytes) ? 'heic' : 'heif';
  if (starts(bytes, 0x49, 0x49, 0x2a, 0) || starts(bytes, 0x4d, 0x4d, 0, 0x2a)) return 'tiff';
  if (starts(bytes, 0x42, 0x4d)) return 'bmp';
  // Icons and cursors share one container.
  if (starts(bytes, 0, 0, 1, 0) || starts(bytes, 0, 0, 2, 0)) return 'ico';
  return undefined;
};

/** Extensions of files of a format, the default one first. */
export const extensionsOfFormat: Readonly<Record<PictureFormat, readonly [string, ...string[]]>> = {
  jpeg: ['jpg', 'jpeg', 'jpe', 'jfif'],
  png: ['png', 'apng'],
  gif: ['gif'],
  webp: ['webp'],
  heif: ['avif'],
  heic: ['heic', 'heif'],
  tiff: ['tif', 'tiff'],
  bmp: ['bmp', 'dib'],
  ico: ['ico', 'cur'],
};

/** The media type of a picture by its first bytes; undefined if it cannot be decoded. */
export const mimeTypeOfPicture = (bytes: Uint8Array): string | undefined => {
  const format = sniffPicture(bytes);
  return format === undefined ? undefined : mediaTypeOf(`picture.${extensionsOfFormat[format][0]}`);
};

const CHUNK_BYTES = 8;

/**
 * Whether a PNG file is an animation, of which decoders support only the first frame.
 * @see https://www.w3.org/TR/png-3/#apng-frame-based-animation
 */
export const isAnimatedPng = (file: Buffer, budget: ParseBudget): boolean => {
  for (const { kind, start } of pngChunks(file, budget)) {
    if (kind === 'acTL') return start + CHUNK_BYTES + 4 <= file.length && file.readUInt32BE(start + 8) > 1;
    if (kind === 'IDAT') return false;
  }
  return false;
};

/**
 * The size in the beginning of a GIF or WebP file, which the library cannot read from a truncated file;
 * undefined for other files. `isRotated`: the file has EXIF data at its end, which may rotate it.
 * @see https://developers.google.com/speed/webp/docs/riff_container
 */
export const sizeInHeader = (
  beginning: Buffer,
): { readonly width: number; readonly height: number; readonly isRotated: boolean } | undefined => {
  const format = beginning.length < 30 ? undefined : sniffPicture(beginning);
  if (format === 'gif') {
    const [width, height] = [beginning.readUInt16LE(6), beginning.readUInt16LE(8)];
    // Some programs write a canvas of 0 or 1 pixels: browsers and the library enlarge it to the first frame.
    return Math.min(width, height) < 2 ? undefined : { width, height, isRotated: false };
  }
  if (format !== 'webp') return undefined;
  // The library can read a complete file, including its EXIF data.
  if (beginning.readUInt32LE(4) + CHUNK_BYTES <= beginning.length) return undefined;
  const kind = beginning.toString('latin1', 12, 16);
  if (kind === 'VP8X') {
    const width = beginning.readUIntLE(24, 3) + 1;
    const height = beginning.readUIntLE(27, 3) + 1;
    return { width, height, isRotated: ((beginning[20] ?? 0) & 0x08) !== 0 };
  }
  if (kind === 'VP8L') {
    const bits = beginning.readUInt32LE(21);
    return { width: (bits & 0x3fff) + 1, height: ((bits >>> 14) & 0x3fff) + 1, isRotated: false };
  }
  const width = beginning.readUInt16LE(26) & 0x3fff;
  return { width, height: beginning.readUInt16LE(28) & 0x3fff, isRotated: false };
};
