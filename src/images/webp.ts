const CHUNK_HEADER_BYTES = 8;
const FRAME_HEADER_BYTES = 16;

/** The kind of the first chunk with pixels, from `at` on: `VP8 ` (lossy) or `VP8L`; undefined when there is none. */
const firstPixels = (file: Buffer, at: number): string | undefined => {
  for (let next = at; next + CHUNK_HEADER_BYTES <= file.length;) {
    const kind = file.toString('latin1', next, next + 4);
    if (kind === 'VP8 ' || kind === 'VP8L') return kind;
    // Chunks of a frame lie inside the frame's own.
    if (kind === 'ANMF') return firstPixels(file, next + CHUNK_HEADER_BYTES + FRAME_HEADER_BYTES);
    const size = file.readUInt32LE(next + 4);
    next += CHUNK_HEADER_BYTES + size + (size % 2);
  }
  return undefined;
};

/** Whether a WebP file stores its pixels without loss, judged by its first frame. */
export const isLosslessWebp = (file: Buffer): boolean => firstPixels(file, 12) === 'VP8L';
