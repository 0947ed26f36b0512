/** Options of the memory adapter. */
export interface MemoryOptions {
  /** Most bytes that files, names and content still arriving may take together. Default: 256 MB. */
  readonly maxBytes?: number;
}

export const DEFAULT_MAX_BYTES = 256 * 1024 * 1024;

const KEYS: ReadonlySet<string> = new Set(['maxBytes']);

/** Checks options as written in a configuration; absent ones are the defaults. */
export const parseMemoryOptions = (
  options: unknown,
): { readonly value: MemoryOptions } | { readonly problems: readonly string[] } => {
  if (options === undefined || options === null) return { value: {} };
  if (typeof options !== 'object' || Array.isArray(options)) return { problems: [': must be an object'] };
  const problems = Object.keys(options)
    .filter((key) => !KEYS.has(key))
    .map((key) => `${key}: is not a known key`);
  const maxBytes: unknown = 'maxBytes' in options ? (options.maxBytes ?? undefined) : undefined;
  if (maxBytes === undefined) return problems.length > 0 ? { problems } : { value: {} };
  if (typeof maxBytes !== 'number' || !Number.isSafeInteger(maxBytes) || maxBytes < 1) {
    return { problems: [...problems, 'maxBytes: must be a whole number of bytes above 0'] };
  }
  return problems.length > 0 ? { problems } : { value: { maxBytes } };
};
