import { compileRules } from '../access/access.ts';
import { accessKeyOf, neededKeys } from '../actions/action.ts';
import type { CheckedConfiguration } from '../checked-configuration.ts';
import { extensionOf } from '../basics/content/file-type.ts';
import { parsePath, UsageError } from './arguments.ts';

/** The question of the command: may this role perform this action on this file or folder? */
export interface Question {
  readonly role: string;
  /** The name of an action (`fileRemove`) or its access key (`FILE_REMOVE`). */
  readonly action: string;
  /** A file, or a folder when it ends with a slash. */
  readonly path: string;
}

/**
 * Explains whether the configured rules allow an action, with all its keys, and which rule decides.
 * @throws UsageError for an unknown action and a path outside the source
 */
export const explain = (
  { role, action, path: text }: Question,
  { config, actions, ruleKeys }: CheckedConfiguration,
): string => {
  const key = /[a-z]/u.test(action) ? accessKeyOf(action) : action;
  // Rules may use CHANGE and READ, which stand for many actions.
  if (ruleKeys.get(key)?.group === undefined && key !== 'PERMISSIONS')
    throw new UsageError(`Unknown action: ${action}`);
  const path = parsePath('path', text);
  const isFolder = key.startsWith('FOLDER') || text.endsWith('/');
  const access = compileRules(config.settings.accessControl, ruleKeys).forRole(role);
  const declared = [...actions.values()].find(({ name }) => accessKeyOf(name) === key);
  const keys = declared === undefined ? [key] : neededKeys(declared, isFolder ? 'folder' : 'file');
  const decisions = keys.map((one) =>
    access.explain(one, path, isFolder ? undefined : extensionOf(path.name)),
  );
  const [first] = decisions;
  const { allowed, reason } = decisions.find((one) => !one.allowed) ?? first ?? access.explain(key, path);
  return `${allowed ? 'Allowed' : 'Denied'}. ${reason}`;
};
