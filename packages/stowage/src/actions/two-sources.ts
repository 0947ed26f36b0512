import { IntoItselfError } from '../errors/errors.ts';
import * as z from 'zod';
import { itemPathField, pathField, sourceField } from '../parameters/fields.ts';
import type { EntryKind } from '../storage/entry.ts';
import { containsLocation } from '../storage/location.ts';
import type { SourcePath } from '../storage/source-path.ts';
import type { ActionContext } from './action.ts';
import { requireOneOrSeveral, severalOf } from './many.ts';
import { openSource, type OpenSource } from '../view/open-source.ts';

/** `source` is where things go; `fromSource`, where they come from, is the same when absent. */
const twoSourcesShape = {
  source: sourceField,
  fromSource: sourceField.describe('The source that `from` lies in; `source` when absent.'),
};

/** What a copy or move of one item, or of several, takes. */
export const transferParameters = z
  .object({
    ...twoSourcesShape,
    path: pathField,
    from: itemPathField.optional(),
    froms: severalOf(itemPathField).describe('Several files or folders, in place of `from`.'),
  })
  .superRefine(requireOneOrSeveral('from', 'froms'));

/** The sources of a copy or move. */
export interface SourcePair {
  readonly from: OpenSource;
  readonly to: OpenSource;
  readonly isSame: boolean;
}

/** @throws StowageError UNKNOWN_SOURCE; UnsupportedError when a store's optional package is missing */
export const openSourcePair = async (
  context: ActionContext,
  names: { readonly source: string | undefined; readonly fromSource: string | undefined },
): Promise<SourcePair> => {
  const to = await openSource(context, names.source);
  if (names.fromSource === undefined) return { from: to, to, isSame: true };
  const from = await openSource(context, names.fromSource);
  return { from, to, isSame: from.source === to.source };
};

/**
 * Refuses to put a folder into itself: also under another spelling where the store ignores letter case, and
 * through another source that shows the same entries.
 * @throws IntoItselfError
 */
export const requireOutside = (
  { from, to }: SourcePair,
  kind: EntryKind,
  item: SourcePath,
  targetFolder: SourcePath,
): void => {
  if (kind === 'file') return;
  const isInside = containsLocation(
    { storage: from.storage, path: item },
    { storage: to.storage, path: targetFolder },
  );
  if (isInside) throw new IntoItselfError();
};
