import { crc32 } from './crc32.ts';
import { quarters } from './pictures.ts';

/**
 * Parts of picture files, as their formats have them, and small pictures with such parts.
 */

export const latin1 = (text: string): Buffer => Buffer.from(text, 'latin1');

/** A segment of a JPEG file. */
export const segment = (marker: number, ...content: readonly (Buffer | string)[]): Buffer => {
  const body = Buffer.concat(content.map((part) => (typeof part === 'string' ? latin1(part) : part)));
  const head = Buffer.from([0xff, marker, 0, 0]);
  head.writeUInt16BE(body.length + 2, 2);
  return Buffer.concat([head, body]);
};

/** A JPEG with these segments after its start. */
export const jpegWith = async (...segments: readonly Buffer[]): Promise<Buffer> => {
  const jpeg = await quarters().jpeg().toBuffer();
  return Buffer.concat([jpeg.subarray(0, 2), ...segments, jpeg.subarray(2)]);
};

/** A resource of an image editor. */
export const resource = (id: number, content: Buffer, signature = '8BIM'): Buffer => {
  const head = latin1(`${signature}\0\0\0\0\0\0\0\0`);
  head.writeUInt16BE(id, 4);
  head.writeUInt32BE(content.length, 8);
  return Buffer.concat([head, content, Buffer.alloc(content.length % 2)]);
};

/** A chunk of a PNG file. */
export const chunk = (kind: string, content: Buffer): Buffer => {
  const head = Buffer.alloc(8);
  head.writeUInt32BE(content.length, 0);
  head.write(kind, 4, 'latin1');
  const sum = Buffer.alloc(4);
  sum.writeUInt32BE(crc32(Buffer.concat([head.subarray(4), content])), 0);
  return Buffer.concat([head, content, sum]);
};

/** A PNG with these chunks behind its header. */
export const pngWith = async (...chunks: readonly Buffer[]): Promise<Buffer> => {
  const png = await quarters().png().toBuffer();
  return Buffer.concat([png.subarray(0, 33), ...chunks, png.subarray(33)]);
};

/** A chunk of a WebP file. */
const webpChunk = (kind: string, content: Buffer): Buffer => {
  const head = Buffer.alloc(8);
  head.write(kind, 0, 'latin1');
  head.writeUInt32LE(content.length, 4);
  return Buffer.concat([head, content, Buffer.alloc(content.length % 2)]);
};

/** A WebP of 80 x 40 pixels with this chunk behind its pixels. */
export const webpWith = async (kind: string, content: Buffer): Promise<Buffer> => {
  const webp = await quarters().webp().toBuffer();
  const header = Buffer.alloc(10);
  header.writeUIntLE(79, 4, 3);
  header.writeUIntLE(39, 7, 3);
  const extended = [webpChunk('VP8X', header), webp.subarray(12), webpChunk(kind, content)];
  const result = Buffer.concat([webp.subarray(0, 12), ...extended]);
  result.writeUInt32LE(result.length - 8, 4);
  return result;
};

/** A TIFF with an entry more, or several of them, whose value lies behind its end. */
export const tiffWith = async (
  tag: number,
  type: number,
  value: Buffer,
  { times = 1, values = value.length } = {},
): Promise<Buffer> => {
  const tiff = await quarters().tiff().toBuffer();
  const at = tiff.readUInt32LE(4);
  const count = tiff.readUInt16LE(at);
  const entries = Array.from({ length: count }, (_, index) =>
    tiff.subarray(at + 2 + index * 12, at + 14 + index * 12),
  );
  const start = tiff.length + (tiff.length % 2);
  const added = Buffer.alloc(12);
  added.writeUInt16LE(tag, 0);
  added.writeUInt16LE(type, 2);
  added.writeUInt32LE(values, 4);
  added.writeUInt32LE(start, 8);
  const all = [...entries, ...Array.from({ length: times }, () => added)].sort(
    (one, other) => one.readUInt16LE(0) - other.readUInt16LE(0),
  );
  const number = Buffer.alloc(2);
  number.writeUInt16LE(all.length, 0);
  const even = Buffer.concat([value, Buffer.alloc(value.length % 2)]);
  const result = Buffer.concat([tiff, Buffer.alloc(tiff.length % 2), even, number, ...all, Buffer.alloc(4)]);
  result.writeUInt32LE(start + even.length, 4);
  return result;
};

/** An icon with this PNG file of 80 x 40 pixels. */
export const icoWith = (png: Buffer): Buffer => {
  const head = Buffer.from([0, 0, 1, 0, 1, 0, 80, 40, 0, 0, 1, 0, 32, 0, 0, 0, 0, 0, 22, 0, 0, 0]);
  head.writeUInt32LE(png.length, 14);
  return Buffer.concat([head, png]);
};
