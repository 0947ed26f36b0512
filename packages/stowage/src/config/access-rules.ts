import * as z from 'zod';
import { ConfigError, orUndefined } from '../errors/errors.ts';
import { SourcePath } from '../storage/source-path.ts';
import { freezeDeep, isPlainObject, withoutNulls } from './values.ts';
import { hintAt, problemAt, problemsOf } from './problems.ts';

const isSourcePath = (text: string): boolean => orUndefined(() => SourcePath.parse(text)) !== undefined;

/**
 * An access rule: applies to a role, a folder and extensions, and allows or denies actions by their
 * CONSTANT_CASE keys. `loadAccessRules` checks rules, keys included.
 */
export interface AccessRule {
  /** Absent or `*`: every role. */
  readonly role?: string | undefined;
  /** A folder inside the source; the rule covers it and everything below. Absent or `*`: everything. */
  readonly path?: string | undefined;
  /** A list, or a text split on commas and spaces; `*` or absent: every file. */
  readonly extensions?: string | readonly string[] | undefined;
  /**
   * `FILE_REMOVE: false` denies the action, `true` allows it. `CHANGE` stands for all actions that change
   * something, including those of later versions, and `READ` for the others; a specific key in the same or a
   * later rule takes precedence.
   */
  readonly [action: Uppercase<string>]: boolean;
}

/**
 * Rules that deny every change to every role, including actions of later versions. To allow changes, append
 * rules: `[...readOnly, { role: 'editor', CHANGE: true }]`.
 */
export const readOnly: readonly AccessRule[] = freezeDeep([{ CHANGE: false }]);

const ruleShape = z
  .object({
    role: z
      .string()
      // No request has it: a rule that denies would deny nothing.
      .refine((text) => text.trim() !== '', 'must be a role')
      .optional(),
    path: z
      .string()
      .refine(isSourcePath, 'must be a folder inside the source')
      // A pattern would be taken for a name, and deny nothing.
      .refine((text) => text === '*' || !text.includes('*'), 'must be a folder, without wildcards')
      .optional(),
    extensions: z
      .union([z.string(), z.array(z.string())])
      // A pattern would be taken for an extension, and match no file.
      .refine(
        (texts) => [texts].flat().every((text) => text === '*' || !/[*?;|/]/u.test(text)),
        'must be extensions such as "pdf", without wildcards, and several between commas or in a list',
      )
      .optional(),
  })
  .catchall(z.boolean());

/** The extensions of a rule, in lower case and without dots; undefined: every file. */
export const extensionsOf = ({ extensions = [] }: AccessRule): ReadonlySet<string> | undefined => {
  const texts = [extensions].flat().flatMap((text) => text.split(/[\s,]+/u).filter((one) => one !== ''));
  if (texts.length === 0 || texts.includes('*')) return undefined;
  return new Set(texts.map((text) => text.replace(/^\./u, '').toLowerCase()));
};

const accessRuleKeys: readonly string[] = Object.keys(ruleShape.shape);

// The inferred type cannot separate the catch-all from the named keys; the interface above can.
export const accessRuleSchema = ruleShape as unknown as z.ZodType<AccessRule, AccessRule>;

const rulesSchema = z.array(accessRuleSchema);
const ACTION_KEY = /^[A-Z][A-Z0-9]*(?:_[A-Z0-9]+)*$/u;

/** The key for the name of an action, or of its permission (`allowFileRemove`). */
const actionKeyFrom = (key: string): string =>
  key
    .replace(/^allow(?=[A-Z])/u, '')
    .replaceAll(/(?<=[a-z0-9])(?=[A-Z])|-/gu, '_')
    .toUpperCase();

const keyProblem = (key: string): string => {
  const near = hintAt(key, accessRuleKeys);
  const isAction = near === '' && ACTION_KEY.test(actionKeyFrom(key));
  const hint = isAction ? `; keys of actions are written like "${actionKeyFrom(key)}"` : near;
  return `is not a known key${hint}`;
};

/** Whether the key is valid in an access rule: `role`, `path`, `extensions`, or that of an action. */
export const isRuleKey = (key: string): boolean => accessRuleKeys.includes(key) || ACTION_KEY.test(key);

/** Problems of the keys of access rules, one at most for each key. */
const keyProblems = (
  rules: unknown,
  prefix: readonly PropertyKey[],
  problemOf: (key: string, value: unknown) => string | undefined,
): readonly string[] =>
  (Array.isArray(rules) ? rules : []).flatMap((rule: unknown, index) =>
    Object.entries(isPlainObject(rule) ? rule : {}).flatMap(([key, value]) => {
      const problem = problemOf(key, value);
      return problem === undefined ? [] : [problemAt([...prefix, index, key], problem)];
    }),
  );

/**
 * Problems of access rules that the schema does not report: keys other than `role`, `path` or `extensions`
 * that do not have the form of an action's key. A misspelt rule must prevent the start, because it would deny
 * nothing.
 */
export const ruleKeyProblems = (rules: unknown, prefix: readonly PropertyKey[]): readonly string[] =>
  keyProblems(rules, prefix, (key) => (isRuleKey(key) ? undefined : keyProblem(key)));

/** Whether `ruleKeyProblems` reports this key of an issue's path, so that it is not reported twice. */
export const isUnknownRuleKey = (key: PropertyKey | undefined): boolean =>
  typeof key === 'string' && !isRuleKey(key);

/**
 * The problem of a key without a value: the rule would allow instead of deny, or apply everywhere instead of
 * in one folder. In code this is a forgotten or misspelt value.
 */
const valuelessProblem = (key: string, value: unknown): string | undefined => {
  // Databases use null for absent values.
  if (value !== undefined && !(value === null && ACTION_KEY.test(key))) return undefined;
  if (ACTION_KEY.test(key)) return `must be true or false, not ${String(value)}`;
  return 'must be a text, or left out where the rule is for all, not undefined';
};

/** Warnings about keys without an action: they have no effect. */
export const unknownKeyWarnings = (
  rules: readonly AccessRule[],
  actionKeys: Iterable<string>,
): readonly string[] => {
  const known = [...accessRuleKeys, ...actionKeys];
  const keys = new Set(rules.flatMap((rule) => Object.keys(rule)));
  for (const key of known) keys.delete(key);
  return [...keys].map((key) => `accessControl: no action has the key ${key}${hintAt(key, known) || '.'}`);
};

/**
 * Rules from a hook, validated like those of the configuration. Null and undefined are not valid for keys of
 * actions, and undefined is not valid for any key.
 * @throws ConfigError with every problem.
 */
export const loadAccessRules = (input: unknown): readonly AccessRule[] => {
  const prefix = ['accessControl'];
  const value = withoutNulls(input, (path, key) => path.length !== 1 || isRuleKey(key));
  const parsed = rulesSchema.safeParse(value);
  const issues = parsed.error?.issues.filter(({ path }) => !isUnknownRuleKey(path[1])) ?? [];
  const problems = [
    ...problemsOf(issues, value, () => accessRuleKeys, prefix),
    ...ruleKeyProblems(value, prefix),
    ...keyProblems(input, prefix, valuelessProblem),
  ];
  if (problems.length > 0 || parsed.data === undefined) throw new ConfigError(problems);
  return freezeDeep(parsed.data);
};
