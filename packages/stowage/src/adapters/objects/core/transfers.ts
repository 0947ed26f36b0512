import { AlreadyExistsError, ChangedMeanwhileError, StorageDeniedError } from '../../../errors/errors.ts';
import type { OperationOptions } from '../../../storage/adapter.ts';
import { originalMayStay } from '../../../storage/move-tree.ts';
import { firstKey } from './lookup.ts';
import { PART_BYTES, type Objects } from './objects.ts';

/**
 * To be called before a create-only copy: looks where the service does not decide by itself. Returns whether
 * it has looked. One wrong answer must not cost an object, so a listing is asked as well.
 * @throws AlreadyExistsError
 */
export const requireFree = async (
  objects: Pick<Objects, 'decides' | 'find' | 'pages'>,
  key: string,
  options: OperationOptions,
): Promise<boolean> => {
  if (objects.decides.copy) return false;
  const [found, first] = await Promise.all([objects.find(key, options), firstKey(objects, key, options)]);
  if (found !== undefined || first === key) throw new AlreadyExistsError();
  return true;
};

/** A move whose copy was made. */
export interface CopiedObject {
  /** The source with its version as reported before the copy. */
  readonly source: { readonly key: string; readonly size: number; readonly etag: string | undefined };
  readonly target: { readonly key: string; readonly etag: string | undefined };
  /** Nothing had the target's key before. */
  readonly created: boolean;
}

/**
 * @throws ChangedMeanwhileError when the source was replaced since: decided by the service where it can, else
 * looked at only after a copy in parts, which may have taken minutes
 */
const removeSource = async (objects: Objects, { key, size, etag }: CopiedObject['source']): Promise<void> => {
  if (!objects.decides.remove && size > PART_BYTES) {
    const now = await objects.find(key, {});
    if (now !== undefined && now.etag !== etag) throw new ChangedMeanwhileError();
  }
  await objects.remove(key, {}, objects.decides.remove ? etag : undefined);
};

/**
 * Removes the copy of a move that the service has refused, unless another client has replaced it: there is no
 * removing of one version at most services. Returns whether the copy is gone.
 */
const withdrawCopy = async (objects: Objects, { key, etag }: CopiedObject['target']): Promise<boolean> => {
  if (etag === undefined) return false;
  if ((await objects.find(key, {}))?.etag !== etag) return true;
  await objects.remove(key, {}, objects.decides.remove ? etag : undefined);
  return true;
};

/**
 * Ends a move by removing its source, without the caller's signal: the copy is there. When the removal is
 * refused for certain, nothing has moved: what the move has created is removed again.
 * @throws ChangedMeanwhileError (the source was replaced and stays), StorageDeniedError; MovedInPartError where
 *   the source may still be there beside its copy
 */
export const finishMove = async (
  objects: Objects,
  { source, target, created }: CopiedObject,
): Promise<void> => {
  try {
    await removeSource(objects, source);
  } catch (error) {
    // After "busy" an attempt that had no answer may still be carried out, when the copy is all there is.
    const isRefused = error instanceof StorageDeniedError || error instanceof ChangedMeanwhileError;
    if (!isRefused) throw originalMayStay(error);
    // An attempt whose answer was lost may have removed it.
    if ((await objects.find(source.key, {})) === undefined) return;
    const isAlone = !created || (await withdrawCopy(objects, target).catch(() => false));
    throw isAlone ? error : originalMayStay(error);
  }
};
