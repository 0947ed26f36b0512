import { InvalidParametersError } from '../errors/errors.ts';
import type { PictureSize } from './engine.ts';

const HEADER_BYTES = 22;
/** The directory has one byte for each side; 0 stands for 256. */
const MAX_SIDE = 256;

/** @throws InvalidParametersError when a picture is larger than icons can be */
export const requireIconSize = ({ width, height }: PictureSize): void => {
  if (Math.max(width, height) <= MAX_SIDE) return;
  throw new InvalidParametersError(`An icon can be ${MAX_SIDE} pixels wide and high at most.`);
};

/** Wraps a PNG file of this size as an icon file with a single picture. */
export const encodeIco = (png: Buffer, { width, height }: PictureSize): Buffer => {
  const header = Buffer.alloc(HEADER_BYTES);
  header.writeUInt16LE(1, 2);
  header.writeUInt16LE(1, 4);
  header.writeUInt8(width % MAX_SIDE, 6);
  header.writeUInt8(height % MAX_SIDE, 7);
  header.writeUInt16LE(1, 10);
  header.writeUInt16LE(32, 12);
  header.writeUInt32LE(png.length, 14);
  header.writeUInt32LE(HEADER_BYTES, 18);
  return Buffer.concat([header, png]);
};
