import type { ParseBudget } from '../../basics/content/parse-budget.ts';

/** Data of a picture that says what it is about. */
export interface FoundData {
  /** Behind its mark. */
  readonly exif: readonly Buffer[];
  readonly xmp: readonly Buffer[];
  /** Alone, or among resources of image editors. */
  readonly iptc: readonly Buffer[];
}

/**
 * What IPTC data says about a picture.
 *
 * @see https://www.iptc.org/std/IIM/4.2/specification/IIMV4.2.pdf
 */

const MARKER = 0x1c;
/** Of a length that says how many bytes the length itself has. */
const EXTENDED = 0x8000;
const CHARSET = '1:90';
const UTF_8 = '\u001b%G';

/** Text of unknown encoding: UTF-8 where it is that, else as old programs for Windows write it. */
export const decodedText = (bytes: Uint8Array): string => {
  try {
    return new TextDecoder('utf-8', { fatal: true }).decode(bytes);
  } catch {
    return new TextDecoder('windows-1252').decode(bytes);
  }
};

/** The values of IPTC data by record and number, `2:120`; each may stand there several times. */
export const iptcTexts = (data: Buffer, budget: ParseBudget): ReadonlyMap<string, readonly string[]> => {
  const found = new Map<string, Buffer[]>();
  for (let at = 0; at + 5 <= data.length && data[at] === MARKER;) {
    budget.spendItems();
    const key = `${String(data[at + 1])}:${String(data[at + 2])}`;
    let [start, size] = [at + 5, data.readUInt16BE(at + 3)];
    if (size >= EXTENDED) {
      const digits = size - EXTENDED;
      if (digits < 1 || digits > 4 || start + digits > data.length) break;
      size = data.readUIntBE(start, digits);
      start += digits;
    }
    const values = found.get(key) ?? [];
    found.set(key, values);
    values.push(data.subarray(start, start + size));
    at = start + size;
  }
  const isUtf8 = found.get(CHARSET)?.[0]?.toString('latin1').startsWith(UTF_8) === true;
  const decode = isUtf8 ? (bytes: Buffer): string => bytes.toString('utf8') : decodedText;
  return new Map([...found].map(([key, values]) => [key, values.map(decode)]));
};
