import type { ParseBudget } from '../../basics/content/parse-budget.ts';
import { saysPosition } from './exif-location.ts';
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

const applicationOf = (block: Buffer): string | undefined =>
  block[0] === EXTENSION && block[1] === APPLICATION ? block.toString('latin1', 3, 14) : undefined;

const isShown = (block: Buffer): boolean => {
  if (block[0] !== EXTENSION || block[1] === PLAIN_TEXT) return true;
  if (block[1] === COMMENT) return false;
  return block[1] !== APPLICATION || SHOWN.has(applicationOf(block) ?? '');
};

/** A whole GIF file of those blocks that are kept; the same bytes when that is all. */
const filtered = (file: Buffer, budget: ParseBudget, isKept: (block: Buffer) => boolean): Buffer => {
  const copy = Buffer.from(file);
  let at = HEADER_BYTES + tableBytes(copy[10] ?? 0);
  const parts = [copy.subarray(0, at)];
  for (let end = endOfBlock(copy, at); end !== undefined && end <= copy.length; end = endOfBlock(copy, at)) {
    budget.spendItems();
    const block = copy.subarray(at, end);
    if (isKept(block)) parts.push(block);
    at = end;
  }
  const result = Buffer.concat([...parts, copy.subarray(at, at + 1)]);
  return result.equals(file) ? file : result;
};

/**
 * A whole GIF file with nothing but its frames and their times; the same bytes when there is nothing else.
 */
export const gifWithoutMetadata = (file: Buffer, budget: ParseBudget): Buffer =>
  filtered(file, budget, isShown);

const XMP = 'XMP DataXMP';
const XMP_START = 14;
/** How the bytes begin that lead readers over the packet. */
const TRAILER = Buffer.from([0x01, 0xff, 0xfe, 0xfd]);

/** What the parts of a block say, without their lengths. */
const textOf = (block: Buffer, budget: ParseBudget): Buffer => {
  const parts: Buffer[] = [];
  for (let at = 2; (block[at] ?? 0) > 0; at += (block[at] ?? 0) + 1) {
    budget.spendItems();
    parts.push(block.subarray(at + 1, at + 1 + (block[at] ?? 0)));
  }
  return Buffer.concat(parts);
};

/**
 * A whole GIF file without the position in its XMP data, and without comments and data of applications that
 * say one; the same bytes when there is none. Bytes after the end are cut off.
 */
export const gifWithoutLocation = (file: Buffer, budget: ParseBudget): Buffer =>
  filtered(file, budget, (block) => {
    if (isShown(block)) return true;
    if (applicationOf(block) !== XMP) return !saysPosition(textOf(block, budget), budget);
    const end = block.lastIndexOf(TRAILER);
    blankLocationInXmp(block.subarray(XMP_START, end < XMP_START ? block.length : end));
    return true;
  });
