import type { ParseBudget } from '../../basics/content/parse-budget.ts';
import { behindExifMark, blankExif, type FoundData, saysPosition } from './exif.ts';
import { blankLocationInXmp } from './xmp-location.ts';

const GIF_HEADER_BYTES = 13;
const [EXTENSION, IMAGE, COMMENT, PLAIN_TEXT, APPLICATION] = [0x21, 0x2c, 0xfe, 0x01, 0xff];
const END = 0x3b;
/** Application extensions that belong to the pixels: loops and colours. */
const SHOWN_APPLICATIONS: ReadonlySet<string> = new Set(['NETSCAPE2.0', 'ANIMEXTS1.0', 'ICCRGBG1012']);

const tableBytes = (flags: number): number => ((flags & 0x80) === 0 ? 0 : 3 * 2 ** ((flags & 0x07) + 1));

const behindBlocks = (file: Buffer, start: number): number => {
  let at = start;
  while ((file[at] ?? 0) > 0) at += (file[at] ?? 0) + 1;
  return at + 1;
};

/** The end of the block at `at`; undefined at the end marker. */
const endOfBlock = (file: Buffer, at: number): number | undefined => {
  if (file[at] === EXTENSION) return behindBlocks(file, at + 2);
  // Some programs fill the space between blocks.
  if (file[at] === 0) return at + 1;
  if (file[at] === IMAGE) return behindBlocks(file, at + 10 + tableBytes(file[at + 9] ?? 0) + 1);
  return undefined;
};

/**
 * Whether a GIF file is complete up to its end marker, or to the end of a block: many programs forget the
 * marker. The decoder shows a truncated file without an error, perhaps with fewer frames. Reads lengths only.
 */
export const isWholeGif = (file: Buffer, budget: ParseBudget): boolean => {
  let at = GIF_HEADER_BYTES + tableBytes(file[10] ?? 0);
  for (let end = endOfBlock(file, at); end !== undefined; end = endOfBlock(file, at)) {
    budget.spendItems();
    at = end;
  }
  return file[at] === END || at === file.length;
};

const applicationOf = (block: Buffer): string | undefined =>
  block[0] === EXTENSION && block[1] === APPLICATION ? block.toString('latin1', 3, 14) : undefined;

const isShown = (block: Buffer): boolean => {
  if (block[0] !== EXTENSION || block[1] === PLAIN_TEXT) return true;
  if (block[1] === COMMENT) return false;
  return block[1] !== APPLICATION || SHOWN_APPLICATIONS.has(applicationOf(block) ?? '');
};

/** The end of the header with its colours, and the blocks behind it; a truncated one is left out. */
const partsOf = (file: Buffer, budget: ParseBudget): { behind: number; blocks: Buffer[]; end: number } => {
  const behind = GIF_HEADER_BYTES + tableBytes(file[10] ?? 0);
  const blocks: Buffer[] = [];
  let at = behind;
  for (let end = endOfBlock(file, at); end !== undefined && end <= file.length; end = endOfBlock(file, at)) {
    budget.spendItems();
    blocks.push(file.subarray(at, end));
    at = end;
  }
  return { behind, blocks, end: at };
};

const filtered = (file: Buffer, budget: ParseBudget, isKept: (block: Buffer) => boolean): Buffer => {
  const copy = Buffer.from(file);
  const { behind, blocks, end } = partsOf(copy, budget);
  const result = Buffer.concat([
    copy.subarray(0, behind),
    ...blocks.filter(isKept),
    copy.subarray(end, end + 1),
  ]);
  return result.equals(file) ? file : result;
};

/** Adds comments and XMP data of another GIF file, which the library does not preserve. */
export const gifWithMetadata = (file: Buffer, other: Buffer, budget: ParseBudget): Buffer => {
  const kept = partsOf(other, budget).blocks.filter((block) => !isShown(block));
  const { behind } = partsOf(file, budget);
  return Buffer.concat([file.subarray(0, behind), ...kept, file.subarray(behind)]);
};

/** A complete GIF file with only its frames and their timing; the same bytes when there is nothing else. */
export const gifWithoutMetadata = (file: Buffer, budget: ParseBudget): Buffer =>
  filtered(file, budget, isShown);

const XMP = 'XMP DataXMP';
const XMP_START = 14;
/** First bytes of the trailer that lets readers skip the packet. */
const TRAILER = Buffer.from([0x01, 0xff, 0xfe, 0xfd]);

const packetOf = (block: Buffer): Buffer => {
  const end = block.lastIndexOf(TRAILER);
  return block.subarray(XMP_START, end < XMP_START ? block.length : end);
};

export const gifData = (file: Buffer, budget: ParseBudget): FoundData => {
  const blocks = partsOf(file, budget).blocks.filter((block) => applicationOf(block) === XMP);
  return { exif: [], xmp: blocks.map(packetOf), iptc: [] };
};

const textOf = (block: Buffer, budget: ParseBudget): Buffer => {
  const parts: Buffer[] = [];
  for (let at = 2; (block[at] ?? 0) > 0; at += (block[at] ?? 0) + 1) {
    budget.spendItems();
    parts.push(block.subarray(at + 1, at + 1 + (block[at] ?? 0)));
  }
  return Buffer.concat(parts);
};

/**
 * A complete GIF file without the position in its XMP data, and without comments and application data that
 * contain one; the same bytes when there is none. Bytes after the end are cut off.
 */
export const gifWithoutLocation = (file: Buffer, budget: ParseBudget): Buffer =>
  filtered(file, budget, (block) => {
    if (isShown(block)) return true;
    if (applicationOf(block) !== XMP) return !saysPosition(textOf(block, budget), budget);
    blankLocationInXmp(packetOf(block));
    return true;
  });

/**
 * Layout of the chunks of a WebP file.
 *
 * @see https://developers.google.com/speed/webp/docs/riff_container
 */
const WEBP_HEADER_BYTES = 12;
const CHUNK_BYTES = 8;
const FRAME_HEADER_BYTES = 16;
const SHOWN_CHUNKS: ReadonlySet<string> = new Set(['VP8X', 'VP8 ', 'VP8L', 'ALPH', 'ANIM', 'ANMF', 'ICCP']);
const [EXIF_FLAG, XMP_FLAG] = [0x08, 0x04];

interface Chunk {
  readonly kind: string;
  readonly content: Buffer;
  /** The raw chunk, with its padding. */
  readonly whole: Buffer;
}

/** The chunks from `start` to `end`; a truncated last one is included. */
const chunksIn = (file: Buffer, start: number, end: number, budget: ParseBudget): readonly Chunk[] => {
  const chunks: Chunk[] = [];
  for (let at = start; at + CHUNK_BYTES <= end;) {
    budget.spendItems();
    const size = file.readUInt32LE(at + 4);
    const next = Math.min(end, at + CHUNK_BYTES + size + (size % 2));
    const content = file.subarray(at + CHUNK_BYTES, Math.min(next, at + CHUNK_BYTES + size));
    chunks.push({ kind: file.toString('latin1', at, at + 4), content, whole: file.subarray(at, next) });
    at = next;
  }
  return chunks;
};

/** The chunks within the length that the file declares. */
const chunksOf = (file: Buffer, budget: ParseBudget): readonly Chunk[] =>
  chunksIn(file, WEBP_HEADER_BYTES, Math.min(file.length, file.readUInt32LE(4) + CHUNK_BYTES), budget);

/** Whether a WebP file is lossless, according to its first frame. */
export const isLosslessWebp = (file: Buffer, budget: ParseBudget): boolean => {
  const isOfPixels = ({ kind }: Chunk): boolean => kind === 'VP8 ' || kind === 'VP8L';
  const first = chunksOf(file, budget).find((chunk) => isOfPixels(chunk) || chunk.kind === 'ANMF');
  // The chunks of a frame are nested in its own chunk.
  const { content } = first ?? { content: file.subarray(0, 0) };
  const inFrame = first?.kind === 'ANMF' ? chunksIn(content, FRAME_HEADER_BYTES, content.length, budget) : [];
  return (inFrame.find(isOfPixels) ?? first)?.kind === 'VP8L';
};

export const webpData = (file: Buffer, budget: ParseBudget): FoundData => {
  const of = (wanted: string): readonly Buffer[] =>
    chunksOf(file, budget).flatMap(({ kind, content }) => (kind === wanted ? [content] : []));
  return { exif: of('EXIF').map((content) => behindExifMark(content) ?? content), xmp: of('XMP '), iptc: [] };
};

const blankChunk = ({ kind, content }: Chunk, budget: ParseBudget): boolean => {
  if (SHOWN_CHUNKS.has(kind)) return true;
  if (kind === 'XMP ') {
    blankLocationInXmp(content);
    return true;
  }
  return kind === 'EXIF'
    ? blankExif(behindExifMark(content) ?? content, budget)
    : !saysPosition(content, budget);
};

const joined = (original: Buffer, kept: readonly Chunk[]): Buffer => {
  const result = Buffer.concat([original.subarray(0, WEBP_HEADER_BYTES), ...kept.map(({ whole }) => whole)]);
  if (result.equals(original)) return original;
  result.writeUInt32LE(result.length - CHUNK_BYTES, 4);
  const [first] = kept;
  if (first?.kind === 'VP8X' && first.content.length > 0) {
    const has = (kind: string, flag: number): number =>
      kept.some((chunk) => chunk.kind === kind) ? flag : 0;
    const flags = (first.content[0] ?? 0) & ~(EXIF_FLAG | XMP_FLAG);
    result[WEBP_HEADER_BYTES + CHUNK_BYTES] = flags | has('EXIF', EXIF_FLAG) | has('XMP ', XMP_FLAG);
  }
  return result;
};

/** A WebP file without the position; the same bytes when there is none. Bytes after its end are cut off. */
export const webpWithoutLocation = (file: Buffer, budget: ParseBudget): Buffer =>
  joined(
    file,
    chunksOf(Buffer.from(file), budget).filter((chunk) => blankChunk(chunk, budget)),
  );

/** A WebP file with only its pixels, frames and their colour description. */
export const webpWithoutMetadata = (file: Buffer, budget: ParseBudget): Buffer =>
  joined(
    file,
    chunksOf(file, budget).filter(({ kind }) => SHOWN_CHUNKS.has(kind)),
  );
