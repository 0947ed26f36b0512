/** One row of the table: the measured value, and that of the same work at the physical limit. */
export interface Row {
  readonly what: string;
  readonly unit: string;
  /** Median of several warm runs, unless `what` says otherwise. */
  readonly ours: number;
  /** The same work by a minimal program. Absent where nothing compares. */
  readonly reference?: { readonly name: string; readonly value: number };
  /** The intended ratio: at most this where less is better, at least this where more is better. */
  readonly aim?: { readonly atMost: number } | { readonly atLeast: number };
}

/** A measurement removes what it creates and stops what it starts. */
export interface Measurement {
  readonly name: string;
  readonly run: () => Promise<readonly Row[]>;
}

/** The middle value; of an even number of values the lower middle. */
export const median = (values: readonly number[]): number =>
  values.toSorted((left, right) => left - right)[Math.floor((values.length - 1) / 2)] ?? Number.NaN;

/** Duration of the work in milliseconds. */
export const timed = async (work: () => Promise<unknown>): Promise<number> => {
  const start = performance.now();
  await work();
  return performance.now() - start;
};

/**
 * Medians of several works in turn, so that a noisy machine affects all of them alike. Each runs once before,
 * to warm up.
 */
export const interleaved = async (
  rounds: number,
  works: readonly (() => Promise<unknown>)[],
): Promise<readonly number[]> => {
  const times = works.map((): number[] => []);
  for (const work of works) await work();
  for (let round = 0; round < rounds; round += 1) {
    for (const [index, work] of works.entries()) times[index]?.push(await timed(work));
  }
  return times.map(median);
};
