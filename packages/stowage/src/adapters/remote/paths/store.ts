import { respell, Spellings } from '../../support/spellings.ts';
import { Once, orAborted } from '../../../basics/concurrency/abort.ts';
import { createNameLocks, type NameLocks } from '../../../basics/concurrency/name-locks.ts';
import { fileCopyNames, folderCopyNames } from '../../../basics/content/file-name.ts';
import {
  AlreadyExistsError,
  ifMissing,
  ifOnly,
  NotFoundError,
  StorageDeniedError,
} from '../../../errors/errors.ts';
import type {
  EntryKind,
  OperationOptions,
  PutOptions,
  ReadOptions,
  ReadResult,
  Stat,
} from '../../../storage/adapter.ts';
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

/** How the stores of a protocol lock names. */
export interface PathLocks {
  readonly locks: NameLocks;
  /** Stores that share their locks have the same key for the same entry; other entries may have it too. */
  readonly keyOf: (path: SourcePath) => string;
}

/** A file that is moved aside for a moment, and the one that takes its place. */
interface Aside extends Names {
  readonly next: Found | undefined;
}

/** Names that are tried for what has lost its own. */
const MOST_NAMES = 1000;

/**
 * A store on a server that knows files and folders by their paths: the steps that its operations share, and
 * those that every protocol takes in its own way.
 */
export abstract class PathStore<Session extends PathSession> {
  readonly leftovers: Leftovers;
  readonly letterCase: LetterCase;
  readonly spellings = new Spellings();
  readonly #locks: PathLocks;
  readonly #base = new Once<Base>();
  /** Files that are moved aside, by the names that they had. */
  readonly #asides = new Map<string, Aside>();

  /** @param isRefusal whether an error is an answer of the server */
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

  /** The server is known to let exactly one writer have a new name. */
  abstract readonly decidesNames: boolean;
  /** Runs the requests of an operation on one connection. Never inside of each other. */
  abstract run<T>(options: OperationOptions, work: (session: Session) => Promise<T>): Promise<T>;
  /** The entries of a folder, for a slow reader too. @throws NotFoundError, WrongKindError */
  abstract entries(
    folder: SourcePath,
    options: OperationOptions,
  ): AsyncGenerator<readonly ListedEntry[], void, undefined>;
  abstract read(path: SourcePath, options: ReadOptions): Promise<ReadResult>;
  abstract copyFile(names: Names, options: PutOptions): Promise<void>;
  /** Writes a new file. The caller removes what is left of it after a failure. */
  abstract writeNew(
    session: Session,
    path: SourcePath,
    chunks: AsyncIterable<Uint8Array>,
    derived: boolean,
  ): Promise<Found>;
  /**
   * Gives content, under a hidden name until then, a name that is new. These three are called under the lock
   * of the name, after a look at it. @throws AlreadyExistsError
   */
  abstract giveNewName(session: Session, names: Names): Promise<void>;
  /** Moves a file or folder to a name that is new. @throws AlreadyExistsError */
  abstract moveToNewName(session: Session, names: Names, kind: EntryKind): Promise<void>;
  /** Moves a file to a name that another file may have. @throws WrongKindError when a folder has it */
  abstract moveOver(session: Session, names: Names): Promise<void>;
  /** Refused without a reason that the answer tells: that something is in the way, above all. */
  abstract isPlainRefusal(error: unknown): boolean;
  /** Fails where the root is missing. It is made when the store is opened, and never again. */
  abstract requireRoot(session: Session): Promise<void>;
  abstract close(): Promise<void>;

  /** Where the root lies. The first user finds out for all; with its connection lost, the next one does. */
  protected baseBy(find: () => Promise<Base>, signal: AbortSignal | undefined): Promise<Base> {
    return orAborted(this.#base.get(find), signal);
  }

  /** To be awaited before anything else. Temporary names do not exist for callers. */
  async prepare(path: SourcePath, { signal }: OperationOptions, writes = false): Promise<void> {
    signal?.throwIfAborted();
    this.leftovers.retry();
    if (!path.segments.every((name) => !isTempName(name) && isSayable(name)))
      throw refusedName('a name kept for temporary files, or none in UTF-8', writes);
    await this.letterCase.requireOwnNames(path, writes, () => this.tryLetterCase({ signal }));
  }

  /**
   * Finds out about letter case with a folder made for it. It stays unknown where the login may make none.
   */
  async tryLetterCase(options: OperationOptions): Promise<void> {
    const temp = SourcePath.root.below(newTempName());
    const trying = this.run(options, async (session) => {
      await session.mkdir(temp);
      await this.learnCase(session, temp, options);
    });
    const remove = (): Promise<void> => this.leftovers.remove({ path: temp, kind: 'folder' });
    await trying.catch(ifOnly(StorageDeniedError)).finally(remove);
  }

  /** Runs what changes entries while no other operation of this process does. */
  async lock<T>(
    paths: SourcePath | readonly SourcePath[],
    options: OperationOptions,
    work: () => Promise<T>,
  ): Promise<T> {
    const all = [paths].flat();
    // Names that a server may hold for one have one key.
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
   * Moves a file to a name that another file has, where the server's rename does not replace: the other one
   * is moved aside for a moment. Whatever fails, it is back when the lock of the name is given back, or as
   * soon as the server can be reached again; under a number where another file has the name.
   */
  async moveByAside(session: Session, { from, to }: Names): Promise<void> {
    const aside = to.parent.below(newAsideName());
    this.#asides.set(to.toString(), { from: aside, to, next: await session.look(from) });
    await session.rename({ from: to, to: aside });
    const unbound = session.unbound();
    await unbound.rename({ from, to });
    this.#asides.delete(to.toString());
    await unbound.unlink(aside).catch(() => this.leftovers.remove({ path: aside, kind: 'file' }));
  }

  /**
   * Has a file back that is still aside when the lock of its name is given back. Returns what is left to do
   * outside of the lock, where another file has the name.
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

  /**
   * Gives a file that was moved aside its name again, or removes it where the new file has the name after all.
   * Returns false where another one has it.
   */
  #bringBack({ from, to, next }: Aside): Promise<boolean> {
    return this.run({}, async (session) => {
      const found = await session.look(to);
      const isNext =
        next !== undefined && found?.kind === 'file' && isSameVersion(found as Stat, next as Stat);
      if (isNext) await session.unlink(from).catch(ifMissing);
      else if (found === undefined && (await session.look(from)) !== undefined)
        await session.rename({ from, to });
      return isNext || found === undefined;
    });
  }

  /**
   * Gives something hidden its name again, or a numbered one where another entry has taken the name. What the
   * server refuses to rename stays hidden. Returns false while the server cannot be reached.
   */
  async showAgain({ from, to }: Names, kind: EntryKind): Promise<boolean> {
    const names = (kind === 'folder' ? folderCopyNames : fileCopyNames)(to.name);
    for (let number = 0; number < MOST_NAMES; number += 1) {
      const free = to.parent.below(names.at(number));
      const showing = this.lock(free, {}, () =>
        this.run({}, async (session) => {
          if ((await session.look(from)) === undefined) return;
          if ((await this.find(session, free)) !== undefined) throw new AlreadyExistsError();
          await this.moveToNewName(session, { from, to: free }, kind);
        }),
      );
      const failure = await showing.then(
        () => undefined,
        (error: unknown) => error as Error,
      );
      if (failure === undefined) return true;
      if (!(failure instanceof AlreadyExistsError)) return refusalOf(failure) !== undefined;
    }
    return false;
  }

  /** @throws NotFoundError, also for links and special files */
  async stat(session: Session, path: SourcePath): Promise<Stat> {
    const found = await this.find(session, path);
    if (found === undefined || found.kind === 'other') throw new NotFoundError();
    return { ...found, kind: found.kind };
  }

  /** What lies at a path, links and special files too. */
  async find(session: Session, path: SourcePath): Promise<Found | undefined> {
    const found = await session.look(path);
    if (found !== undefined) return found;
    if (path.isRoot) return undefined;
    const exists = async (one: SourcePath): Promise<boolean> => (await session.look(one)) !== undefined;
    return (await respell(this.spellings, path, exists)) ? session.look(path) : undefined;
  }

  /** Finds out about letter case with something that is there. Costs nothing once it is known. */
  async learnCase(session: Session, path: SourcePath, options: OperationOptions): Promise<void> {
    const look = async (one: SourcePath): Promise<Stat> => {
      const found = await session.look(one);
      if (found === undefined) throw new NotFoundError();
      return found as Stat;
    };
    await this.letterCase.learn({ stat: look }, path, options);
  }

  /** @throws AlreadyExistsError when anything has the name, NotFoundError when a parent is not a folder */
  async makeFolder(session: Session, path: SourcePath): Promise<void> {
    if (path.isRoot || (await this.find(session, path)) !== undefined) throw new AlreadyExistsError();
    await this.ensureFolder(session, path.parent);
    await session.mkdir(path);
  }

  /** Makes a folder and its parents unless they are there. @throws NotFoundError when one is not a folder */
  async ensureFolder(session: Session, path: SourcePath): Promise<void> {
    const found = await this.find(session, path);
    if (found?.kind === 'folder') return;
    if (found !== undefined || path.isRoot)
      throw new NotFoundError({ detail: 'a parent is a file or a link' });
    await this.ensureFolder(session, path.parent);
    // Another writer may be faster.
    await session.mkdir(path).catch(ifOnly(AlreadyExistsError));
    if ((await session.look(path))?.kind !== 'folder')
      throw new NotFoundError({ detail: 'a parent is a file or a link' });
  }
}
