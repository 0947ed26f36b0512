import { crc32, inflateSync } from 'node:zlib';
import type { ParseBudget } from '../../basics/content/parse-budget.ts';
import { behindExifMark, blankExif, saysPosition } from './exif-location.ts';
import { FRAME_BYTES, pngChunks, type PngText, readPngText } from './png-chunks.ts';
import { openTiff } from './tiff.ts';
import { blankLocationInXmp } from './xmp-location.ts';

const SIGNATURE_BYTES = 8;
/** All compressed texts of a file together; what passes it is dropped. */
const MAX_INFLATED_BYTES = 2 * 1024 * 1024;
/** What unpacking a text of one letter costs as well. */
const LEAST_INFLATED_BYTES = 4 * 1024;
const XMP_KEYWORD = 'XML:com.adobe.xmp';
const RAW_PROFILE = /^raw profile type /iu;
/**
 * What belongs to the pixels: colours, transparency, frames. Chunks without which nothing shows are capital.
 */
const SHOWN: ReadonlySet<string> = new Set(
  'cHRM gAMA iCCP sBIT sRGB cICP mDCV cLLI bKGD hIST tRNS pHYs sPLT acTL fcTL fdAT'.split(' '),
);

const isShown = (kind: string): boolean => SHOWN.has(kind) || /^[A-Z]/u.test(kind);

interface Chunk {
  readonly kind: string;
  readonly content: Buffer;
  /** The chunk as it stands in the file. */
  readonly whole: Buffer;
}

/** The chunks up to the end mark; a last one that is cut off counts as far as it goes. */
const chunksOf = (file: Buffer, budget: ParseBudget): readonly Chunk[] => {
  const chunks: Chunk[] = [];
  for (const { kind, start, end } of pngChunks(file, budget)) {
    chunks.push({ kind, content: file.subarray(start + 8, end - 4), whole: file.subarray(start, end) });
    if (kind === 'IEND') break;
  }
  return chunks;
};

const encodeChunk = (kind: string, content: Buffer): Buffer => {
  const chunk = Buffer.alloc(content.length + FRAME_BYTES);
  chunk.writeUInt32BE(content.length, 0);
  chunk.write(kind, 4, 'latin1');
  content.copy(chunk, 8);
  chunk.writeUInt32BE(crc32(chunk.subarray(4, -4)), content.length + 8);
  return chunk;
};

const inflate = (packed: Buffer, texts: { left: number }): Buffer | undefined => {
  const most = texts.left;
  if (most <= 0) return undefined;
  texts.left -= Math.max(LEAST_INFLATED_BYTES, packed.length);
  try {
    const text = inflateSync(packed, { maxOutputLength: most });
    texts.left = Math.min(texts.left, most - text.length);
    return text;
  } catch {
    return undefined;
  }
};

/**
 * The bytes of a profile that lies in a text as hexadecimal digits, behind its name and its length; none of
 * a malformed one.
 */
const profileOf = (text: Buffer): Buffer => {
  const digits = /^\n.*\n\s*\d+\n([\da-f\s]*)$/iu.exec(text.toString('latin1'))?.[1] ?? '';
  return Buffer.from(digits.replaceAll(/\s+/gu, ''), 'hex');
};

const encodeXmp = (packet: Buffer): Buffer =>
  encodeChunk('iTXt', Buffer.concat([Buffer.from(`${XMP_KEYWORD}\0\0\0\0\0`), packet]));

/** XMP data without the position, as a chunk of its own: packed, it could not be changed where it lies. */
const cleanXmp = (text: Buffer, whole: Buffer): Buffer => {
  const copy = Buffer.from(text);
  blankLocationInXmp(copy);
  return copy.equals(text) ? whole : encodeXmp(copy);
};

/** The same for EXIF data; undefined when it cannot be understood. */
const cleanExif = (content: Buffer, whole: Buffer, budget: ParseBudget): Buffer | undefined => {
  const exif = behindExifMark(content) ?? content;
  const copy = Buffer.from(exif);
  if (!blankExif(copy, budget)) return undefined;
  return copy.equals(exif) ? whole : encodeChunk('eXIf', copy);
};

/** The same for a profile, which is EXIF or XMP data; any other that says a position is left out. */
const cleanProfile = (text: Buffer, whole: Buffer, budget: ParseBudget): Buffer | undefined => {
  const profile = profileOf(text);
  if (openTiff(behindExifMark(profile) ?? profile) !== undefined) return cleanExif(profile, whole, budget);
  if (profile.includes('<x:xmpmeta') || profile.includes('<rdf:RDF')) return cleanXmp(profile, whole);
  return profile.length === 0 || saysPosition(profile, budget) ? undefined : whole;
};

/** What a file may cost, and how many bytes its packed texts may still become. */
interface Spending {
  readonly budget: ParseBudget;
  readonly texts: { left: number };
}

/** The chunk without the position: itself, changed, or left out. */
const cleanText = (
  { keyword, isPacked, text: stored }: PngText,
  whole: Buffer,
  { budget, texts }: Spending,
): Buffer | undefined => {
  const text = isPacked ? inflate(stored, texts) : stored;
  if (text === undefined) return undefined;
  if (RAW_PROFILE.test(keyword)) return cleanProfile(text, whole, budget);
  if (keyword === XMP_KEYWORD) return cleanXmp(text, whole);
  return saysPosition(Buffer.from(keyword), budget) || saysPosition(text, budget) ? undefined : whole;
};

const cleanChunk = ({ kind, content, whole }: Chunk, spending: Spending): Buffer | undefined => {
  if (kind === 'eXIf') return cleanExif(content, whole, spending.budget);
  // EXIF data packed, of a draft that is not in use any more.
  if (kind === 'zxIf') return undefined;
  const text = readPngText(kind, content);
  if (text !== undefined) return cleanText(text, whole, spending);
  // Others are older places of XMP data, or records of where content comes from, which quote EXIF data.
  return isShown(kind) || !saysPosition(content, spending.budget) ? whole : undefined;
};

/** The file of these chunks; the same bytes when they are all that it holds. */
const joined = (file: Buffer, chunks: readonly (Buffer | undefined)[]): Buffer => {
  const kept = chunks.filter((chunk) => chunk !== undefined);
  const result = Buffer.concat([file.subarray(0, SIGNATURE_BYTES), ...kept]);
  return result.equals(file) ? file : result;
};

/**
 * A PNG file without the position in its EXIF and XMP data and in its texts; the same bytes when there is
 * none. A compressed text that cannot be unpacked is dropped. Bytes after the end are cut off.
 */
export const pngWithoutLocation = (file: Buffer, budget: ParseBudget): Buffer => {
  const spending = { budget, texts: { left: MAX_INFLATED_BYTES } };
  return joined(
    file,
    chunksOf(file, budget).map((chunk) => cleanChunk(chunk, spending)),
  );
};

/** A PNG file with nothing but its pixels, frames and what their colours mean. */
export const pngWithoutMetadata = (file: Buffer, budget: ParseBudget): Buffer => {
  const kept = chunksOf(file, budget).filter(({ kind }) => isShown(kind));
  return joined(
    file,
    kept.map(({ whole }) => whole),
  );
};
