import { SourcePath } from '../../storage/source-path.ts';
import type { AccessRule } from '../settings.ts';
import type { SettingRisk } from './risk.ts';

/** What rules are compared with. */
export interface RuleSurroundings {
  /** Names and keys of the sources. */
  readonly sources: readonly string[];
  /** All roles that requests can have; undefined where a hook or a token decides. */
  readonly roles: readonly string[] | undefined;
}

const CONDITIONS = ['role', 'path', 'extensions'];

const actionKeysOf = (rule: AccessRule): readonly string[] =>
  Object.keys(rule).filter((key) => !CONDITIONS.includes(key));

const folderOf = ({ path }: AccessRule): SourcePath =>
  path === undefined || path === '*' ? SourcePath.root : SourcePath.parse(path);

const extensionsOf = ({ extensions }: AccessRule): readonly string[] | undefined => {
  const all = [extensions ?? []]
    .flat()
    .flatMap((text) => text.split(/[\s,]+/u))
    .filter((text) => text !== '')
    .map((text) => text.replace(/^\./u, '').toLowerCase());
  return all.length === 0 || all.includes('*') ? undefined : all;
};

/** Whether a rule applies wherever the other one does. */
const covers = (wide: AccessRule, narrow: AccessRule): boolean => {
  const [folder, inner] = [folderOf(wide).segments, folderOf(narrow).segments];
  const extensions = extensionsOf(wide);
  return (
    (wide.role === undefined || wide.role === '*' || wide.role === narrow.role) &&
    folder.every((segment, index) => inner[index] === segment) &&
    (extensions === undefined || (extensionsOf(narrow)?.every((one) => extensions.includes(one)) ?? false))
  );
};

/** The later rule that decides in place of this one, wherever this one applies, and the other way. */
const overruledBy = (rule: AccessRule, later: readonly AccessRule[]): number =>
  later.findIndex((other) => {
    const keys = actionKeysOf(rule);
    return (
      keys.length > 0 &&
      keys.every((key) => Object.hasOwn(other, key)) &&
      keys.some((key) => other[key as 'FILES'] !== rule[key as 'FILES']) &&
      covers(other, rule)
    );
  });

const lettersOf = (text: string): string => [...text.toLowerCase()].sort().join('');

const roleProblem = (
  role: string,
  others: readonly string[],
  roles: RuleSurroundings['roles'],
): readonly [text: string, fix: string] | undefined => {
  if (/[,;|]/u.test(role) || role !== role.trim())
    return [
      `is ${JSON.stringify(role)}, and a rule is about one role`,
      'Write a rule for each role, without spaces around it.',
    ];
  const alike = others.find((other) => other !== role && lettersOf(other) === lettersOf(role));
  if (alike !== undefined)
    return [`is "${role}", and another rule says "${alike}"`, 'Write both in the same way.'];
  if (roles === undefined || roles.includes(role)) return undefined;
  return [
    `is "${role}", which no request has: without another login the roles are ${roles.join(', ')}`,
    'Set auth or a checkAuthentication hook that gives this role, or correct it.',
  ];
};

const risksOf = (
  rule: AccessRule,
  index: number,
  rules: readonly AccessRule[],
  { sources, roles }: RuleSurroundings,
): readonly SettingRisk[] => {
  const at = `accessControl.${String(index)}`;
  const risks: SettingRisk[] = [];
  const add = (key: string, text: string, fix: string): void => void risks.push({ key, text, fix });
  if (actionKeysOf(rule).length === 0)
    add(
      at,
      'names no action, and so decides nothing',
      'Write what it allows or denies: "FILE_REMOVE": false.',
    );
  if (rule.role !== undefined && rule.role !== '*') {
    const others = rules.flatMap(({ role }) => (role === undefined ? [] : [role]));
    const problem = roleProblem(rule.role, others, roles);
    if (problem !== undefined) add(`${at}.role`, ...problem);
  }
  const [first = '', ...rest] = folderOf(rule).segments;
  if (sources.includes(first))
    add(
      `${at}.path`,
      `begins with the name of the source "${first}", and paths of rules begin below the root of a source`,
      `Write "/${rest.join('/')}", unless the source has a folder "${first}".`,
    );
  const later = overruledBy(rule, rules.slice(index + 1));
  if (later !== -1)
    add(
      at,
      `never decides: accessControl.${String(index + 1 + later)} says otherwise wherever it applies, and the last rule decides`,
      'Put general rules first, and exceptions after them.',
    );
  return risks;
};

/** So many rules are compared with each other: beyond that the start would take long. */
const MOST_RULES = 500;

/** Rules that can never match, or never decide. */
export const ruleRisks = (
  rules: readonly AccessRule[],
  surroundings: RuleSurroundings,
): readonly SettingRisk[] =>
  rules.length > MOST_RULES ? [] : rules.flatMap((rule, index) => risksOf(rule, index, rules, surroundings));
