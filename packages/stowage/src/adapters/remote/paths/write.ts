import * as errors from '../../../errors/errors.ts';
import type { PutOptions, Stat, WriteOptions } from '../../../storage/adapter.ts';
import type { SourcePath } from '../../../storage/source-path.ts';
import { newTempName } from '../core/temporary.ts';
import { ROOT, type Found, type Names, type PathSession } from './session.ts';
import type { PathStore } from './store.ts';

/** @throws AlreadyExistsError, WrongKindError when the entry at a target is in the way */
export const requireFree = (found: Found | undefined, isNew: boolean): void => {
  if (found === undefined) return;
  if (isNew) throw new errors.AlreadyExistsError();
  if (found.kind !== 'file') throw new errors.WrongKindError();
};

/** Rejects what these servers cannot store: a condition, and content for the root. */
export const requireWritable = (
  path: SourcePath,
  { ifMatch, createOnly = false }: Pick<WriteOptions, 'ifMatch' | 'createOnly'>,
): void => {
  if (ifMatch !== undefined) throw new errors.UnsupportedError({ detail: 'ifMatch on writes' });
  if (path.isRoot) requireFree(ROOT, createOnly);
};

/** Verifies what the server has stored of `size` bytes. @throws NotFoundError, CorruptError */
export const requireStored = (found: Found | undefined, size: number): Found => {
  if (found === undefined) throw new errors.NotFoundError({ detail: 'the upload is gone' });
  if (found.size !== undefined && found.size !== size)
    throw new errors.CorruptError({ detail: `stored ${found.size} of ${size} bytes` });
  return { ...found, size };
};

/** Whether a file differs from its target. @throws NotFoundError, WrongKindError, AlreadyExistsError */
export const isElsewhere = async (
  store: PathStore<PathSession>,
  session: PathSession,
  { from, to }: Names,
  { createOnly = false }: PutOptions,
): Promise<boolean> => {
  if ((await store.stat(session, from)).kind === 'folder') throw new errors.WrongKindError();
  if (to.isRoot) requireFree(ROOT, createOnly);
  if (from.equals(to) && createOnly) throw new errors.AlreadyExistsError();
  return !from.equals(to);
};

/** Fills a hidden file beside the target, and renames it when complete. Removes it after a failure. */
export const putFile = async <Session extends PathSession>(
  store: PathStore<Session>,
  to: SourcePath,
  { createOnly = false, signal }: PutOptions,
  fill: (session: Session, temp: SourcePath) => Promise<Found>,
): Promise<Stat> => {
  const temp = to.parent.below(newTempName());
  try {
    const stored = await store.run({ signal }, async (session) => {
      requireFree(await store.find(session, to), createOnly);
      await store.ensureFolder(session, to.parent);
      const found = await fill(session, temp);
      await store.learnCase(session, temp, { signal });
      return found;
    });
    await store.change(to, { signal }, async (session) => {
      const names = { from: temp, to };
      requireFree(await store.find(session, to), createOnly);
      await (createOnly ? store.giveNewName(session, names) : store.moveOver(session, names));
    });
    return { ...stored, name: to.name, kind: 'file' };
  } catch (error) {
    await store.leftovers.remove({ path: temp, kind: 'file' });
    throw error;
  }
};
