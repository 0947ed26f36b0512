import { isRawObject, noParameters, type RawParameters, type RawValue } from './raw.ts';

/** Names for which an empty text means that the parameter is absent, so that it does not hide the other place's value. */
const absentWhenEmpty: ReadonlySet<string> = new Set(['action', 'source', 'path']);

const mergeValues = (over: RawValue, under: RawValue | undefined): RawValue => {
  if (!isRawObject(over) || !isRawObject(under)) return over;
  const merged = Object.assign(noParameters(), under) as Record<string, RawValue>;
  for (const [key, value] of Object.entries(over)) merged[key] = mergeValues(value, under[key]);
  return merged;
};

/**
 * Puts query and body together; the query wins by full name. `mods[offset]` in the query and `mods[limit]` in the body are
 * different names, so both count; lists are one value and never mixed.
 */
export const mergeParameters = (query: RawParameters, body: RawParameters): RawParameters => {
  if (Object.keys(body).length === 0) return query;
  const merged = Object.assign(noParameters(), body);
  for (const [name, value] of Object.entries(query)) {
    if (value === undefined) continue;
    if (value === '' && absentWhenEmpty.has(name) && merged[name] !== undefined) continue;
    merged[name] = mergeValues(value, body[name]);
  }
  return merged;
};
