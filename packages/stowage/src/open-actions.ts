import { compileRules, type RuleBook, type RuleKeys } from './access/access.ts';
import { accessKeyOf, mayAllowAction } from './actions/action.ts';
import { trashPolicyOf } from './view/trashed.ts';
import type { Actions } from './actions/registry.ts';
import type { SettingRisk } from './config/risks/value-risks.ts';
import type { ConnectorConfig } from './config/types.ts';
import type { ConnectorHooks } from './hooks.ts';
import { SourcePath } from './storage/source-path.ts';

/** Actions, and the configured rules about them. */
export interface RuledActions {
  readonly config: ConnectorConfig;
  readonly actions: Actions;
  readonly ruleKeys: RuleKeys;
}

/** The actions that change something and that the configured rules allow to a role, at some item of a folder. */
const changesOf = (
  { config: { sources }, actions }: RuledActions,
  rules: RuleBook,
  role: string,
  folder = SourcePath.root,
): readonly string[] => {
  const access = rules.forRole(role);
  const hasTrash = sources.some((source) => trashPolicyOf(source.settings) !== undefined);
  return [...actions.values()]
    .filter(({ name }) => hasTrash || !accessKeyOf(name).startsWith('TRASH_'))
    .filter(({ name, changes }) => changes && mayAllowAction(access, actions, name, folder))
    .map(({ name }) => name);
};

const rulesOf = ({ config: { settings }, ruleKeys }: RuledActions): RuleBook =>
  compileRules(settings.accessControl, ruleKeys);

/** Whether requests can come without anything that says who sends them. */
const isAnonymous = ({ settings: { auth } }: ConnectorConfig, hooks: ConnectorHooks): boolean =>
  hooks.checkAuthentication === undefined &&
  hooks.accessControl === undefined &&
  (auth === undefined || auth.jwt?.optional === true);

/** What everybody may change without a login; undefined where a hook, a proxy or a token has to vouch. */
export const openActions = (ruled: RuledActions, hooks: ConnectorHooks): readonly string[] | undefined =>
  isAnonymous(ruled.config, hooks)
    ? changesOf(ruled, rulesOf(ruled), ruled.config.settings.defaultRole)
    : undefined;

/** What only those who write may do. A role that has neither is meant to read. */
const MEANT_TO_READ = ['fileUpload', 'fileRemove'];

/** More folders would delay the start. */
const MOST_FOLDERS = 20;

/** Rules that deny uploading and removing, and forget other ways to change files. */
export const halfDenied = (ruled: RuledActions): readonly SettingRisk[] => {
  const { accessControl, defaultRole } = ruled.config.settings;
  const rules = rulesOf(ruled);
  const named = (key: 'role' | 'path'): readonly string[] =>
    accessControl.flatMap(({ [key]: one }) => (one === undefined || one === '*' ? [] : [one]));
  const folders = [...new Set(['', ...named('path')])].slice(0, MOST_FOLDERS);
  return [...new Set([defaultRole, ...named('role')])].flatMap((role) => {
    for (const folder of folders) {
      const allowed = changesOf(ruled, rules, role, SourcePath.parse(folder));
      if (allowed.length === 0 || MEANT_TO_READ.some((name) => allowed.includes(name))) continue;
      const where = folder === '' ? '' : ` in "${folder}"`;
      return [
        {
          key: 'accessControl',
          text: `the role "${role}" may neither upload nor remove files${where}, and yet change them by: ${allowed.join(', ')}`,
          fix: 'Write "CHANGE": false for roles that only read.',
        },
      ];
    }
    return [];
  });
};
