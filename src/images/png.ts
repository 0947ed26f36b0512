const SIGNATURE_BYTES = 8;
const CHUNK_HEADER_BYTES = 8;
const CHECKSUM_BYTES = 4;

/**
 * Whether a PNG file holds an animation, of which decoders know the first frame alone.
 * @see https://www.w3.org/TR/png-3/#apng-frame-based-animation
 */
export const isAnimatedPng = (file: Buffer): boolean => {
  for (let at = SIGNATURE_BYTES; at + CHUNK_HEADER_BYTES <= file.length;) {
    const kind = file.toString('latin1', at + 4, at + 8);
    if (kind === 'acTL') return at + CHUNK_HEADER_BYTES + 4 <= file.length && file.readUInt32BE(at + 8) > 1;
    if (kind === 'IDAT') return false;
    at += CHUNK_HEADER_BYTES + file.readUInt32BE(at) + CHECKSUM_BYTES;
  }
  return false;
};
