import type { SourceView } from '../view/source-view.ts';
import { storeOf } from '../view/writable.ts';
import type { ChangeContext } from './change.ts';
import { quotaKeyOf } from './quota.ts';

/** Starts a sweep of the source's trash when one is due. Call it with every use of the trash. */
export const tendTrash = (
  { services, holdSources: hold }: ChangeContext,
  open: SourceView,
  arrived = 0,
): void => {
  const policy = open.source.settings.trash;
  if (policy === undefined) return;
  const { trash: keeper, quotas } = services;
  const onErased = (): void => void quotas.forget(quotaKeyOf(open.source));
  keeper.tend(storeOf(open), policy, { hold, onErased }, arrived);
};
