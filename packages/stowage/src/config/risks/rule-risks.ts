import { join } from 'node:path';
import { SourcePath } from '../../storage/source-path.ts';
import { type AccessRule, extensionsOf } from '../access-rules.ts';
import type { SourceConfig } from '../types.ts';
import { isThere } from './source-risks.ts';
import { isTransposed, riskIf, type SettingRisk } from './value-risks.ts';

export interface RuleSurroundings {
  /** All possible roles of requests; undefined where a hook or a token decides. */
  readonly roles: readonly string[] | undefined;
  /** All keys of actions, each with its group key. */
  readonly ruleKeys: ReadonlyMap<string, { readonly group?: string | undefined }>;
}

/** A parsed rule: every rule is compared with every other. */
interface ReadRule {
  readonly role: string | undefined;
  readonly folder: readonly string[];
  /** Undefined: every file. */
  readonly extensions: ReadonlySet<string> | undefined;
  /** Whether it allows each action. */
  readonly effects: ReadonlyMap<string, boolean>;
}

const segmentsOf = (path: string | undefined): readonly string[] =>
  path === undefined || path === '*' ? [] : SourcePath.parse(path).segments;

const readRule = (rule: AccessRule, ruleKeys: RuleSurroundings['ruleKeys']): ReadRule => {
  const { role, path, extensions: _, ...keys } = rule;
  const effects = new Map(Object.entries(keys as Readonly<Record<string, boolean>>));
  for (const [key, { group }] of ruleKeys) {
    const ofGroup = group === undefined ? undefined : effects.get(group);
    if (ofGroup !== undefined && !effects.has(key)) effects.set(key, ofGroup);
  }
  return {
    role: role === '*' ? undefined : role,
    folder: segmentsOf(path),
    extensions: extensionsOf(rule),
    effects,
  };
};

const covers = (wide: ReadRule, narrow: ReadRule): boolean =>
  (wide.role === undefined || wide.role === narrow.role) &&
  wide.folder.every((segment, index) => narrow.folder[index] === segment) &&
  (wide.extensions === undefined ||
    (narrow.extensions !== undefined && [...narrow.extensions].every((one) => wide.extensions?.has(one))));

const GROUPS: ReadonlySet<string> = new Set(['CHANGE', 'READ']);

/** Whether the later rule overrides this one everywhere it applies, and with the opposite effect. */
const isOverruledBy = (rule: ReadRule, later: ReadRule): boolean => {
  if (!covers(later, rule)) return false;
  // A later rule may name every action of a group instead of the group.
  const keys = [...rule.effects.keys()].filter((key) => !GROUPS.has(key) || later.effects.has(key));
  return (
    keys.length > 0 &&
    keys.every((key) => later.effects.has(key)) &&
    keys.some((key) => later.effects.get(key) !== rule.effects.get(key))
  );
};

const roleProblem = (role: string, others: readonly string[], roles: RuleSurroundings['roles']) => {
  if (/[,;|]/u.test(role) || role !== role.trim())
    return {
      text: `is ${JSON.stringify(role)}, and a rule is about one role`,
      fix: 'Write a rule for each role, without spaces around it.',
    };
  const alike = others.find(
    (other) => other !== role && (other.toLowerCase() === role.toLowerCase() || isTransposed(other, role)),
  );
  if (alike !== undefined)
    return { text: `is "${role}", and another rule says "${alike}"`, fix: 'Write both in the same way.' };
  if (roles === undefined || roles.includes(role)) return undefined;
  return {
    text: `is "${role}", which no request has: without another login the roles are ${roles.join(', ')}`,
    fix: 'Set auth or a checkAuthentication hook that gives this role, or correct it.',
  };
};

const namesOf = ({ key, name, storageAdapter, root }: SourceConfig): readonly (readonly string[])[] => [
  ...[key, name, `${key}:`].map((one) => [one]),
  ['file', key],
  storageAdapter === 'local' ? (root ?? '').split(/[\\/]/u).filter((segment) => segment !== '') : [],
];

/** The source whose name a rule's path seems to begin with. The path is correct if a folder has that name. */
const sourceIn = async (folder: readonly string[], sources: readonly SourceConfig[]) => {
  const found = sources
    .flatMap(namesOf)
    .find((name) => name.length > 0 && name.every((segment, index) => segment === folder[index]));
  if (found === undefined) return undefined;
  for (const { storageAdapter, root = '' } of sources)
    if (storageAdapter === 'local' && (await isThere(join(root, folder[0] ?? '')))) return undefined;
  return found;
};

const risksOf = (rules: readonly ReadRule[], rule: ReadRule, index: number, { roles }: RuleSurroundings) => {
  const at = `accessControl.${String(index)}`;
  const earlier = rules.slice(0, index).flatMap((other) => other.role ?? []);
  const problem = rule.role === undefined ? undefined : roleProblem(rule.role, earlier, roles);
  const later = rules.findIndex((other, number) => number > index && isOverruledBy(rule, other));
  return [
    ...riskIf(
      rule.effects.size === 0,
      at,
      'names no action, and so decides nothing',
      'Write what it allows or denies: "FILE_REMOVE": false.',
    ),
    ...(problem === undefined ? [] : [{ key: `${at}.role`, ...problem }]),
    ...riskIf(
      later !== -1,
      at,
      `never decides: accessControl.${String(later)} says otherwise wherever it applies, and the last rule decides`,
      'Put general rules first, and exceptions after them.',
    ),
  ];
};

/** Maximum number of rules that are compared; more would delay the start. */
const MOST_RULES = 500;

/** Warnings about rules that never match, or never decide. */
export const ruleRisks = (
  written: readonly AccessRule[],
  surroundings: RuleSurroundings,
): readonly SettingRisk[] => {
  if (written.length > MOST_RULES) return [];
  const rules = written.map((rule) => readRule(rule, surroundings.ruleKeys));
  return rules.flatMap((rule, index) => risksOf(rules, rule, index, surroundings));
};

/** Paths of rules that seem to begin with a source. */
export const pathRisks = async (
  rules: readonly AccessRule[],
  sources: readonly SourceConfig[],
): Promise<readonly SettingRisk[]> => {
  const risks: SettingRisk[] = [];
  for (const [index, { path }] of rules.slice(0, MOST_RULES).entries()) {
    const folder = segmentsOf(path);
    const source = await sourceIn(folder, sources);
    if (source !== undefined)
      risks.push({
        key: `accessControl.${String(index)}.path`,
        text: `begins with a source, "${source.join('/')}", and paths of rules begin below the root of a source`,
        fix: `Write "/${folder.slice(source.length).join('/')}", unless the source has a folder "${source[0] ?? ''}".`,
      });
  }
  return risks;
};
