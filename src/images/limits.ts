/** Most bytes of a picture that is read into memory to be decoded. A larger file gets the icon of its extension. */
export const MAX_PICTURE_BYTES = 64 * 1024 * 1024;

/** Most pixels that are decoded for one task, all frames together, as the header tells them. */
export const MAX_DECODED_PIXELS = 0x4000 * 0x3fff;

/** The same for formats that are unpacked in JavaScript (BMP, ICO): there every pixel costs three or four bytes of memory. */
export const MAX_UNPACKED_PIXELS = 100_000_000;
