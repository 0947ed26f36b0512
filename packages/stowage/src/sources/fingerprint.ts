import { createHash } from 'node:crypto';
import { isPlainObject, type PlainObject } from '../config/values.ts';

/** Settings of more parts are compared in no other way than by building their sources anew. */
const MOST_PARTS = 1_000_000;

/** Null keeps the default, as an absent key does. */
const keysOf = (value: PlainObject, skips: RegExp | undefined): string[] =>
  Object.keys(value).filter(
    (key) => value[key] !== null && value[key] !== undefined && skips?.test(key) !== true,
  );

/**
 * What tells settings from others, in a few bytes that reveal none of them; undefined for settings of more
 * than a million parts. The order of sources counts, because the first one serves requests that name none;
 * that of all other keys does not. Functions are all alike, and so are instances of one class: a host makes
 * them anew for every request. Keys that match `skips` do not count. Costs one walk through the settings.
 */
export const fingerprintOf = (sources: object, skips?: RegExp): string | undefined => {
  const hash = createHash('sha256');
  let parts = 0;
  const add = (value: unknown, isOrdered: boolean): void => {
    parts += 1;
    if (parts > MOST_PARTS) return;
    if (Array.isArray(value)) {
      hash.update('[');
      for (const inner of value) add(inner, false);
      hash.update(']');
    } else if (isPlainObject(value)) {
      hash.update('{');
      const keys = keysOf(value, skips);
      for (const key of isOrdered ? keys : keys.sort()) {
        hash.update(JSON.stringify(key));
        add(value[key], false);
      }
      hash.update('}');
    } else if (value instanceof Uint8Array) hash.update('bytes').update(value);
    else if (typeof value === 'string') hash.update(JSON.stringify(value));
    else if (value instanceof URL || value instanceof Date) hash.update(JSON.stringify(value));
    else if (typeof value === 'function') hash.update('function');
    else if (typeof value === 'object' && value !== null) hash.update(Object.prototype.toString.call(value));
    else hash.update(`${typeof value} ${String(value)}`);
    hash.update(',');
  };
  add(sources, true);
  return parts > MOST_PARTS ? undefined : hash.digest('base64');
};
