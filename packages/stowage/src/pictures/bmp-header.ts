import { BrokenImageError } from '../errors/errors.ts';
import { MAX_DECODED_PIXELS } from './engine.ts';

/** Decoded pixels, row by row from the top, 8 bits a channel: RGB, or RGBA with straight alpha. */
export interface Pixels {
  readonly data: Uint8Array;
  readonly width: number;
  readonly height: number;
  readonly channels: 3 | 4;
}

/** Pixels (or bytes of runs) that are decoded before yielding to the event loop: some milliseconds. */
export const STEPS_PER_SLICE = 1_000_000;

/** True when an alpha channel is zero everywhere, as programs without support for alpha write it. */
export const hasEmptyAlpha = ({ data, channels }: Pixels): boolean => {
  if (channels === 3) return false;
  for (let at = 3; at < data.length; at += 4) if (data[at] !== 0) return false;
  return true;
};

/** Bit masks of the channels in a pixel of 16 or 32 bits. An alpha mask of 0 means no alpha channel. */
export interface ChannelMasks {
  readonly red: number;
  readonly green: number;
  readonly blue: number;
  readonly alpha: number;
}

/** The header of a device-independent bitmap. Offsets count from the start of the bytes. */
export interface BitmapHeader {
  readonly width: number;
  readonly height: number;
  /** True: rows are stored from the top; the default is from the bottom. */
  readonly topDown: boolean;
  readonly bitsPerPixel: number;
  readonly compression: 'none' | 'rle8' | 'rle4';
  readonly masks: ChannelMasks;
  readonly palette: { readonly offset: number; readonly count: number; readonly entryBytes: 3 | 4 };
  /** Offset after header, masks and palette, where pixels may begin. */
  readonly end: number;
}

export const FILE_HEADER_BYTES = 14;
const CORE_HEADER_BYTES = 12;
/** 16 and 64: OS/2 2. 40 to 124: Windows, versions 1 to 5. */
const INFO_HEADER_BYTES = new Set([16, 40, 52, 56, 64, 108, 124]);
export const BITFIELDS = 3;
const ALPHA_BITFIELDS = 6;

const FIVE_BITS: ChannelMasks = { red: 0x7c00, green: 0x03e0, blue: 0x001f, alpha: 0 };
const EIGHT_BITS: ChannelMasks = { red: 0xff0000, green: 0x00ff00, blue: 0x0000ff, alpha: 0 };

const broken = (detail: string): BrokenImageError => new BrokenImageError({ detail });

const compressionOf = (code: number, bits: number): BitmapHeader['compression'] => {
  if (code === 1 && bits === 8) return 'rle8';
  if (code === 2 && bits === 4) return 'rle4';
  const masked = (code === BITFIELDS || code === ALPHA_BITFIELDS) && (bits === 16 || bits === 32);
  if (code === 0 || masked) return 'none';
  throw broken(`bitmap compression ${code} with ${bits} bits`);
};

/** Masks are part of the larger headers; after the 40-byte header they take extra bytes. */
const masksOf = (bytes: Buffer, at: number, size: number, fields: { code: number; bits: number }) => {
  const { code, bits } = fields;
  const masked = code === BITFIELDS || code === ALPHA_BITFIELDS;
  if (!masked) return { masks: bits === 16 ? FIVE_BITS : EIGHT_BITS, extra: 0 };
  const withAlpha = code === ALPHA_BITFIELDS || size >= 56;
  const masks = {
    red: bytes.readUInt32LE(at + 40),
    green: bytes.readUInt32LE(at + 44),
    blue: bytes.readUInt32LE(at + 48),
    alpha: withAlpha ? bytes.readUInt32LE(at + 52) : 0,
  };
  return { masks, extra: size === 40 ? (withAlpha ? 16 : 12) : 0 };
};

const checked = (header: BitmapHeader): BitmapHeader => {
  const { width, height, bitsPerPixel } = header;
  if (![1, 2, 4, 8, 16, 24, 32].includes(bitsPerPixel)) throw broken(`bitmap of ${bitsPerPixel} bits`);
  if (width < 1 || height < 1) throw broken('bitmap without pixels');
  if (width * height > MAX_DECODED_PIXELS) {
    throw new BrokenImageError({ message: 'The image has too many pixels.', detail: `${width}x${height}` });
  }
  return header;
};

const readCoreHeader = (bytes: Buffer, at: number): BitmapHeader => {
  const bitsPerPixel = bytes.readUInt16LE(at + 10);
  const offset = at + CORE_HEADER_BYTES;
  const count = bitsPerPixel <= 8 ? 1 << bitsPerPixel : 0;
  return {
    width: bytes.readUInt16LE(at + 4),
    height: bytes.readUInt16LE(at + 6),
    topDown: false,
    bitsPerPixel,
    compression: 'none',
    masks: bitsPerPixel === 16 ? FIVE_BITS : EIGHT_BITS,
    palette: { offset, count, entryBytes: 3 },
    end: offset + count * 3,
  };
};

const readInfoHeader = (bytes: Buffer, at: number, size: number): BitmapHeader => {
  const height = bytes.readInt32LE(at + 8);
  const bitsPerPixel = bytes.readUInt16LE(at + 14);
  const code = size >= 40 ? bytes.readUInt32LE(at + 16) : 0;
  const used = size >= 40 ? bytes.readUInt32LE(at + 32) : 0;
  const { masks, extra } = masksOf(bytes, at, size, { code, bits: bitsPerPixel });
  const offset = at + size + extra;
  const most = bitsPerPixel <= 8 ? 1 << bitsPerPixel : 256;
  const count = bitsPerPixel <= 8 && used === 0 ? most : Math.min(used, most);
  return {
    width: bytes.readInt32LE(at + 4),
    height: Math.abs(height),
    topDown: height < 0,
    bitsPerPixel,
    compression: compressionOf(code, bitsPerPixel),
    masks,
    palette: { offset, count, entryBytes: 4 },
    end: offset + count * 4,
  };
};

/**
 * Reads a bitmap's header at `at` and validates it before anything is allocated. `icon`: the height includes
 * the mask below the picture.
 * @throws BrokenImageError when it is malformed, of an unknown kind, or of too many pixels.
 */
export const readBitmapHeader = (bytes: Buffer, at: number, icon = false): BitmapHeader => {
  try {
    const size = bytes.readUInt32LE(at);
    if (size !== CORE_HEADER_BYTES && !INFO_HEADER_BYTES.has(size)) throw broken(`bitmap header of ${size}`);
    const header = size === CORE_HEADER_BYTES ? readCoreHeader(bytes, at) : readInfoHeader(bytes, at, size);
    return checked(icon ? { ...header, height: Math.floor(header.height / 2) } : header);
  } catch (error) {
    if (error instanceof RangeError) throw broken('bitmap header cut off');
    throw error;
  }
};

/** Reads the header of a `.bmp` file and the offset of its pixels. @throws BrokenImageError */
export const readBmpFileHeader = (bytes: Buffer): { header: BitmapHeader; pixels: number } => {
  if (bytes.length < FILE_HEADER_BYTES || bytes.toString('latin1', 0, 2) !== 'BM')
    throw broken('no BMP file');
  return { header: readBitmapHeader(bytes, FILE_HEADER_BYTES), pixels: bytes.readUInt32LE(10) };
};
