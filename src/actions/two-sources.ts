import { sourceField } from '../parameters/fields.ts';
import type { ActionContext } from './action.ts';
import { openSource, type OpenSource } from './open-source.ts';

/** `source` is where things go; `fromSource`, where they come from, is the same when absent. */
export const twoSourcesShape = {
  source: sourceField,
  fromSource: sourceField.describe('The source that `from` lies in; `source` when absent.'),
};

/** Both ends of a copy or move. */
export interface Ends {
  readonly from: OpenSource;
  readonly to: OpenSource;
  readonly isSame: boolean;
}

/** @throws StowageError UNKNOWN_SOURCE; UnsupportedError when a store's optional package is missing */
export const openEnds = async (
  context: ActionContext,
  names: { readonly source: string | undefined; readonly fromSource: string | undefined },
): Promise<Ends> => {
  const to = await openSource(context, names.source);
  if (names.fromSource === undefined) return { from: to, to, isSame: true };
  const from = await openSource(context, names.fromSource);
  return { from, to, isSame: from.source === to.source };
};
