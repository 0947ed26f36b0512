/** Most bytes of a picture that is read into memory to be decoded. Of a larger file a listing shows the icon of its extension. */
export const MAX_PICTURE_BYTES = 64 * 1024 * 1024;

/** Most pixels that are decoded for one task, all frames together, as the header tells them. */
export const MAX_DECODED_PIXELS = 0x4000 * 0x3fff;

/** The same for formats that are unpacked in JavaScript (BMP, ICO): there every pixel costs three or four bytes of memory. */
export const MAX_UNPACKED_PIXELS = 100_000_000;

/** Most pixels of a frame that an edit may make. */
export const MAX_RESULT_PIXELS = 100_000_000;

/** Tasks beyond this run alone, so that the memory of several large ones never adds up. */
export const HEAVY_PIXELS = 64_000_000;
