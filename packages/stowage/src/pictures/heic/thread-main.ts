import { parentPort, workerData } from 'node:worker_threads';
import { crc32, deflateSync } from 'node:zlib';
import type { HeicResult, HeicJob } from './open-heic.ts';

/** Pixels with eight bits a sample: red, green, blue, and an alpha channel that may be meaningless. */
interface RgbaPixels {
  readonly data: Uint8Array;
  readonly width: number;
  readonly height: number;
  /** False: the alpha channel is discarded. */
  readonly hasAlpha: boolean;
}

/** Colour profile and metadata of a picture. */
export interface PngExtras {
  /** A colour profile for RGB. */
  readonly icc?: Uint8Array | undefined;
  /** EXIF data without the marker that precedes it in JPEG files. */
  readonly exif?: Uint8Array | undefined;
  readonly xmp?: Uint8Array | undefined;
}

/** Smaller buffers share their memory with others, and cannot be transferred. */
const MIN_PIECE_BYTES = 64 * 1024;
const SIGNATURE = Buffer.from([0x89, 0x50, 0x4e, 0x47, 0x0d, 0x0a, 0x1a, 0x0a]);
/** Removes the alpha channel and inserts the filter byte (0: none) before each row, in the same memory. */
const toRgbRows = ({ data, width, height }: RgbaPixels): Uint8Array => {
  let to = 0;
  for (let y = 0, from = 0; y < height; y += 1) {
    const start = to;
    to += 1;
    for (let x = 0; x < width; x += 1, from += 4, to += 3) {
      // All are read first: in the first row the output overlaps the input.
      const [red, green, blue] = [data[from] ?? 0, data[from + 1] ?? 0, data[from + 2] ?? 0];
      data[to] = red;
      data[to + 1] = green;
      data[to + 2] = blue;
    }
    data[start] = 0;
  }
  return data.subarray(0, to);
};

const toRgbaRows = ({ data, width, height }: RgbaPixels): Uint8Array => {
  const rowBytes = width * 4;
  const rows = new Uint8Array(height * (rowBytes + 1));
  for (let y = 0; y < height; y += 1)
    rows.set(data.subarray(y * rowBytes, (y + 1) * rowBytes), y * (rowBytes + 1) + 1);
  return rows;
};

/** A chunk in parts, so that its content need not be copied. */
const chunk = (kind: string, content: Uint8Array): readonly Uint8Array[] => {
  const head = Buffer.alloc(8);
  head.writeUInt32BE(content.length);
  head.write(kind, 4, 'latin1');
  const checksum = Buffer.alloc(4);
  checksum.writeUInt32BE(crc32(content, crc32(head.subarray(4))));
  return [head, content, checksum];
};

const headerOf = ({ width, height, hasAlpha }: RgbaPixels): Buffer => {
  const header = Buffer.from([0, 0, 0, 0, 0, 0, 0, 0, 8, hasAlpha ? 6 : 2, 0, 0, 0]);
  header.writeUInt32BE(width, 0);
  header.writeUInt32BE(height, 4);
  return header;
};

const text = (content: string): Buffer => Buffer.from(content, 'latin1');

/** An uncompressed zlib stream in its own memory. */
const stored = (bytes: Uint8Array): Buffer =>
  deflateSync(bytes, { level: 0, chunkSize: bytes.length + Math.ceil(bytes.length / 16) + MIN_PIECE_BYTES });

/**
 * Encodes pixels as the parts of an uncompressed PNG file, which passes pixels, colour profile and metadata
 * to the library together. Overwrites the given pixels, and copies them once.
 * @see https://www.w3.org/TR/png-3/
 */
const pixelPng = (pixels: RgbaPixels, { icc, exif, xmp }: PngExtras): readonly Uint8Array[] => [
  SIGNATURE,
  ...chunk('IHDR', headerOf(pixels)),
  ...(icc === undefined ? [] : chunk('iCCP', Buffer.concat([text('icc\0\0'), deflateSync(icc)]))),
  ...(exif === undefined ? [] : chunk('eXIf', exif)),
  ...(xmp === undefined ? [] : chunk('iTXt', Buffer.concat([text('XML:com.adobe.xmp\0\0\0\0\0'), xmp]))),
  ...chunk('IDAT', stored(pixels.hasAlpha ? toRgbaRows(pixels) : toRgbRows(pixels))),
  ...chunk('IEND', Buffer.alloc(0)),
];

/** Bytes of a page of WebAssembly memory. */
const PAGE_BYTES = 64 * 1024;

interface DecodedHeic {
  readonly width: number;
  readonly height: number;
  readonly decode: () => Promise<{ readonly data: Uint8ClampedArray }>;
}

/** The used members of `WebAssembly.Memory`; the compiler has its types only for browsers. */
interface ProgramMemory {
  readonly buffer: ArrayBuffer;
  grow: (this: ProgramMemory, pages: number) => number;
}

declare const WebAssembly: { readonly Memory: { readonly prototype: ProgramMemory } };

/**
 * Limits the growth of the decoder's memory: the coded picture may be larger than its header claims, and the
 * decoder would notice only after the allocation. The decoder handles a rejected growth as out of memory.
 */
const limitMemory = (bytes: number): void => {
  const { prototype } = WebAssembly.Memory;
  const { grow } = prototype;
  prototype.grow = function limited(pages): number {
    if (this.buffer.byteLength + pages * PAGE_BYTES > bytes) throw new RangeError('too much memory');
    return grow.call(this, pages);
  };
};

const decode = async ({ file, index, memory, chunks, ...seen }: HeicJob): Promise<HeicResult> => {
  limitMemory(memory);
  // The package has no types.
  const name = 'heic-decode';
  const { default: decoder } = (await import(name)) as {
    readonly default: { all(job: { readonly buffer: Uint8Array }): Promise<readonly DecodedHeic[]> };
  };
  const picture = (await decoder.all({ buffer: file }))[index];
  if (picture === undefined) return { failure: 'no picture' };
  const { width, height } = picture;
  if (width !== seen.width || height !== seen.height)
    return { failure: `${String(width)}x${String(height)}, not what its header says` };
  const { data } = await picture.decode();
  // Pixels that the decoder did not fill stay transparent.
  if (!seen.hasAlpha && data.at(-1) !== 0xff) return { failure: 'smaller than its header says' };
  return { png: pixelPng({ ...seen, data: new Uint8Array(data.buffer) }, chunks) };
};

const result = await decode(workerData as HeicJob).catch((error: unknown): HeicResult => ({
  failure: error instanceof Error ? error.message : String(error),
}));
const parts = 'png' in result ? result.png : [];
const large = parts.filter(({ length }) => length > MIN_PIECE_BYTES);
parentPort?.postMessage(
  result,
  large.map(({ buffer }) => buffer as ArrayBuffer),
);
