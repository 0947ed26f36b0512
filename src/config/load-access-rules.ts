import { z } from 'zod';
import { ConfigError } from '../errors/errors.ts';
import { freezeDeep, isPlainObject, withoutNulls } from './plain-values.ts';
import { problemAt, problemsOf, unknownKey } from './problems.ts';
import { accessRuleKeys, accessRuleSchema, type AccessRule } from './access-rule.ts';

const rulesSchema = z.array(accessRuleSchema);
const ACTION_KEY = /^[A-Z][A-Z0-9]*(?:_[A-Z0-9]+)*$/u;

const actionKeyFrom = (key: string): string =>
  key.replaceAll(/(?<=[a-z0-9])(?=[A-Z])|-/gu, '_').toUpperCase();

const keyProblem = (key: string): string => {
  const text = unknownKey(key, accessRuleKeys);
  return text.includes('did you mean') || !ACTION_KEY.test(actionKeyFrom(key))
    ? text
    : `${text}; keys of actions are written like "${actionKeyFrom(key)}"`;
};

/** Whether an access rule may have the key: `role`, `path`, `extensions`, or one of the form of an action's. */
export const isRuleKey = (key: string): boolean => accessRuleKeys.includes(key) || ACTION_KEY.test(key);

/**
 * Faults of a list of access rules beyond their schema: keys that are neither `role`, `path` or `extensions` nor of the form of an
 * action's key. A misspelt rule must stop the start, because it would deny nothing.
 */
export const ruleKeyProblems = (rules: unknown, prefix: readonly PropertyKey[]): readonly string[] =>
  (Array.isArray(rules) ? rules : []).flatMap((rule: unknown, index) =>
    Object.keys(isPlainObject(rule) ? rule : {})
      .filter((key) => !isRuleKey(key))
      .map((key) => problemAt([...prefix, index, key], keyProblem(key))),
  );

/** Whether a path of an issue points to a key that `ruleKeyProblems` reports, so that it is not reported twice. */
export const isUnknownRuleKey = (key: PropertyKey | undefined): boolean =>
  typeof key === 'string' && !isRuleKey(key);

/**
 * Rules that a host computed in code, checked as those of the configuration are.
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
  ];
  if (problems.length > 0 || parsed.data === undefined) throw new ConfigError(problems);
  return freezeDeep(parsed.data);
};
