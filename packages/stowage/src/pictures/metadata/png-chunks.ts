import { promisify } from 'node:util';
import { inflate } from 'node:zlib';
import type { ParseBudget } from '../../basics/content/parse-budget.ts';

const SIGNATURE = Buffer.from([0x89, 0x50, 0x4e, 0x47, 0x0d, 0x0a, 0x1a, 0x0a]);
/** Length and kind before a chunk's content. */
const HEAD_BYTES = 8;
/** Those, and the checksum behind it. */
export const FRAME_BYTES = 12;
/** Of all texts of a file together, unpacked: the library holds each of them several times over. */
const MAX_TEXT_BYTES = 8 * 1024 * 1024;
const MAX_TEXTS = 1000;
/** What a packed byte becomes at most. */
const MOST_OF_A_BYTE = 1032;
const TEXTS: ReadonlySet<string> = new Set(['tEXt', 'zTXt', 'iTXt']);

const unpack: (packed: Buffer, options: { readonly maxOutputLength: number }) => Promise<Buffer> =
  promisify(inflate);

/** A chunk of a PNG file, from its first byte to behind its last; that may lie behind the end of the file. */
export interface PngChunk {
  readonly kind: string;
  readonly start: number;
  readonly end: number;
}

/** The chunks of a PNG file, or of its beginning, as long as there are more. */
export function* pngChunks(file: Buffer, budget: ParseBudget): Generator<PngChunk, void, undefined> {
  for (let at = SIGNATURE.length; at + HEAD_BYTES <= file.length;) {
    budget.spendItems();
    const end = at + FRAME_BYTES + file.readUInt32BE(at);
    yield { kind: file.toString('latin1', at + 4, at + HEAD_BYTES), start: at, end };
    at = end;
  }
}

/** A text of a PNG file as it stands there. */
export interface PngText {
  readonly keyword: string;
  readonly text: Buffer;
  readonly isPacked: boolean;
}

/** Where the `count`-th zero from `start` on ends; the whole length when there are not so many. */
const behindZeros = (content: Buffer, start: number, count: number): number => {
  let at = start;
  for (let found = 0; found < count; found += 1) {
    const zero = content.indexOf(0, at);
    if (zero < 0) return content.length;
    at = zero + 1;
  }
  return at;
};

/** The text that a chunk of this kind holds; undefined for chunks of other kinds. */
export const readPngText = (kind: string, content: Buffer): PngText | undefined => {
  if (!TEXTS.has(kind)) return undefined;
  const start = behindZeros(content, 0, 1);
  const keyword = content.toString('latin1', 0, start - 1);
  if (kind === 'tEXt') return { keyword, text: content.subarray(start), isPacked: false };
  if (kind === 'zTXt') return { keyword, text: content.subarray(start + 1), isPacked: true };
  const text = content.subarray(behindZeros(content, start + 2, 2));
  return { keyword, text, isPacked: content[start] !== 0 };
};

/** Where the chunks of text lie in a file that is whole or a beginning. */
const textChunks = (file: Buffer, budget: ParseBudget): readonly PngChunk[] =>
  [...pngChunks(file, budget)].filter(({ kind }) => TEXTS.has(kind));

/** Whether texts are longer together than they may be. Looks into them only where that could be so. */
const areLong = async (file: Buffer, chunks: readonly PngChunk[]): Promise<boolean> => {
  const most = chunks.reduce(
    (sum, { kind, start, end }) => sum + (end - start) * (kind === 'tEXt' ? 1 : MOST_OF_A_BYTE),
    0,
  );
  if (most <= MAX_TEXT_BYTES) return false;
  if (chunks.length > MAX_TEXTS) return true;
  let left = MAX_TEXT_BYTES;
  for (const { kind, start, end } of chunks) {
    const found = readPngText(kind, file.subarray(start + HEAD_BYTES, end - 4));
    if (found === undefined) continue;
    const { text, isPacked } = found;
    try {
      left -= isPacked ? (await unpack(text, { maxOutputLength: Math.max(1, left) })).length : text.length;
    } catch {
      // Too long, or broken at its end only, which the library would notice when it is unpacked.
      return true;
    }
    if (left < 0) return true;
  }
  return false;
};

/**
 * A picture as the library may have it: the same bytes, or a PNG file without its texts where they are long.
 * The library unpacks them with the header: some hundred kilobytes become gigabytes.
 */
export const withoutLongTexts = async (file: Buffer, budget: ParseBudget): Promise<Buffer> => {
  if (!file.subarray(0, SIGNATURE.length).equals(SIGNATURE)) return file;
  const texts = textChunks(file, budget);
  if (!(await areLong(file, texts))) return file;
  const parts: Buffer[] = [];
  let behind = 0;
  for (const { start, end } of texts) {
    // As a rule one follows the other.
    if (start > behind) parts.push(file.subarray(behind, start));
    behind = end;
  }
  return Buffer.concat([...parts, file.subarray(behind)]);
};
