const HEADER_BYTES = 13;
const IMAGE_BYTES = 10;
const EXTENSION = 0x21;
const IMAGE = 0x2c;
const TRAILER = 0x3b;

/** Bytes of a colour table by the flags of its owner. */
const tableBytes = (flags: number): number => ((flags & 0x80) === 0 ? 0 : 3 * 2 ** ((flags & 0x07) + 1));

/** Where a chain of sub-blocks ends, each with its length before it. */
const skipBlocks = (file: Buffer, start: number): number => {
  let at = start;
  while ((file[at] ?? 0) > 0) at += (file[at] ?? 0) + 1;
  return at + 1;
};

/**
 * Whether a GIF file goes on to its end mark. The decoder shows what there is of a file that was cut off, be it fewer frames, and
 * does not say so. Reads lengths only.
 */
export const isWholeGif = (file: Buffer): boolean => {
  let at = HEADER_BYTES + tableBytes(file[10] ?? 0);
  while (at < file.length) {
    const kind = file[at];
    if (kind === TRAILER) return true;
    if (kind === EXTENSION) at = skipBlocks(file, at + 2);
    // The byte after the colour table gives the size of codes.
    else if (kind === IMAGE) at = skipBlocks(file, at + IMAGE_BYTES + tableBytes(file[at + 9] ?? 0) + 1);
    else return false;
  }
  return false;
};
