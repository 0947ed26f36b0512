const normal = (key: string): string => key.toLowerCase().replaceAll(/[^\p{L}\p{N}]/gu, '');

/** Edit distance with swaps of neighbours counted once; costs length by length. */
const distance = (a: string, b: string): number => {
  let beforeLast: number[] = [];
  let last = Array.from({ length: b.length + 1 }, (_, column) => column);
  for (let row = 1; row <= a.length; row++) {
    const current = [row];
    for (let column = 1; column <= b.length; column++) {
      const same = a[row - 1] === b[column - 1];
      const swapped = row > 1 && column > 1 && a[row - 1] === b[column - 2] && a[row - 2] === b[column - 1];
      current[column] = Math.min(
        (last[column] ?? 0) + 1,
        (current[column - 1] ?? 0) + 1,
        (last[column - 1] ?? 0) + (same ? 0 : 1),
        swapped ? (beforeLast[column - 2] ?? 0) + 1 : Number.POSITIVE_INFINITY,
      );
    }
    beforeLast = last;
    last = current;
  }
  return last[b.length] ?? 0;
};

/**
 * The known key that somebody who wrote `key` probably meant: case, dashes and underscores do not count, and about every
 * third letter may be wrong. Undefined when none is near.
 */
export const nearestKey = (key: string, known: readonly string[]): string | undefined => {
  const wanted = normal(key).slice(0, 64);
  const ranked = known
    .map((candidate) => ({ candidate, far: distance(wanted, normal(candidate)) }))
    .sort((one, other) => one.far - other.far);
  const best = ranked[0];
  return best !== undefined && best.far <= Math.max(1, Math.floor(wanted.length / 3))
    ? best.candidate
    : undefined;
};
