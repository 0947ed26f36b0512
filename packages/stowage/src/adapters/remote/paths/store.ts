import { giveFreeName } from '../../support/free-names.ts';
import { respell, Spellings } from '../../support/spellings.ts';
import { Once, orAborted } from '../../../basics/concurrency/abort.ts';
import { createNameLocks, type NameLocks } from '../../../basics/concurrency/name-locks.ts';
import { copyNames } from '../../../basics/content/file-name.ts';
import * as errors from '../../../errors/errors.ts';
import type * as port from '../../../storage/adapter.ts';
import { isSameVersion } from '../../../storage/entry.ts';
import { SourcePath } from '../../../storage/source-path.ts';
import { isTempName, Leftovers, newAsideName, newTempName } from '../core/temporary.ts';
import { LetterCase, refusedName } from '../core/letter-case.ts';
import {
  type Base,
  type Found,
  isSayable,
  type ListedEntry,
  type Names,
  type PathSession,
  refusalOf,
  removeTemporary,
} from './session.ts';

export interface PathLocks {
  readonly locks: NameLocks;
  /** Stores that share their locks return the same key for the same entry; other entries may share it. */
  readonly keyOf: (path: SourcePath) => string;
}

/** A file that is moved aside for a moment, with the file that takes its place. */
interface Aside extends Names {
  readonly next: Found | undefined;
}

/** A store on a server with paths: the shared steps of its operations, and those of each protocol. */
export abstract class PathStore<Session extends PathSession> {
  readonly leftovers: Leftovers;
  readonly letterCase: LetterCase;
  readonly spellings = new Spellings();
  readonly #locks: PathLocks;
  readonly #base = new Once<Base>();
  /** Files that are moved aside, by their original names. */
  readonly #asides = new Map<string, Aside>();

  /** @param isRefusal whether an error is a response of the server */
  constructor(
    isRefusal: (error: unknown) => boolean,
    locks: PathLocks = { locks: createNameLocks(), keyOf: String },
  ) {
    this.letterCase = new LetterCase(undefined, isRefusal);
    this.#locks = locks;
    this.leftovers = new Leftovers((leftover) =>
      this.run({}, async (session) => removeTemporary(session, leftover)),
    );
  }

  /** The server is known to let exactly one writer create a name. */
  abstract readonly decidesNames: boolean;
  /** Runs the requests of an operation on one connection. Calls must not be nested. */
  abstract run<T>(options: port.OperationOptions, work: (session: Session) => Promise<T>): Promise<T>;
  /** The entries of a folder, also for a slow reader. @throws NotFoundError, WrongKindError */
  abstract entries(
    folder: SourcePath,
    options: port.OperationOptions,
  ): AsyncGenerator<readonly ListedEntry[], void, undefined>;
  abstract read(path: SourcePath, options: port.ReadOptions): Promise<port.ReadResult>;
  abstract copyFile(names: Names, options: port.PutOptions): Promise<void>;
  /** Writes a new file. After a failure the caller removes leftovers. */
  abstract writeNew(
    session: Session,
    path: SourcePath,
    chunks: AsyncIterable<Uint8Array>,
    derived: boolean,
  ): Promise<Found>;
  /**
   * Renames content from its hidden name to a new name. This method and the next two are called under the
   * lock of the name, after a lookup. @throws AlreadyExistsError
   */
  abstract giveNewName(session: Session, names: Names): Promise<void>;
  /** Moves a file or folder to a new name. @throws AlreadyExistsError */
  abstract moveToNewName(session: Session, names: Names, kind: port.EntryKind): Promise<void>;
  /** Moves a file to a name, replacing a file that has it. @throws WrongKindError when a folder has it */
  abstract moveOver(session: Session, names: Names): Promise<void>;
  /** Rejected without a specific reason: mostly because an entry is in the way. */
  abstract readonly isPlainRefusal: (error: unknown) => boolean;
  /** Fails when the root is missing. It is created when the store is opened, and never again. */
  abstract requireRoot(session: Session): Promise<void>;
  abstract close(): Promise<void>;

  /** Location of the root, detected once for all users; after a lost connection the next user retries. */
  protected baseBy(find: () => Promise<Base>, signal: AbortSignal | undefined): Promise<Base> {
    return orAborted(this.#base.get(find), signal);
  }

  /** Must be awaited before every operation. Rejects temporary names. */
  async prepare(path: SourcePath, { signal }: port.OperationOptions, writes = false): Promise<void> {
    signal?.throwIfAborted();
    this.leftovers.retry();
    if (!path.segments.every((name) => !isTempName(name) && isSayable(name)))
      throw refusedName('a name kept for temporary files, or none in UTF-8', writes);
    await this.letterCase.requireOwnNames(path, writes, () => this.tryLetterCase({ signal }));
  }

  /** Detects letter case with a temporary folder. It stays unknown where the login may not create one. */
  async tryLetterCase(options: port.OperationOptions): Promise<void> {
    const temp = SourcePath.root.below(newTempName());
    const trying = this.run(options, async (session) => {
      await session.mkdir(temp);
      await this.learnCase(session, temp, options);
    });
    const remove = (): unknown => this.leftovers.remove({ path: temp, kind: 'folder' });
    await trying.catch(errors.ifOnly(errors.StorageDeniedError)).finally(remove);
  }

  /** Runs requests under the locks of the names that they change. */
  change(
    paths: SourcePath | readonly SourcePath[],
    options: port.OperationOptions,
    work: (session: Session) => Promise<void>,
  ): Promise<void> {
    return this.lock(paths, options, () => this.run(options, work));
  }

  /** Runs a change of entries while no other operation of this process changes them. */
  async lock<T>(
    paths: SourcePath | readonly SourcePath[],
    options: port.OperationOptions,
    work: () => Promise<T>,
  ): Promise<T> {
    const all = [paths].flat();
    // Names that a server may treat as equal have the same key.
    const keys = all.map((path) => this.#locks.keyOf(path).toLowerCase());
    const outside: (() => Promise<boolean>)[] = [];
    try {
      return await this.#locks.locks.hold(keys, options, async () => {
        try {
          return await work();
        } finally {
          for (const path of all) outside.push(...(await this.#endAside(path)));
        }
      });
    } finally {
      for (const task of outside) if (!(await task())) this.leftovers.later(0, task);
    }
  }

  /**
   * Moves a file over an existing one, where the server's rename does not replace: the existing file is moved
   * aside for a moment. After any failure it is restored when the lock of the name is released, or as soon as
   * the server can be reached again; with a number when another file has taken the name.
   */
  async moveByAside(session: Session, { from, to }: Names): Promise<void> {
    const aside = to.parent.below(newAsideName());
    this.#asides.set(to.toString(), { from: aside, to, next: await session.lookUp(from) });
    await session.rename({ from: to, to: aside });
    const unbound = session.unbound();
    await unbound.rename({ from, to });
    this.#asides.delete(to.toString());
    await unbound.unlink(aside).catch(() => this.leftovers.remove({ path: aside, kind: 'file' }));
  }

  /**
   * Restores a file that is still aside when the lock of its name is released. Returns a task for outside of
   * the lock, when another file has the name.
   */
  async #endAside(path: SourcePath): Promise<readonly (() => Promise<boolean>)[]> {
    const moved = this.#asides.get(path.toString());
    if (moved === undefined) return [];
    this.#asides.delete(path.toString());
    const showAgain = (): Promise<boolean> => this.showAgain(moved, 'file');
    try {
      return (await this.#bringBack(moved)) ? [] : [showAgain];
    } catch {
      const task = async (): Promise<boolean> =>
        (await this.lock(path, {}, () => this.#bringBack(moved))) || showAgain();
      this.leftovers.later(0, task);
      return [];
    }
  }

  /** Renames a file back to its name, or removes it if `next` has that. Returns false when another has it. */
  #bringBack({ from, to, next }: Aside): Promise<boolean> {
    return this.run({}, async (session) => {
      const found = await session.lookUp(to);
      const isNext =
        next !== undefined && found?.kind === 'file' && isSameVersion(found as port.Stat, next as port.Stat);
      if (isNext) await session.unlink(from).catch(errors.ifMissing);
      else if (found === undefined && (await session.lookUp(from)) !== undefined)
        await session.rename({ from, to });
      return isNext || found === undefined;
    });
  }

  /**
   * Renames a hidden entry back to its name, or to a numbered one when that is taken. An entry that the
   * server refuses to rename stays hidden. Returns false while the server cannot be reached.
   */
  async showAgain({ from, to }: Names, kind: port.EntryKind): Promise<boolean> {
    const show = (name: string): Promise<void> => {
      const free = to.parent.below(name);
      return this.change(free, {}, async (session) => {
        if ((await session.lookUp(from)) === undefined) return;
        if ((await this.find(session, free)) !== undefined) throw new errors.AlreadyExistsError();
        await this.moveToNewName(session, { from, to: free }, kind);
      });
    };
    const names = copyNames(to.name, kind);
    return giveFreeName(names, show).catch((error: unknown) => refusalOf(error) !== undefined);
  }

  /** @throws NotFoundError, also for links and special files */
  async stat(session: Session, path: SourcePath): Promise<port.Stat> {
    const found = await this.find(session, path);
    if (found === undefined || found.kind === 'other') throw new errors.NotFoundError();
    return { ...found, kind: found.kind };
  }

  /** The entry at a path, links and special files included. */
  async find(session: Session, path: SourcePath): Promise<Found | undefined> {
    const found = await session.lookUp(path);
    if (found !== undefined) return found;
    if (path.isRoot) return undefined;
    const exists = async (one: SourcePath): Promise<boolean> => (await session.lookUp(one)) !== undefined;
    return (await respell(this.spellings, path, exists)) ? session.lookUp(path) : undefined;
  }

  /** Detects letter case with an existing entry. Costs nothing once it is known. */
  async learnCase(session: Session, path: SourcePath, options: port.OperationOptions): Promise<void> {
    const statOf = async (one: SourcePath): Promise<port.Stat> => {
      const found = await session.lookUp(one);
      if (found === undefined) throw new errors.NotFoundError();
      return found as port.Stat;
    };
    await this.letterCase.learn({ stat: statOf }, path, options);
  }

  /** @throws AlreadyExistsError when an entry has the name, NotFoundError when a parent is not a folder */
  async makeFolder(session: Session, path: SourcePath): Promise<void> {
    if (path.isRoot || (await this.find(session, path)) !== undefined) throw new errors.AlreadyExistsError();
    await this.ensureFolder(session, path.parent);
    await session.mkdir(path);
  }

  /** Creates a folder and its parents unless they exist. @throws NotFoundError when one is not a folder */
  async ensureFolder(session: Session, path: SourcePath): Promise<void> {
    const found = await this.find(session, path);
    if (found?.kind === 'folder') return;
    if (found !== undefined || path.isRoot)
      throw new errors.NotFoundError({ detail: 'a parent is a file or a link' });
    await this.ensureFolder(session, path.parent);
    // Another writer may be faster.
    await session.mkdir(path).catch(errors.ifOnly(errors.AlreadyExistsError));
    if ((await session.lookUp(path))?.kind !== 'folder')
      throw new errors.NotFoundError({ detail: 'a parent is a file or a link' });
  }
}
