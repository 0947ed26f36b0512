import type { SourceView } from '../view/source-view.ts';
import { storeOf } from '../view/writable.ts';
import type { ChangeContext } from './change.ts';
import { quotaKeyOf } from './quota.ts';

/** Has the trash of a source swept where that is due: to be called with every use of it. */
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
