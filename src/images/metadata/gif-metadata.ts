import { blankLocationInXmp } from './xmp-location.ts';

const HEADER_BYTES = 13;
const [EXTENSION, IMAGE, COMMENT, PLAIN_TEXT, APPLICATION] = [0x21, 0x2c, 0xfe, 0x01, 0xff];
/** Applications whose data belongs to the pixels: loops and colours. */
const SHOWN: ReadonlySet<string> = new Set(['NETSCAPE2.0', 'ANIMEXTS1.0', 'ICCRGBG1012']);

const tableBytes = (flags: number): number => ((flags & 0x80) === 0 ? 0 : 3 * 2 ** ((flags & 0x07) + 1));

const behindBlocks = (file: Buffer, start: number): number => {
  let at = start;
  while ((file[at] ?? 0) > 0) at += (file[at] ?? 0) + 1;
  return at + 1;
};

/** Where the block that begins at `at` ends; undefined at the end mark. */
const endOfBlock = (file: Buffer, at: number): number | undefined => {
  if (file[at] === EXTENSION) return behindBlocks(file, at + 2);
  if (file[at] === IMAGE) return behindBlocks(file, at + 10 + tableBytes(file[at + 9] ?? 0) + 1);
  return undefined;
};

const isShown = (file: Buffer, at: number): boolean => {
  if (file[at] !== EXTENSION || file[at + 1] === PLAIN_TEXT) return true;
  if (file[at + 1] === COMMENT) return false;
  return file[at + 1] !== APPLICATION || SHOWN.has(file.toString('latin1', at + 3, at + 14));
};

/**
 * A whole GIF file with nothing but its frames and their times; the same bytes when there is nothing else.
 */
export const gifWithoutMetadata = (file: Buffer): Buffer => {
  let at = HEADER_BYTES + tableBytes(file[10] ?? 0);
  const parts = [file.subarray(0, at)];
  for (let end = endOfBlock(file, at); end !== undefined && end <= file.length; end = endOfBlock(file, at)) {
    if (isShown(file, at)) parts.push(file.subarray(at, end));
    at = end;
  }
  const result = Buffer.concat([...parts, file.subarray(at, at + 1)]);
  return result.length === file.length ? file : result;
};

const XMP_MARK = 'XMP DataXMP';
/** How the bytes begin that lead readers over the packet. */
const TRAILER = Buffer.from([0x01, 0xff, 0xfe, 0xfd]);

/** A GIF file without the position in its XMP data; the same bytes when there is none. */
export const gifWithoutLocation = (original: Buffer): Buffer => {
  const file = Buffer.from(original);
  let isFound = false;
  for (let at = file.indexOf(XMP_MARK, 0, 'latin1'); at >= 0; at = file.indexOf(XMP_MARK, at, 'latin1')) {
    at += XMP_MARK.length;
    const end = file.indexOf(TRAILER, at);
    isFound = blankLocationInXmp(file.subarray(at, end < 0 ? file.length : end)) || isFound;
  }
  return isFound ? file : original;
};
