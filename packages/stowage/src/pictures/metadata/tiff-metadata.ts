import type { ParseBudget } from '../../basics/content/parse-budget.ts';
import { blankDirectory, blankValue, directoriesOf, openTiff, removeEntry } from './tiff.ts';

/** Tags of what belongs to the pixels: order, samples, colours, packing, size in print, their place in the file. */
const SHOWN: ReadonlySet<number> = new Set([
  254, 255, 256, 257, 258, 259, 262, 263, 266, 273, 274, 277, 278, 279, 280, 281, 282, 283, 284, 290, 291,
  292, 293, 296, 297, 301, 317, 318, 319, 320, 321, 322, 323, 324, 325, 332, 334, 338, 339, 340, 341, 347,
  512, 513, 514, 529, 530, 531, 532, 34675,
]);

/**
 * A TIFF file with nothing but its pages and what their colours mean; the same bytes when there is nothing
 * else. Undefined for one with more directories than any program writes.
 */
export const tiffWithoutMetadata = (original: Buffer, budget: ParseBudget): Buffer | undefined => {
  const file = Buffer.from(original);
  const tiff = openTiff(file);
  const directories = tiff === undefined ? undefined : directoriesOf(tiff, budget);
  if (tiff === undefined || directories === undefined) return undefined;
  for (const directory of directories) {
    if (directory.reachedBy !== undefined) {
      blankDirectory(tiff, directory, budget);
      continue;
    }
    // From behind: what follows an entry moves.
    for (const [index, entry] of [...directory.entries.entries()].reverse()) {
      if (SHOWN.has(entry.tag)) continue;
      blankValue(tiff, entry, budget);
      removeEntry(tiff, directory, index, budget);
    }
  }
  return file.equals(original) ? original : file;
};
