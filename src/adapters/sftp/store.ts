import { respell, Spellings } from '../../adapter-support/spellings.ts';
import { createNameLocks, type NameLocks } from '../../concurrency/name-locks.ts';
import { orAborted } from '../../concurrency/or-aborted.ts';
import {
  AlreadyExistsError,
  NotFoundError,
  StorageDeniedError,
  StorageUnavailableError,
} from '../../errors/errors.ts';
import { ConnectionPool, type Lease } from '../../remote-store/connection-pool.ts';
import { Leftovers } from '../../remote-store/leftovers.ts';
import { LetterCase } from '../../remote-store/letter-case.ts';
import { isTempName } from '../../remote-store/temporary-names.ts';
import type { OperationOptions, Stat } from '../../storage/adapter.ts';
import type { SourcePath } from '../../storage/source-path.ts';
import { SftpConnection } from './connection.ts';
import { errorOf, isPlainRefusal, statusOf } from './errors.ts';
import type { SftpOptions } from './options.ts';
import { Session, type Base, type Found } from './session.ts';
import { removeTemporary } from './steps.ts';

/** Operations that go on one connection side by side. */
const PER_CONNECTION = 16;
/** Reads among them, for as long as their readers take. */
const READERS = 8;

/** A name that the server has in other bytes than UTF-8 cannot be said back to it. */
export const isSayable = (name: string): boolean => !name.includes('\uFFFD');

/** Steps that several operations share: connections, the root, finding things, making folders. */
export class Store {
  readonly leftovers: Leftovers;
  readonly letterCase = new LetterCase(undefined, (error) => statusOf(error) !== undefined);
  readonly #locks: NameLocks = createNameLocks();
  readonly spellings = new Spellings();
  /** The server is known to let exactly one writer have a new name. */
  decidesNames = false;
  /** Until it is seen not to, the server is taken to replace files in one step. */
  canReplace = true;
  readonly #pool: ConnectionPool<SftpConnection>;
  readonly #prefix: SourcePath;
  readonly #directory: string;
  #base: Promise<Base> | undefined;

  /** `prefix` is a folder below the directory of the options, made when it is missing. */
  constructor(options: SftpOptions, prefix: SourcePath) {
    const { connections, timeout, idleTimeout } = options;
    this.#prefix = prefix;
    this.#directory = options.directory;
    this.#pool = new ConnectionPool({
      connections,
      perConnection: PER_CONNECTION,
      readers: connections * READERS,
      idleMs: idleTimeout * 1000,
      waitMs: timeout * 1000,
      open: (signal) => SftpConnection.open(options, signal),
    });
    this.leftovers = new Leftovers((leftover) =>
      this.run({}, async (session) => removeTemporary(session, leftover)),
    );
  }

  /** To be awaited before anything else. Temporary names do not exist for anybody. */
  prepare({ segments }: SourcePath, { signal }: OperationOptions, writes = false): void {
    signal?.throwIfAborted();
    this.leftovers.retry();
    if (segments.every((name) => !isTempName(name) && isSayable(name))) return;
    const detail = 'a name kept for temporary files, or none in UTF-8';
    throw writes ? new StorageDeniedError({ detail }) : new NotFoundError({ detail });
  }

  /**
   * Runs what changes an entry while nobody else in this process does. Several in the order of their names.
   */
  async lock<T>(
    paths: SourcePath | readonly SourcePath[],
    options: OperationOptions,
    work: () => Promise<T>,
  ): Promise<T> {
    // Names that a server may hold for one have one key.
    const keys = [paths].flat().map((path) => path.toString().toLowerCase());
    const [key, ...others] = [...new Set(keys)].sort();
    if (key === undefined) return work();
    const rest = [paths].flat().filter((path) => others.includes(path.toString().toLowerCase()));
    return this.#locks.hold(key, options, () => this.lock(rest, options, work));
  }

  /** Runs the requests of an operation on one connection. Never inside of each other. */
  run<T>({ signal }: OperationOptions, work: (session: Session) => Promise<T>): Promise<T> {
    return this.#pool.use(signal, async (connection) => work(await this.#session(connection, signal)));
  }

  /** A session for a read, which goes on until `release` is called. */
  async takeForReading({
    signal,
  }: OperationOptions): Promise<Omit<Lease<never>, 'connection'> & { readonly session: Session }> {
    const { connection, release } = await this.#pool.takeForReading(signal);
    try {
      return { session: await this.#session(connection, signal), release };
    } catch (error) {
      release();
      throw error;
    }
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
    if (path.isRoot) {
      // Somebody has removed it.
      await this.#findBase(session.connection);
      return session.look(path);
    }
    const exists = async (one: SourcePath): Promise<boolean> => (await session.look(one)) !== undefined;
    return (await respell(this.spellings, path, exists)) ? session.look(path) : undefined;
  }

  /** Finds out about letter case with something that is there. Costs nothing once it is known. */
  async learnCase(session: Session, path: SourcePath): Promise<void> {
    const look = async (one: SourcePath): Promise<Stat> => {
      const found = await session.look(one);
      if (found === undefined) throw new NotFoundError();
      return found as Stat;
    };
    await this.letterCase.learn({ stat: look }, path, { signal: session.signal });
  }

  /** @throws AlreadyExistsError when anything has the name, NotFoundError when a parent is no folder */
  async makeFolder(session: Session, path: SourcePath): Promise<void> {
    if (path.isRoot || (await this.find(session, path)) !== undefined) throw new AlreadyExistsError();
    await this.ensureFolder(session, path.parent);
    await this.#mkdir(session, path);
  }

  /** Makes a folder and its parents unless they are there. @throws NotFoundError when one is no folder */
  async ensureFolder(session: Session, path: SourcePath): Promise<void> {
    const found = await this.find(session, path);
    if (found?.kind === 'folder') return;
    if (found !== undefined || path.isRoot)
      throw new NotFoundError({ detail: 'a parent is a file or a link' });
    await this.ensureFolder(session, path.parent);
    await this.#mkdir(session, path).catch((error: unknown) => {
      // Another writer was faster.
      if (!(error instanceof AlreadyExistsError)) throw error;
    });
    if ((await session.look(path))?.kind !== 'folder')
      throw new NotFoundError({ detail: 'a parent is a file or a link' });
  }

  close(): Promise<void> {
    return this.#pool.close();
  }

  async #mkdir(session: Session, path: SourcePath): Promise<void> {
    try {
      await session.change('mkdir', path, (sftp, answered, whole) => sftp.mkdir(whole, answered));
    } catch (error) {
      if (isPlainRefusal(error) && (await session.look(path)) !== undefined)
        throw new AlreadyExistsError({ cause: error });
      throw error;
    }
  }

  async #session(connection: SftpConnection, signal: AbortSignal | undefined): Promise<Session> {
    // The first user finds out for all; with its connection lost, the next one does.
    const base = (this.#base ??= this.#findBase(connection));
    base.catch(() => {
      if (this.#base === base) this.#base = undefined;
    });
    return new Session(connection, await orAborted(base, signal), this.spellings, signal);
  }

  /** Where the directory really lies; it may be, or lie below, a link. What lies below it may not. */
  async #findBase(connection: SftpConnection): Promise<Base> {
    const asked = this.#directory === '' ? '.' : this.#directory;
    try {
      const names = await connection.request<string>((sftp, answered) => sftp.realpath(asked, answered));
      const directory = names.startsWith('/') ? names : `/${names}`;
      const attributes = await connection.request<{ isDirectory(): boolean }>((sftp, answered) =>
        sftp.stat(directory, answered),
      );
      if (!attributes.isDirectory()) throw new StorageUnavailableError({ detail: 'directory is no folder' });
      const above = new Session(connection, { directory, prefix: [] }, new Spellings(), undefined);
      await this.ensureFolder(above, this.#prefix);
      return { directory, prefix: this.#prefix.segments };
    } catch (error) {
      const failure = errorOf('the directory of the source', error);
      // Nothing of the source was asked for yet: its absence is no answer to a client.
      if (!(failure instanceof NotFoundError)) throw failure;
      throw new StorageUnavailableError({ detail: 'the directory of the source is missing', cause: error });
    }
  }
}
