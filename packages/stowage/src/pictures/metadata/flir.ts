import type { ParseBudget } from '../../basics/content/parse-budget.ts';

/**
 * What thermal cameras of FLIR keep in a picture: a file of records, in several segments.
 *
 * @see https://exiftool.org/TagNames/FLIR.html
 */

const [VERSION, DIRECTORY, COUNT] = [0x14, 0x18, 0x1c];
const RECORD_BYTES = 0x20;
const POSITION_RECORD = 0x2b;

/** Takes the record of the position out of such a file, in place. False when it cannot be understood. */
export const blankLocationInFlir = (file: Buffer, budget: ParseBudget): boolean => {
  if (file.length < COUNT + 4 || !/^[AF]FF\0/u.test(file.toString('latin1', 0, 4))) return false;
  const isBig = file.readUInt16BE(VERSION) === 0;
  const uint32 = (at: number): number => (isBig ? file.readUInt32BE(at) : file.readUInt32LE(at));
  const [start, count] = [uint32(DIRECTORY), uint32(COUNT)];
  if (start + count * RECORD_BYTES > file.length) return false;
  for (let at = start; at < start + count * RECORD_BYTES; at += RECORD_BYTES) {
    budget.spendItems();
    const kind = isBig ? file.readUInt16BE(at) : file.readUInt16LE(at);
    if (kind !== POSITION_RECORD) continue;
    const record = uint32(at + 0x0c);
    const data = file.subarray(record, record + uint32(at + 0x10));
    budget.spendBytes(data.length);
    data.fill(0);
    // A record of the kind 0 is empty.
    file.fill(0, at, at + RECORD_BYTES);
  }
  return true;
};
