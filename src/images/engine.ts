/** Formats that thumbnails are written in. */
export type ThumbnailFormat = 'jpeg' | 'png' | 'gif' | 'webp';

/** What a thumbnail shall be. */
export interface ThumbnailSpec {
  /** Side in pixels of the square that it fits into; it is never enlarged. */
  readonly size: number;
  readonly format: ThumbnailFormat;
  /** Of JPEG and WebP, 1 to 100. */
  readonly quality: number;
}

/**
 * The port to whatever decodes and encodes pictures. Every method tells the format by content, checks the header against the limits
 * before anything is decoded, and waits for its turn in a bounded queue.
 *
 * Errors: BrokenImageError when the bytes do not decode or pass a limit, BusyError when the queue is full, the signal's reason after an abort.
 */
export interface ImageEngine {
  /** The first frame as it is meant to be seen (EXIF orientation applied, colours in sRGB, metadata dropped), scaled down into the square. */
  thumbnail(image: Buffer, spec: ThumbnailSpec, signal?: AbortSignal): Promise<Buffer>;
}
