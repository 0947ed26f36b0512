import type { RuleKeys, StandIns } from '../access/access.ts';
import { accessKeyOf } from './action.ts';
import { reportedActions } from './permissions.ts';
import type { Actions } from './registry.ts';

/** Asking what is allowed is denied by its own key alone. */
const WITHOUT_GROUP = 'PERMISSIONS';

/**
 * The keys that access rules can name: one for each action, from its declaration, so that a rule about all that
 * changes covers every action that ever changes something.
 */
export const ruleKeysOf = (actions: Actions): RuleKeys => {
  const names = new Set([...reportedActions, ...actions.keys()]);
  const keys = [...names].map((name): [string, StandIns] => {
    const key = accessKeyOf(name);
    const { changes = false, follows } = actions.get(name) ?? {};
    return [key, { group: key === WITHOUT_GROUP ? undefined : changes ? 'CHANGE' : 'READ', follows }];
  });
  return new Map<string, StandIns>([['CHANGE', {}], ['READ', {}], ...keys]);
};
