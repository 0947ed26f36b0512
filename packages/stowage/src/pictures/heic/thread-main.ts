import { parentPort, workerData } from 'node:worker_threads';
import { crc32, deflateSync } from 'node:zlib';
import type { HeicAnswer, HeicJob } from './open-heic.ts';

/** Pixels of eight bits a sample: red, green, blue, and alpha, whether it means anything or not. */
interface RgbaPixels {
  readonly data: Uint8Array;
  readonly width: number;
  readonly height: number;
  /** False: the alpha channel is dropped. */
  readonly hasAlpha: boolean;
}

/** What a picture says besides its pixels. */
export interface PngExtras {
  /** A colour profile for RGB. */
  readonly icc?: Uint8Array | undefined;
  /** EXIF data without the mark that JPEG files have before it. */
  readonly exif?: Uint8Array | undefined;
  readonly xmp?: Uint8Array | undefined;
}

/** Memory of fewer bytes is shared with other buffers, and cannot be handed over. */
const MIN_PIECE_BYTES = 64 * 1024;
const SIGNATURE = Buffer.from([0x89, 0x50, 0x4e, 0x47, 0x0d, 0x0a, 0x1a, 0x0a]);
/** Takes the alpha channel away and puts the filter byte (0: none) before each row, in the same memory. */
const toRgbRows = ({ data, width, height }: RgbaPixels): Uint8Array => {
  let to = 0;
  for (let y = 0, from = 0; y < height; y += 1) {
    const start = to;
    to += 1;
    for (let x = 0; x < width; x += 1, from += 4, to += 3) {
      // All are read first: in the first row what is written runs into what is read.
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

/** A chunk in parts, of which the content need not be copied. */
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

/** As a zlib stream that is not compressed, in one piece of memory of its own. */
const stored = (bytes: Uint8Array): Buffer =>
  deflateSync(bytes, { level: 0, chunkSize: bytes.length + Math.ceil(bytes.length / 16) + MIN_PIECE_BYTES });

/**
 * Pixels as the parts of a PNG file, not compressed: the way in which pixels, their colour profile and their metadata
 * come to the library together. Overwrites the pixels that it is given, and takes a copy of them besides.
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

interface HeicDecoder {
  readonly default: {
    readonly all: (job: { readonly buffer: Uint8Array }) => Promise<readonly DecodedHeic[]>;
  };
}

/** What is used of memory that a WebAssembly program has. The compiler knows it in pages only. */
interface ProgramMemory {
  readonly buffer: ArrayBuffer;
  grow: (this: ProgramMemory, pages: number) => number;
}

declare const WebAssembly: { readonly Memory: { readonly prototype: ProgramMemory } };

/**
 * Lets the decoder's memory grow no further than this: the coded picture may be larger than the file says,
 * and the decoder would only find out when it has made room for it. It takes the refusal as a lack of memory.
 */
const limitMemory = (bytes: number): void => {
  const { prototype } = WebAssembly.Memory;
  const { grow } = prototype;
  prototype.grow = function limited(pages): number {
    if (this.buffer.byteLength + pages * PAGE_BYTES > bytes) throw new RangeError('too much memory');
    return grow.call(this, pages);
  };
};

const decode = async ({ file, index, memory, chunks, ...seen }: HeicJob): Promise<HeicAnswer> => {
  limitMemory(memory);
  // The package has no types.
  const name = 'heic-decode';
  const { default: decoder } = (await import(name)) as HeicDecoder;
  const picture = (await decoder.all({ buffer: file }))[index];
  if (picture === undefined) return { failure: 'no picture' };
  const { width, height } = picture;
  if (width !== seen.width || height !== seen.height)
    return { failure: `${String(width)}x${String(height)}, not what its header says` };
  const { data } = await picture.decode();
  // Pixels that the decoder did not fill in stay transparent.
  if (!seen.hasAlpha && data.at(-1) !== 0xff) return { failure: 'smaller than its header says' };
  return { png: pixelPng({ ...seen, data: new Uint8Array(data.buffer) }, chunks) };
};

const answer = await decode(workerData as HeicJob).catch((error: unknown): HeicAnswer => ({
  failure: error instanceof Error ? error.message : String(error),
}));
const parts = 'png' in answer ? answer.png : [];
const large = parts.filter(({ length }) => length > MIN_PIECE_BYTES);
parentPort?.postMessage(
  answer,
  large.map(({ buffer }) => buffer as ArrayBuffer),
);
