const UNITS = ['B', 'KB', 'MB', 'GB', 'TB'] as const;
const STEP = 1024;

const rounded = (value: number): number => Math.round(value * 100) / 100;

/**
 * A readable size: `0B`, `1000B`, `1.13KB`, `117.74MB`. Units of 1024, at most two decimals, no trailing
 * zeros. A size that would round to 1024 of a unit is 1 of the next.
 */
export const humanSize = (bytes: number): string => {
  let value = bytes;
  let unit = 0;
  while (unit < UNITS.length - 1 && rounded(value) >= STEP) {
    value /= STEP;
    unit += 1;
  }
  return `${String(rounded(value))}${UNITS[unit] ?? ''}`;
};

/** A text as one word of a shell command, for messages that operators copy. */
export const shellWord = (text: string): string =>
  /^[\w./@%+=:,-]+$/u.test(text) ? text : `'${text.replaceAll("'", String.raw`'\''`)}'`;
