/** An object as JSON has them: no class of its own. */
export type PlainObject = Readonly<Record<string, unknown>>;

/** Whether a value is an object literal or came from JSON. Lists, dates, buffers, clients and functions are not. */
export const isPlainObject = (value: unknown): value is PlainObject => {
  if (typeof value !== 'object' || value === null) return false;
  const prototype: unknown = Object.getPrototypeOf(value);
  return prototype === null || prototype === Object.prototype;
};

/**
 * A copy in which no object holds `null` or `undefined`: a key set to null keeps its default, at every depth. Entries of lists
 * stay, so that a null among them is found by the checks. What is neither a plain object nor a list is taken as it is.
 */
export const withoutNulls = (value: unknown): unknown => {
  if (Array.isArray(value)) return value.map(withoutNulls);
  if (!isPlainObject(value)) return value;
  const kept = Object.entries(value).filter(([, inner]) => inner !== null && inner !== undefined);
  // fromEntries defines own properties, so a key `__proto__` stays a key and is reported as unknown.
  return Object.fromEntries(kept.map(([key, inner]) => [key, withoutNulls(inner)]));
};

/** Lays `over` on `base`: objects merge key by key at every depth, anything else, lists too, replaces. Neither is changed. */
export const merge = (base: PlainObject, over: PlainObject): PlainObject => {
  const merged = new Map(Object.entries(base));
  for (const [key, value] of Object.entries(over)) {
    const below = merged.get(key);
    merged.set(key, isPlainObject(below) && isPlainObject(value) ? merge(below, value) : value);
  }
  return Object.fromEntries(merged);
};

/** Freezes plain objects and lists at every depth, and nothing else: a client or a buffer among them stays usable. */
export const freezeDeep = <Value>(value: Value): Value => {
  if (Array.isArray(value) || isPlainObject(value)) {
    Object.freeze(value);
    for (const inner of Object.values(value)) if (!Object.isFrozen(inner)) freezeDeep(inner);
  }
  return value;
};

/** The object without these keys. */
export const without = (value: PlainObject, keys: readonly string[]): PlainObject =>
  Object.fromEntries(Object.entries(value).filter(([key]) => !keys.includes(key)));
