import { ParseBudget } from '../basics/content/parse-budget.ts';
import { BrokenImageError } from '../errors/errors.ts';

/** Chunks, segments, blocks and EXIF entries of a picture; an animation of an hour has fewer. */
const MAX_ITEMS = 50_000;
const MAX_DEPTH = 16;
/** How often all bytes of a file may be looked through or copied. */
const PASSES = 4;
const SPARE_BYTES = 1024 * 1024;

/**
 * What reading the parts of one picture may cost, for one task.
 * @throws BrokenImageError by its methods, when a file passes it
 */
export const pictureBudget = (file: Buffer): ParseBudget =>
  new ParseBudget(
    { items: MAX_ITEMS, depth: MAX_DEPTH, bytes: PASSES * file.length + SPARE_BYTES },
    (limit) => new BrokenImageError({ detail: `a picture that takes too much to read: ${limit}` }),
  );
