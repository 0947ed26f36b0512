import { promisify } from 'node:util';
import { crc32, inflate, inflateSync } from 'node:zlib';
import type { ParseBudget } from '../../basics/content/parse-budget.ts';
import { behindExifMark, blankExif, type FoundData, saysPosition } from './exif.ts';
import { openTiff } from './tiff.ts';
import { blankLocationInXmp } from './xmp-location.ts';

const SIGNATURE = Buffer.from([0x89, 0x50, 0x4e, 0x47, 0x0d, 0x0a, 0x1a, 0x0a]);
/** Length and type before a chunk's content. */
const HEAD_BYTES = 8;
/** The same, and the checksum after the content. */
const FRAME_BYTES = 12;
/** Maximum size of all texts of a file, decompressed: the library holds several copies of each. */
const MAX_TEXT_BYTES = 8 * 1024 * 1024;
const MAX_TEXTS = 1000;
/** Maximum ratio of compression. */
const MOST_OF_A_BYTE = 1032;
const TEXTS: ReadonlySet<string> = new Set(['tEXt', 'zTXt', 'iTXt']);

const unpack: (packed: Buffer, options: { readonly maxOutputLength: number }) => Promise<Buffer> =
  promisify(inflate);

/** A chunk of a PNG file, with the offsets of its start and end; the end may be beyond the file. */
interface PngChunk {
  readonly kind: string;
  readonly start: number;
  readonly end: number;
  readonly content: Buffer;
  /** The raw chunk. */
  readonly whole: Buffer;
}

/** The chunks of a PNG file, or of its beginning. */
export function* pngChunks(file: Buffer, budget: ParseBudget): Generator<PngChunk, void, undefined> {
  for (let start = SIGNATURE.length; start + HEAD_BYTES <= file.length;) {
    budget.spendItems();
    const end = start + FRAME_BYTES + file.readUInt32BE(start);
    const kind = file.toString('latin1', start + 4, start + HEAD_BYTES);
    const content = file.subarray(start + HEAD_BYTES, end - 4);
    yield { kind, start, end, content, whole: file.subarray(start, end) };
    start = end;
  }
}

interface PngText {
  readonly keyword: string;
  readonly text: Buffer;
  readonly isPacked: boolean;
}

/** Offset after the `count`-th zero byte from `start`; the whole length when there are fewer. */
const behindZeros = (content: Buffer, start: number, count: number): number => {
  let at = start;
  for (let found = 0; found < count; found += 1) {
    const zero = content.indexOf(0, at);
    if (zero < 0) return content.length;
    at = zero + 1;
  }
  return at;
};

const readPngText = (kind: string, content: Buffer): PngText | undefined => {
  if (!TEXTS.has(kind)) return undefined;
  const start = behindZeros(content, 0, 1);
  const keyword = content.toString('latin1', 0, start - 1);
  if (kind === 'tEXt') return { keyword, text: content.subarray(start), isPacked: false };
  if (kind === 'zTXt') return { keyword, text: content.subarray(start + 1), isPacked: true };
  const text = content.subarray(behindZeros(content, start + 2, 2));
  return { keyword, text, isPacked: content[start] !== 0 };
};

const textChunks = (file: Buffer, budget: ParseBudget): readonly PngChunk[] =>
  [...pngChunks(file, budget)].filter(({ kind }) => TEXTS.has(kind));

/** Whether texts exceed the maximum size. Decompresses them only if that is possible by their length. */
const areLong = async (chunks: readonly PngChunk[]): Promise<boolean> => {
  const most = chunks.reduce(
    (sum, { kind, start, end }) => sum + (end - start) * (kind === 'tEXt' ? 1 : MOST_OF_A_BYTE),
    0,
  );
  if (most <= MAX_TEXT_BYTES) return false;
  if (chunks.length > MAX_TEXTS) return true;
  let left = MAX_TEXT_BYTES;
  for (const { kind, content } of chunks) {
    const found = readPngText(kind, content);
    if (found === undefined) continue;
    const { text, isPacked } = found;
    try {
      left -= isPacked ? (await unpack(text, { maxOutputLength: Math.max(1, left) })).length : text.length;
    } catch {
      // Too long, or truncated, which the library would notice only after decompressing.
      return true;
    }
    if (left < 0) return true;
  }
  return false;
};

/**
 * A picture that is safe for the library: the same bytes, or a PNG file without its texts if they are too
 * long. The library decompresses them with the header: some hundred kilobytes become gigabytes.
 */
export const withoutLongTexts = async (file: Buffer, budget: ParseBudget): Promise<Buffer> => {
  if (!file.subarray(0, SIGNATURE.length).equals(SIGNATURE)) return file;
  const texts = textChunks(file, budget);
  if (!(await areLong(texts))) return file;
  const parts: Buffer[] = [];
  let behind = 0;
  for (const { start, end } of texts) {
    // Usually texts are adjacent.
    if (start > behind) parts.push(file.subarray(behind, start));
    behind = end;
  }
  return Buffer.concat([...parts, file.subarray(behind)]);
};

/** Maximum size of all decompressed texts of a file; further ones are dropped. */
const MAX_INFLATED_BYTES = 2 * 1024 * 1024;
/** Minimum charge for decompressing a text, however short. */
const LEAST_INFLATED_BYTES = 4 * 1024;
const XMP_KEYWORD = 'XML:com.adobe.xmp';
const RAW_PROFILE = /^raw profile type /iu;
/** Chunks of the pixels: colours, transparency, frames. Initial capitals mark essential types. */
const SHOWN: ReadonlySet<string> = new Set(
  'cHRM gAMA iCCP sBIT sRGB cICP mDCV cLLI bKGD hIST tRNS pHYs sPLT acTL fcTL fdAT'.split(' '),
);

const isShown = (kind: string): boolean => SHOWN.has(kind) || /^[A-Z]/u.test(kind);

/** The chunks up to the end marker; a truncated last one is included. */
const chunksOf = (file: Buffer, budget: ParseBudget): readonly PngChunk[] => {
  const chunks: PngChunk[] = [];
  for (const chunk of pngChunks(file, budget)) {
    chunks.push(chunk);
    if (chunk.kind === 'IEND') break;
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

const inflated = (packed: Buffer, texts: { left: number }): Buffer | undefined => {
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

/** The bytes of a profile stored as hexadecimal text, after name and length; empty if malformed. */
const profileOf = (text: Buffer): Buffer => {
  const digits = /^\n.*\n\s*\d+\n([\da-f\s]*)$/iu.exec(text.toString('latin1'))?.[1] ?? '';
  return Buffer.from(digits.replaceAll(/\s+/gu, ''), 'hex');
};

const encodeXmp = (packet: Buffer): Buffer =>
  encodeChunk('iTXt', Buffer.concat([Buffer.from(`${XMP_KEYWORD}\0\0\0\0\0`), packet]));

/** XMP data without the position, as an uncompressed chunk: compressed data could not be changed in place. */
const cleanXmp = (text: Buffer, whole: Buffer): Buffer => {
  const copy = Buffer.from(text);
  blankLocationInXmp(copy);
  return copy.equals(text) ? whole : encodeXmp(copy);
};

/** The same for EXIF data; undefined when it cannot be parsed. */
const cleanExif = (
  content: Buffer,
  whole: Buffer,
  budget: ParseBudget,
  encode = (exif: Buffer): Buffer => encodeChunk('eXIf', behindExifMark(exif) ?? exif),
): Buffer | undefined => {
  const copy = Buffer.from(content);
  if (!blankExif(behindExifMark(copy) ?? copy, budget)) return undefined;
  return copy.equals(content) ? whole : encode(copy);
};

/** The same for a profile with EXIF or XMP data; any other with a position is dropped. */
const cleanProfile = (
  keyword: string,
  text: Buffer,
  whole: Buffer,
  budget: ParseBudget,
): Buffer | undefined => {
  const profile = profileOf(text);
  if (openTiff(behindExifMark(profile) ?? profile) !== undefined)
    // Remains a text: readers apply the orientation in a chunk of EXIF data, but not that in a text.
    return cleanExif(profile, whole, budget, (exif) =>
      encodeChunk('tEXt', Buffer.from(`${keyword}\0\nexif\n${exif.length}\n${exif.toString('hex')}\n`)),
    );
  if (profile.includes('<x:xmpmeta') || profile.includes('<rdf:RDF')) return cleanXmp(profile, whole);
  return profile.length === 0 || saysPosition(profile, budget) ? undefined : whole;
};

interface Spending {
  readonly budget: ParseBudget;
  readonly texts: { left: number };
}

const cleanText = (
  { keyword, isPacked, text: stored }: PngText,
  whole: Buffer,
  { budget, texts }: Spending,
): Buffer | undefined => {
  const text = isPacked ? inflated(stored, texts) : stored;
  if (text === undefined) return undefined;
  if (RAW_PROFILE.test(keyword)) return cleanProfile(keyword, text, whole, budget);
  if (keyword === XMP_KEYWORD) return cleanXmp(text, whole);
  return saysPosition(Buffer.from(keyword), budget) || saysPosition(text, budget) ? undefined : whole;
};

const cleanChunk = ({ kind, content, whole }: PngChunk, spending: Spending): Buffer | undefined => {
  if (kind === 'eXIf') return cleanExif(content, whole, spending.budget);
  // Compressed EXIF data, of an obsolete draft.
  if (kind === 'zxIf') return undefined;
  const text = readPngText(kind, content);
  if (text !== undefined) return cleanText(text, whole, spending);
  // Other chunks may be obsolete locations of XMP data, or records of provenance, which quote EXIF data.
  return isShown(kind) || !saysPosition(content, spending.budget) ? whole : undefined;
};

/** Metadata of a PNG file; compressed texts only if they are short. */
export const pngData = (file: Buffer, budget: ParseBudget): FoundData => {
  const found: { exif: Buffer[]; xmp: Buffer[]; iptc: Buffer[] } = { exif: [], xmp: [], iptc: [] };
  const texts = { left: MAX_INFLATED_BYTES };
  for (const { kind, content } of chunksOf(file, budget)) {
    if (kind === 'eXIf') found.exif.push(content);
    const stored = readPngText(kind, content);
    const kept = stored && (stored.keyword === XMP_KEYWORD || RAW_PROFILE.test(stored.keyword));
    if (stored === undefined || kept !== true) continue;
    const text = stored.isPacked ? inflated(stored.text, texts) : stored.text;
    if (text === undefined) continue;
    if (stored.keyword === XMP_KEYWORD) found.xmp.push(text);
    else {
      const profile = profileOf(text);
      found[/iptc/iu.test(stored.keyword) ? 'iptc' : 'exif'].push(behindExifMark(profile) ?? profile);
    }
  }
  return found;
};

const joined = (file: Buffer, chunks: readonly (Buffer | undefined)[]): Buffer => {
  const kept = chunks.filter((chunk) => chunk !== undefined);
  const result = Buffer.concat([file.subarray(0, SIGNATURE.length), ...kept]);
  return result.equals(file) ? file : result;
};

/**
 * A PNG file without the position in its EXIF and XMP data and in its texts; the same bytes when there is
 * none. A compressed text that cannot be decompressed is dropped. Bytes after the end are cut off.
 */
export const pngWithoutLocation = (file: Buffer, budget: ParseBudget): Buffer => {
  const spending = { budget, texts: { left: MAX_INFLATED_BYTES } };
  const cleaned = chunksOf(file, budget).map((chunk) => cleanChunk(chunk, spending));
  return joined(file, cleaned);
};

/** Replaces chunks of a PNG file by those of another one. */
const replacing =
  (isMeant: (chunk: PngChunk) => boolean) =>
  (file: Buffer, other: Buffer, budget: ParseBudget): Buffer => {
    const wholes = (png: Buffer, areMeant: boolean): Buffer[] =>
      chunksOf(png, budget).flatMap((chunk) =>
        isMeant(chunk) === areMeant && chunk.end <= png.length ? [chunk.whole] : [],
      );
    const kept = wholes(other, true);
    if (kept.length === 0) return file;
    const [header, ...rest] = wholes(file, false);
    return joined(file, [header, ...kept, ...rest]);
  };

/** A PNG file with the texts of another one, except XMP data: the library shortens keywords to a word. */
export const pngWithTexts = replacing(
  ({ kind, content }) => (readPngText(kind, content)?.keyword ?? XMP_KEYWORD) !== XMP_KEYWORD,
);

/** A PNG file whose colours are described as in another one: the library knows only profiles. */
export const pngWithColours = replacing(({ kind }) => /^(?:cICP|mDCV|cLLI|gAMA|cHRM)$/u.test(kind));

/** A PNG file with only its pixels, frames and their colour description. */
export const pngWithoutMetadata = (file: Buffer, budget: ParseBudget): Buffer => {
  const kept = chunksOf(file, budget).flatMap(({ kind, whole }) => (isShown(kind) ? [whole] : []));
  return joined(file, kept);
};
