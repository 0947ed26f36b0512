import { baseurlProblem } from './baseurl.ts';
import type { PlainObject } from './plain-values.ts';
import { mustBe, problemAt } from './problems.ts';

/** Keys of a source that are no settings. Its title, baseurl and root are its own, not overrides. */
export const sourceFields = ['name', 'title', 'baseurl', 'root', 'storageAdapter'] as const;

/** The values under these keys, once checked. */
export type SourceFields = Readonly<Record<(typeof sourceFields)[number], string | undefined>>;

const requiredText = (value: unknown): string | undefined =>
  typeof value === 'string' ? undefined : mustBe('text', value);

const nonEmpty = (value: unknown): string | undefined =>
  requiredText(value) ?? (value === '' ? 'must not be empty' : undefined);

const optional =
  (check: (value: unknown) => string | undefined) =>
  (value: unknown): string | undefined =>
    value === undefined ? undefined : check(value);

/** What is wrong with a directory of this machine. */
export const directoryProblem = (value: unknown): string | undefined =>
  nonEmpty(value) ?? (String(value).includes('\0') ? 'must not hold a NUL character' : undefined);

const url = (value: unknown): string | undefined => requiredText(value) ?? baseurlProblem(String(value));

const CHECKS: Readonly<Record<keyof SourceFields, (value: unknown) => string | undefined>> = {
  name: optional(nonEmpty),
  title: requiredText,
  baseurl: url,
  root: optional(requiredText),
  storageAdapter: optional(nonEmpty),
};

/** What is wrong with a source's own keys, each under its dotted key. `where` is the place of the source. */
export const fieldProblems = (where: readonly string[], own: PlainObject): readonly string[] =>
  sourceFields.flatMap((name) => {
    const problem =
      where.at(-1) === '' && name === 'name' && own[name] === undefined
        ? 'is required where the key is empty'
        : CHECKS[name](own[name]);
    return problem === undefined ? [] : [problemAt([...where, name], problem)];
  });
