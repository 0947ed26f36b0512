import type * as z from 'zod';
import { isPlainObject } from './values.ts';

type Issue = z.core.$ZodIssue;

const EXPECTED: Readonly<Record<string, string>> = {
  string: 'text',
  // Every number of the configuration is an integer.
  number: 'a whole number',
  int: 'a whole number',
  boolean: 'true or false',
  array: 'a list',
  object: 'an object',
  record: 'an object',
};

/** Describes a value in a message: its type, and the value itself if it is short. */
const describeValue = (value: unknown): string => {
  if (typeof value === 'string') {
    if (value === '') return 'empty text';
    return `the text ${JSON.stringify(value.length > 60 ? `${value.slice(0, 57)}...` : value)}`;
  }
  if (typeof value === 'number' || typeof value === 'bigint') return `the number ${String(value)}`;
  if (typeof value === 'boolean' || value === null || value === undefined) return String(value);
  if (Array.isArray(value)) return 'a list';
  return typeof value === 'object' ? 'an object' : `a ${typeof value}`;
};

/** `must be a list`, and the actual value. */
export const mustBe = (wanted: string, value: unknown): string =>
  value === undefined ? 'is required' : `must be ${wanted}, not ${describeValue(value)}`;

export const problemAt = (where: readonly PropertyKey[], text: string): string =>
  where.length === 0 ? `configuration: ${text}` : `${where.map(String).join('.')}: ${text}`;

const READ_FAILURES: Readonly<Record<string, string>> = {
  ENOENT: 'there is no such file',
  EACCES: 'access is denied',
  EISDIR: 'it is a directory',
};

/** The reason why a file cannot be read, in plain words: `cannot be read: there is no such file`. */
export const cannotBeRead = (error: unknown): string => {
  const { code, message } = error as NodeJS.ErrnoException;
  return `cannot be read: ${READ_FAILURES[code ?? ''] ?? message}`;
};

const normal = (key: string): string => key.toLowerCase().replaceAll(/[^\p{L}\p{N}]/gu, '');

/** Edit distance with transpositions (cost 1); its time is the product of the lengths. */
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
 * The known key that `key` probably means: case, dashes and underscores are ignored, and about every third
 * letter may be wrong. Undefined when none is similar.
 */
const nearestKey = (key: string, known: readonly string[]): string | undefined => {
  const wanted = normal(key).slice(0, 64);
  const ranked = known
    .map((candidate) => ({ candidate, far: distance(wanted, normal(candidate)) }))
    .sort((one, other) => one.far - other.far);
  const best = ranked[0];
  return best !== undefined && best.far <= Math.max(1, Math.floor(wanted.length / 3))
    ? best.candidate
    : undefined;
};

/** `; did you mean "thumbSize"?`, or empty when no known key is similar. */
export const hintAt = (key: string, known: readonly string[]): string => {
  const near = nearestKey(key, known);
  return near === undefined ? '' : `; did you mean "${near}"?`;
};

/** Most known keys that a message lists. */
const MOST_LISTED = 12;

/** Message about an unknown key, with the most similar known one, or else with all if they are few. */
export const unknownKey = (key: string, known: readonly string[]): string => {
  const list = known.length > 0 && known.length <= MOST_LISTED ? `; known keys: ${known.join(', ')}` : '';
  return `is not a known key${hintAt(key, known) || list}`;
};

const at = (value: unknown, path: readonly PropertyKey[]): unknown =>
  path.reduce<unknown>(
    (inner, key) =>
      (isPlainObject(inner) || Array.isArray(inner)) && Object.hasOwn(inner, key)
        ? (inner as Readonly<Record<PropertyKey, unknown>>)[key]
        : undefined,
    value,
  );

const expectedOf = (issue: Issue): string =>
  issue.code === 'invalid_type' ? (EXPECTED[issue.expected] ?? issue.expected) : 'of another form';

const sizeProblem = (issue: z.core.$ZodIssueTooSmall | z.core.$ZodIssueTooBig, value: unknown): string => {
  if (typeof value === 'string')
    return issue.code === 'too_small'
      ? 'must not be empty'
      : `must not be longer than ${String(issue.maximum)}`;
  if (issue.code === 'too_big') return mustBe(`at most ${String(issue.maximum)}`, value);
  return mustBe(`${issue.inclusive === true ? 'at least' : 'greater than'} ${String(issue.minimum)}`, value);
};

const textOf = (issue: Issue, value: unknown): string => {
  // A message in the schema is better than one derived from the kind of issue.
  if (issue.message.startsWith('must be ')) return mustBe(issue.message.slice('must be '.length), value);
  if (/^(?:must|belongs|is required) /u.test(issue.message)) return issue.message;
  if (issue.code === 'invalid_key')
    return `the name ${issue.issues.map((ofKey) => textOf(ofKey, issue.path.at(-1))).join(', ')}`;
  if (issue.code === 'invalid_value')
    return mustBe(`one of ${issue.values.map((one) => JSON.stringify(one)).join(', ')}`, value);
  if (issue.code === 'invalid_union')
    return mustBe([...new Set(issue.errors.flat().map(expectedOf))].join(' or '), value);
  if (issue.code === 'too_small' || issue.code === 'too_big') return sizeProblem(issue, value);
  return mustBe(expectedOf(issue), value);
};

/** Valid keys of an object at a path inside the checked value. */
export type KnownKeys = (path: readonly PropertyKey[]) => readonly string[];

const unfold = (issue: Issue): readonly Issue[] => {
  if (issue.code !== 'invalid_union') return [issue];
  // A list with an invalid entry is still meant as a list: the entry is the problem, not the alternative.
  const meant = issue.errors.find((errors) => errors.every(({ path }) => path.length > 0));
  return meant?.map((inner) => ({ ...inner, path: [...issue.path, ...inner.path] })) ?? [issue];
};

/** Issues of a schema in plain words, each under its dotted key. `prefix`: the path of the value. */
export const problemsOf = (
  issues: readonly Issue[],
  value: unknown,
  known: KnownKeys,
  prefix: readonly PropertyKey[] = [],
): readonly string[] =>
  issues.flatMap(unfold).flatMap((issue) => {
    const where = [...prefix, ...issue.path];
    return issue.code === 'unrecognized_keys'
      ? issue.keys.map((key) => problemAt([...where, key], unknownKey(key, known(issue.path))))
      : [problemAt(where, textOf(issue, at(value, issue.path)))];
  });
