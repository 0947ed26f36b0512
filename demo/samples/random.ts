/**
 * A source of numbers in [0, 1) that is the same for the same seed, so that every first start draws the same
 * pictures.
 */
export type Random = () => number;

/** Mulberry32: small, and even enough for hills and stars. */
export const createRandom = (seed: number): Random => {
  let state = seed >>> 0;
  return () => {
    state = (state + 0x6d2b79f5) >>> 0;
    let mixed = Math.imul(state ^ (state >>> 15), state | 1);
    mixed ^= mixed + Math.imul(mixed ^ (mixed >>> 7), mixed | 61);
    return ((mixed ^ (mixed >>> 14)) >>> 0) / 2 ** 32;
  };
};

/** A number between two others. */
export const between = (random: Random, low: number, high: number): number => low + random() * (high - low);
