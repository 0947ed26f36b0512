import { setImmediate as nextTurn } from 'node:timers/promises';
import type { ParseBudget } from '../../basics/content/parse-budget.ts';
import { openTiff } from './tiff.ts';

/** How EXIF data begins, in either byte order. */
const HEADERS = [Buffer.from('II*\0', 'latin1'), Buffer.from('MM\0*', 'latin1')];
/** Entries that name another directory: EXIF, GPS, interoperability. */
const POINTERS: ReadonlySet<number> = new Set([0x8769, 0x8825, 0xa005]);
/** Cameras write three or four. */
const MAX_POINTERS = 16;
/** Bytes that are searched before other work goes on. */
const BYTES_PER_TURN = 4 * 1024 * 1024;
const ENTRY_BYTES = 12;

/** Whether a structure has more references to directories than any camera writes, wherever they lead. */
const isTangledAt = (bytes: Buffer, budget: ParseBudget): boolean => {
  const tiff = openTiff(bytes);
  if (tiff === undefined) return false;
  const waiting = new Set([tiff.uint32(4)]);
  let pointers = 0;
  // Entries that are added in the loop are visited too, each once.
  for (const at of waiting) {
    if (at + 2 > bytes.length) continue;
    const count = Math.min(tiff.uint16(at), Math.floor((bytes.length - at - 2) / ENTRY_BYTES));
    budget.spendItems(count + 1);
    const end = at + 2 + count * ENTRY_BYTES;
    for (let entry = at + 2; entry < end; entry += ENTRY_BYTES) {
      if (!POINTERS.has(tiff.uint16(entry))) continue;
      pointers += 1;
      if (pointers > MAX_POINTERS) return true;
      waiting.add(tiff.uint32(entry + 8));
    }
    // Another directory may follow.
    if (end + 4 <= bytes.length) waiting.add(tiff.uint32(end));
  }
  return false;
};

/**
 * Whether EXIF data somewhere in a picture refers to directories over and over. The library reads it with the
 * header of a picture, follows every reference to its end, and cannot be stopped: four kilobytes take hours.
 * Gives way to other work between portions of a large file.
 */
export const hasTangledExif = async (file: Buffer, budget: ParseBudget): Promise<boolean> => {
  for (let from = 0; from < file.length; from += BYTES_PER_TURN) {
    if (from > 0) await nextTurn();
    for (const header of HEADERS) {
      const portion = file.subarray(from, from + BYTES_PER_TURN + header.length - 1);
      for (let at = portion.indexOf(header); at >= 0; at = portion.indexOf(header, at + 1)) {
        // Bytes that are not EXIF data cost as much as a short one.
        budget.spendItems();
        if (isTangledAt(file.subarray(from + at), budget)) return true;
      }
    }
  }
  return false;
};
