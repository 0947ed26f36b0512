/** Most bytes of a picture that is read into memory to be decoded. Of a larger file a listing shows the icon of its extension. */
export const MAX_PICTURE_BYTES = 64 * 1024 * 1024;

/** Most pixels that are decoded for one task, all frames together, as the header gives them. */
export const MAX_DECODED_PIXELS = 0x4000 * 0x3fff;

/**
 * The same for pictures that cannot be decoded row by row: formats that are unpacked in JavaScript (BMP, ICO), and those whose decoder needs a whole frame at
 * a time (progressive JPEG, interlaced PNG, GIF, WebP, AVIF). Every pixel costs three or four bytes of memory, and the file may be tiny.
 */
export const MAX_WHOLE_PIXELS = 100_000_000;

/** Most pixels of a frame that an edit may make. */
export const MAX_RESULT_PIXELS = 100_000_000;

/** Tasks beyond this run alone, so that the memory of several large ones never adds up. */
export const HEAVY_PIXELS = 64_000_000;
