const UNITS = { b: 1, kb: 1024, mb: 1024 ** 2, gb: 1024 ** 3 } as const;

/**
 * Reads a number of bytes: `8mb`, `1.5 GB`, `100kb`, `512b` or plain bytes (`"8388608"`, `8388608`). Units are powers of 1024,
 * in any case. Undefined when the text is no such number.
 */
export const parseByteSize = (value: string | number): number | undefined => {
  const match = /^\s*(\d+(?:\.\d+)?)\s*(b|kb|mb|gb)?\s*$/iu.exec(String(value));
  if (match?.[1] === undefined) return undefined;
  const unit = (match[2] ?? 'b').toLowerCase() as keyof typeof UNITS;
  const bytes = Math.floor(Number(match[1]) * UNITS[unit]);
  return Number.isSafeInteger(bytes) ? bytes : undefined;
};
