import { AlreadyExistsError, WrongKindError } from '../../../errors/errors.ts';
import type { OperationOptions, PutOptions, Stat, WriteOptions } from '../../../storage/adapter.ts';
import type { SourcePath } from '../../../storage/source-path.ts';
import { newTempName } from '../core/temporary-names.ts';
import { ROOT, type Found, type Names, type PathSession } from './session.ts';
import type { PathStore } from './store.ts';

/** @throws AlreadyExistsError, WrongKindError when what lies at a target is in the way */
const requireFree = (found: Found | undefined, isNew: boolean): void => {
  if (found === undefined) return;
  if (isNew) throw new AlreadyExistsError();
  if (found.kind !== 'file') throw new WrongKindError();
};

/**
 * Has `fill` make a hidden file beside its target, and gives it the target's name when it is whole. What lies
 * there after a failure is removed.
 */
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
    await store.lock(to, { signal }, () =>
      store.run({ signal }, async (session) => {
        const names = { from: temp, to };
        const found = await store.find(session, to);
        requireFree(found, createOnly);
        await (createOnly ? store.giveNewName(session, names) : store.moveOver(session, names));
      }),
    );
    return { ...stored, name: to.name, kind: 'file' };
  } catch (error) {
    await store.leftovers.remove({ path: temp, kind: 'file' });
    throw error;
  }
};

/** Stores content. */
export const writeFile = <Session extends PathSession>(
  store: PathStore<Session>,
  path: SourcePath,
  chunks: AsyncIterable<Uint8Array>,
  options: WriteOptions,
): Promise<Stat> =>
  putFile(store, path, options, (session, temp) =>
    store.writeNew(session, temp, chunks, options.derived === true),
  );

/** Whether there is anything to do. */
const isOtherPath = ({ from, to }: Names, isNew: boolean): boolean => {
  if (!from.equals(to)) return true;
  if (isNew) throw new AlreadyExistsError();
  return false;
};

const requireFile = async <Session extends PathSession>(
  store: PathStore<Session>,
  session: Session,
  { from, to }: Names,
  isNew: boolean,
): Promise<void> => {
  if ((await store.stat(session, from)).kind === 'folder') throw new WrongKindError();
  if (to.isRoot) requireFree(ROOT, isNew);
};

/** Whether there is anything to copy. @throws NotFoundError, WrongKindError, AlreadyExistsError */
export const isToCopy = async <Session extends PathSession>(
  store: PathStore<Session>,
  names: Names,
  options: PutOptions,
): Promise<boolean> => {
  const isNew = options.createOnly === true;
  await store.run(options, (session) => requireFile(store, session, names, isNew));
  return isOtherPath(names, isNew);
};

/** @see StorageAdapter.moveFile */
export const moveFile = (store: PathStore<PathSession>, names: Names, options: PutOptions): Promise<void> => {
  const isNew = options.createOnly === true;
  return store.lock([names.from, names.to], options, () =>
    store.run(options, async (session) => {
      await requireFile(store, session, names, isNew);
      if (!isOtherPath(names, isNew)) return;
      requireFree(await store.find(session, names.to), isNew);
      await store.ensureFolder(session, names.to.parent);
      if (isNew) await store.moveToNewName(session, names, 'file');
      else await store.moveOver(session, names);
      store.spellings.forget(names.from);
    }),
  );
};

/** @throws AlreadyExistsError when anything has the target's name */
export const moveFolder = (
  store: PathStore<PathSession>,
  names: Names,
  options: OperationOptions,
): Promise<void> =>
  store.lock([names.from, names.to], options, () =>
    store.run(options, async (session) => {
      if ((await store.stat(session, names.from)).kind === 'file') throw new WrongKindError();
      if (names.to.isRoot || (await store.find(session, names.to)) !== undefined)
        throw new AlreadyExistsError();
      await store.ensureFolder(session, names.to.parent);
      await store.moveToNewName(session, names, 'folder');
      store.spellings.forget(names.from);
    }),
  );
