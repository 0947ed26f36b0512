/** An object as JSON has them: no class of its own. */
export type PlainObject = Readonly<Record<string, unknown>>;

/**
 * Whether a value is an object literal or came from JSON. Lists, dates, buffers, clients and functions are
 * not. Decided by the length of its chain of prototypes, not by their identity: test runners, `node:vm` and
 * workers have an `Object` of their own.
 */
export const isPlainObject = (value: unknown): value is PlainObject => {
  if (typeof value !== 'object' || value === null) return false;
  const prototype: unknown = Object.getPrototypeOf(value);
  return prototype === null || Object.getPrototypeOf(prototype) === null;
};

/** Whether an object at a path has a key of this name. */
export type KeyTest = (path: readonly string[], key: string) => boolean;

/**
 * A copy in which no object holds `undefined`, nor `null` under a known key: a key set to null keeps its
 * default, at every depth. Nulls under unknown keys stay, and so do those in lists, so that checks find them.
 * Other values are taken as they are.
 */
export const withoutNulls = (
  value: unknown,
  isKnown: KeyTest = () => true,
  path: readonly string[] = [],
): unknown => {
  if (Array.isArray(value)) {
    return value.map((entry, index) => withoutNulls(entry, isKnown, [...path, String(index)]));
  }
  if (!isPlainObject(value)) return value;
  const kept = Object.entries(value).filter(
    ([key, inner]) => inner !== undefined && (inner !== null || !isKnown(path, key)),
  );
  // fromEntries defines own properties, so a key `__proto__` stays a key and is reported as unknown.
  return Object.fromEntries(kept.map(([key, inner]) => [key, withoutNulls(inner, isKnown, [...path, key])]));
};

/**
 * Lays `over` on `base`: objects merge key by key at every depth, anything else, lists too, replaces. Neither
 * is changed.
 */
export const merge = (base: PlainObject, over: PlainObject): PlainObject => {
  const merged = new Map(Object.entries(base));
  for (const [key, value] of Object.entries(over)) {
    const below = merged.get(key);
    merged.set(key, isPlainObject(below) && isPlainObject(value) ? merge(below, value) : value);
  }
  return Object.fromEntries(merged);
};

/**
 * Freezes plain objects and lists at every depth, and nothing else: a client or a buffer among them stays
 * usable.
 */
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
