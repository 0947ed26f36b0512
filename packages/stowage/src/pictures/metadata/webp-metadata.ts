import type { ParseBudget } from '../../basics/content/parse-budget.ts';
import { behindExifMark, blankExif, saysPosition } from './exif-location.ts';
import { blankLocationInXmp } from './xmp-location.ts';

/**
 * The chunks of a WebP file.
 *
 * @see https://developers.google.com/speed/webp/docs/riff_container
 */
const HEADER_BYTES = 12;
const CHUNK_BYTES = 8;
const SHOWN: ReadonlySet<string> = new Set(['VP8X', 'VP8 ', 'VP8L', 'ALPH', 'ANIM', 'ANMF', 'ICCP']);
const [EXIF_FLAG, XMP_FLAG] = [0x08, 0x04];

interface Chunk {
  readonly kind: string;
  readonly content: Buffer;
  /** The chunk as it stands in the file, with its padding. */
  readonly whole: Buffer;
}

/** The chunks that the file's own length covers; a last one that is cut off counts as far as it goes. */
const chunksOf = (file: Buffer, budget: ParseBudget): readonly Chunk[] => {
  const end = Math.min(file.length, file.readUInt32LE(4) + CHUNK_BYTES);
  const chunks: Chunk[] = [];
  for (let at = HEADER_BYTES; at + CHUNK_BYTES <= end;) {
    budget.spendItems();
    const size = file.readUInt32LE(at + 4);
    const next = Math.min(end, at + CHUNK_BYTES + size + (size % 2));
    const content = file.subarray(at + CHUNK_BYTES, Math.min(next, at + CHUNK_BYTES + size));
    chunks.push({ kind: file.toString('latin1', at, at + 4), content, whole: file.subarray(at, next) });
    at = next;
  }
  return chunks;
};

/** Whether a chunk stays; its position is blanked in place. */
const blankChunk = ({ kind, content }: Chunk, budget: ParseBudget): boolean => {
  if (SHOWN.has(kind)) return true;
  if (kind === 'XMP ') {
    blankLocationInXmp(content);
    return true;
  }
  return kind === 'EXIF'
    ? blankExif(behindExifMark(content) ?? content, budget)
    : !saysPosition(content, budget);
};

/** The file of these chunks; the same bytes when they are all that it holds. */
const joined = (original: Buffer, kept: readonly Chunk[]): Buffer => {
  const result = Buffer.concat([original.subarray(0, HEADER_BYTES), ...kept.map(({ whole }) => whole)]);
  if (result.equals(original)) return original;
  result.writeUInt32LE(result.length - CHUNK_BYTES, 4);
  const [first] = kept;
  if (first?.kind === 'VP8X' && first.content.length > 0) {
    const has = (kind: string, flag: number): number =>
      kept.some((chunk) => chunk.kind === kind) ? flag : 0;
    const flags = (first.content[0] ?? 0) & ~(EXIF_FLAG | XMP_FLAG);
    result[HEADER_BYTES + CHUNK_BYTES] = flags | has('EXIF', EXIF_FLAG) | has('XMP ', XMP_FLAG);
  }
  return result;
};

/**
 * A WebP file without the position in its EXIF and XMP data; the same bytes when there is none. What follows
 * the end is cut off.
 */
export const webpWithoutLocation = (file: Buffer, budget: ParseBudget): Buffer =>
  joined(
    file,
    chunksOf(Buffer.from(file), budget).filter((chunk) => blankChunk(chunk, budget)),
  );

/** A WebP file with nothing but its pixels, frames and what their colours mean. */
export const webpWithoutMetadata = (file: Buffer, budget: ParseBudget): Buffer =>
  joined(
    file,
    chunksOf(file, budget).filter(({ kind }) => SHOWN.has(kind)),
  );
