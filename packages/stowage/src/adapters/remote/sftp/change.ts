import { AlreadyExistsError, UnsupportedError, WrongKindError } from '../../../errors/errors.ts';
import type { Names } from '../paths/session.ts';
import type { EntryKind } from '../../../storage/adapter.ts';
import type { SourcePath } from '../../../storage/source-path.ts';
import { isPlainRefusal, statusOf } from './errors.ts';
import type { PathStore } from '../paths/store.ts';
import type { Session } from './session.ts';

/** A store, with what it learns of its server. */
interface SftpStore extends PathStore<Session> {
  decidesNames: boolean;
  /** Files can be replaced in one step. */
  canReplace: boolean;
  /** Links are seen to be made, or, where a server says so and makes none, not to be. Undefined: neither yet. */
  makesLinks: boolean | undefined;
}

/** In one step, over a file or an empty folder of that name. @throws UnsupportedError */
const replaceBy = (session: Session, { from, to }: Names): Promise<void> =>
  session.change('posix-rename', from, (sftp, answered, whole) =>
    sftp.ext_openssh_rename(whole, session.pathOf(to), answered),
  );

/** @throws AlreadyExistsError where a refusal means it, else `error` */
const throwConflict = async (session: Session, to: SourcePath, error: unknown): Promise<never> => {
  if (isPlainRefusal(error) && (await session.look(to)) !== undefined)
    throw new AlreadyExistsError({ cause: error });
  throw error;
};

/**
 * Gives content its name by a link, which the server makes only where nothing has that name, and removes the
 * temporary one. Only the whole content is ever seen. @throws AlreadyExistsError
 */
export const giveNewName = async (store: SftpStore, session: Session, names: Names): Promise<void> => {
  const { from, to } = names;
  if (store.makesLinks === false) return moveToNewName(store, session, names, 'file');
  try {
    await session.change<void>('hardlink', from, (sftp, answered, whole) =>
      sftp.ext_openssh_hardlink(whole, session.pathOf(to), answered),
    );
  } catch (error) {
    const isUnknown = error instanceof UnsupportedError;
    if (!isUnknown && !isPlainRefusal(error)) throw error;
    if (!isUnknown && (await session.look(to)) !== undefined) {
      store.decidesNames = true;
      throw new AlreadyExistsError({ cause: error });
    }
    // Or a file system without links.
    return moveToNewName(store, session, names, 'file');
  }
  // Before the only copy goes.
  store.makesLinks ??= (await session.unbound().look(to)) !== undefined;
  store.decidesNames = store.makesLinks;
  if (!store.makesLinks) return moveToNewName(store, session, names, 'file');
  await session
    .unbound()
    .unlink(from)
    .catch(() => store.leftovers.remove({ path: from, kind: 'file' }));
};

/** Takes a name by something empty, which only one can make. @throws AlreadyExistsError */
const takeName = async (session: Session, to: SourcePath, kind: EntryKind): Promise<void> => {
  const make =
    kind === 'folder'
      ? session.change<void>('mkdir', to, (sftp, answered, whole) => sftp.mkdir(whole, answered))
      : session.withHandle('wx', to, () => Promise.resolve());
  await make.catch((error: unknown) => throwConflict(session, to, error));
};

/** Removes what has taken a name, unless it is something else by now. */
const giveNameBack = async (session: Session, to: SourcePath, kind: EntryKind): Promise<void> => {
  const unbound = session.unbound();
  // The server removes a folder only while it is empty.
  if (kind === 'folder') await unbound.rmdir(to);
  else if ((await unbound.look(to))?.size === 0) await unbound.unlink(to);
};

/**
 * Moves a file or folder to a new name. The name is taken by an empty one first, which the other then
 * replaces in one step: whatever lies at the old name by then moves, and nothing is lost. A server without
 * that step refuses a rename to a name that is taken, in its own way. @throws AlreadyExistsError
 */
export const moveToNewName = async (
  store: SftpStore,
  session: Session,
  names: Names,
  kind: EntryKind,
): Promise<void> => {
  const { to } = names;
  if (store.canReplace) {
    await takeName(session, to, kind);
    try {
      await replaceBy(session.unbound(), names);
      // A server that says what is not so is not believed that only one can make something either.
      store.decidesNames = store.makesLinks !== false;
      return;
    } catch (error) {
      // After a lost answer it is not known what has the name: nothing is removed.
      const isRefused = error instanceof UnsupportedError || statusOf(error) !== undefined;
      if (isRefused) await giveNameBack(session, to, kind).catch(() => undefined);
      const isUnknown = error instanceof UnsupportedError;
      // Some servers replace files alone: a rename finds the name free again.
      if (!isUnknown && !(kind === 'folder' && isPlainRefusal(error))) throw error;
      if (isUnknown) store.canReplace = false;
    }
  }
  await session.rename(names).catch((error: unknown) => throwConflict(session, to, error));
};

/**
 * Moves a file to a name that another file may have: in one step, or, on a server without that, by moving the
 * other aside for a moment. @throws WrongKindError when anything but a file has the name
 */
export const moveOver = async (store: SftpStore, session: Session, names: Names): Promise<void> => {
  const { to } = names;
  const found = await store.find(session, to);
  if (found !== undefined && found.kind !== 'file') throw new WrongKindError();
  if (store.canReplace) {
    try {
      return await replaceBy(session, names);
    } catch (error) {
      if (isPlainRefusal(error) && (await session.look(to))?.kind === 'folder')
        throw new WrongKindError({ cause: error });
      if (!(error instanceof UnsupportedError)) throw error;
      store.canReplace = false;
    }
  }
  if (found === undefined) return session.rename(names);
  await store.moveByAside(session, names);
};
