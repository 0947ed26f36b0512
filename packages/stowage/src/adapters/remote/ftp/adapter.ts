import { posix } from 'node:path';
import { consumeContent, withSpooled } from '../../../storage/content.ts';
import * as errors from '../../../errors/errors.ts';
import { passBody } from '../core/body.ts';
import { ConnectionPool } from '../core/connections.ts';
import { type Base, type Found, type ListedEntry, missingRoot, type Names } from '../paths/session.ts';
import { type PathLocks, PathStore } from '../paths/store.ts';
import { isElsewhere, putFile, requireFree, requireStored } from '../paths/write.ts';
import type * as port from '../../../storage/adapter.ts';
import { isSameVersion } from '../../../storage/entry.ts';
import { SourcePath } from '../../../storage/source-path.ts';
import { Commands } from './requests.ts';
import { FtpConnection } from './connection.ts';
import { codeOf, errorOf, isFinalRefusal, isPlainRefusal } from './errors.ts';
import { isRefusedConnection } from './login.ts';
import type { Dialect } from './list.ts';
import type { FtpOptions } from './options.ts';
import { Session, type SessionContext } from './session.ts';
import { createNameLocks, type NameLocks } from '../../../basics/concurrency/name-locks.ts';
import { capabilitiesOf } from '../../capabilities.ts';
import { PathAdapter } from '../paths/adapter.ts';

/** A store on an FTP server: connections, the root, and the protocol's steps of operations. */
class FtpStore extends PathStore<Session> {
  /** FTP has no operation that atomically creates a name for a file. */
  readonly decidesNames = false;
  readonly #pool: ConnectionPool<FtpConnection>;
  readonly #prefix: SourcePath;
  readonly #directory: string;
  readonly #attempts: number;
  readonly #dialect: Dialect = { hasFacts: true, hasStat: true, list: undefined, isExtended: true };

  /** `prefix` is a folder below the directory of the options, created when it is missing. */
  constructor(options: FtpOptions, prefix: SourcePath, locks: PathLocks) {
    super(isFinalRefusal, locks);
    const { connections, timeout, idleTimeout } = options;
    this.#prefix = prefix;
    this.#directory = options.directory;
    this.#attempts = connections + 1;
    this.#pool = new ConnectionPool({
      connections,
      perConnection: 1,
      readers: Math.max(1, connections - 1),
      idleMs: idleTimeout * 1000,
      waitMs: timeout * 1000,
      open: (signal) => FtpConnection.open(options, signal, this.#dialect),
      isRefusal: isRefusedConnection,
    });
  }

  run<T>(options: port.OperationOptions, work: (session: Session) => Promise<T>): Promise<T> {
    return this.#lend(options, 'take', async (session, release) => {
      try {
        return await work(session);
      } finally {
        release();
      }
    });
  }

  /** The connection is released before the first page is read. */
  async *entries(
    folder: SourcePath,
    options: port.OperationOptions,
  ): AsyncGenerator<readonly ListedEntry[], void, undefined> {
    yield* await this.run(options, async (session) => {
      if ((await this.stat(session, folder)).kind === 'file') throw new errors.WrongKindError();
      return session.list(folder);
    });
  }

  /** The connection is released when the server has sent everything, apart from buffered bytes. */
  read(path: SourcePath, options: port.ReadOptions): Promise<port.ReadResult> {
    return this.#lend(options, 'takeForReading', async (session, release) => {
      const stat = await this.stat(session, path);
      if (stat.kind === 'folder') throw new errors.WrongKindError();
      // The protocol has no ETags.
      if (options.ifMatch !== undefined) throw new errors.ChangedMeanwhileError();
      await this.learnCase(session, path, options);
      const { start, end } = options.range ?? { start: 0, end: undefined };
      const length = end === undefined ? stat.size : end - start + 1;
      // A transfer to the end of the file is left to end by itself.
      const isWhole = length === undefined || start + length === stat.size;
      const part = { offset: start, length: isWhole ? Number.POSITIVE_INFINITY : length };
      const { body, ended } = await session.retrieve(path, part);
      void ended.finally(release);
      const failure = (error: unknown): Error => errorOf(`read /${path.toString()}`, error);
      // Another client may have replaced it between the stat and the transfer.
      const isReplaced = async (): Promise<boolean> => {
        const now = await this.run(options, (again) => this.find(again, path));
        return now?.kind !== 'file' || !isSameVersion(now as port.Stat, stat);
      };
      return { stat, stream: passBody(body, { length, signal: options.signal, failure, isReplaced }) };
    });
  }

  async writeNew(session: Session, path: SourcePath, chunks: AsyncIterable<Uint8Array>): Promise<Found> {
    const size = await session.store(path, chunks);
    return requireStored(await session.stored(path), size);
  }

  /** Copies through a local file: one connection cannot transfer both ways, and two could deadlock. */
  async copyFile(names: Names, options: port.PutOptions): Promise<void> {
    if (!(await this.run(options, (session) => isElsewhere(this, session, names, options)))) return;
    if (options.createOnly === true)
      await this.run(options, async (session) => requireFree(await this.find(session, names.to), true));
    const { stream } = await this.read(names.from, options);
    await withSpooled(stream, options, (file) =>
      consumeContent(file.open(), { ...options, size: file.size }, (chunks) =>
        putFile(this, names.to, options, (session, temp) => this.writeNew(session, temp, chunks)),
      ),
    );
  }

  /**
   * Called under the lock of the name, after a lookup found it free: an FTP rename overwrites silently. One
   * wrong response must not cost a file, so a second command checks it.
   */
  async moveToNewName(session: Session, names: Names): Promise<void> {
    if (await session.isFile(names.to)) throw new errors.AlreadyExistsError();
    try {
      await session.rename(names);
    } catch (error) {
      if (isPlainRefusal(error)) requireFree(await this.find(session, names.to), true);
      throw error;
    }
  }

  giveNewName(session: Session, names: Names): Promise<void> {
    return this.moveToNewName(session, names);
  }

  /** Moves in one step if the server's rename overwrites; else moves the other file aside for a moment. */
  async moveOver(session: Session, { from, to }: Names): Promise<void> {
    try {
      return await session.rename({ from, to });
    } catch (error) {
      const found = isPlainRefusal(error) ? await this.find(session, to) : undefined;
      if (found === undefined) throw error;
      if (found.kind !== 'file') throw new errors.WrongKindError({ cause: error });
    }
    await this.moveByAside(session, { from, to });
  }

  readonly isPlainRefusal = isPlainRefusal;

  close(): Promise<void> {
    return this.#pool.close();
  }

  async requireRoot(session: Session): Promise<void> {
    if ((await session.lookUp(SourcePath.root)) === undefined) throw missingRoot();
  }

  /**
   * Runs an operation on a connection. Servers close idle connections: an operation that has only read is
   * retried on another one. `work` releases the connection by `release`, unless it fails.
   */
  async #lend<T>(
    { signal }: port.OperationOptions,
    take: 'take' | 'takeForReading',
    work: (session: Session, release: () => void) => Promise<T>,
  ): Promise<T> {
    for (let attempt = 1; ; attempt += 1) {
      const { connection, release } = await this.#pool[take](signal);
      const { wasUsed } = connection;
      connection.wasUsed = true;
      this.#dialect.hasFacts &&= connection.hasFacts;
      const commands = new Commands(connection, signal);
      try {
        const base = await this.baseBy(() => this.#findBase(connection), signal);
        return await work(new Session(commands, this.#context(base)), release);
      } catch (error) {
        release();
        const isStale = wasUsed && isLost(error) && !commands.hasChanged;
        if (!isStale || attempt > this.#attempts || signal?.aborted === true) throw error;
      }
    }
  }

  #context(base: Base): SessionContext {
    return { base, spellings: this.spellings, dialect: this.#dialect };
  }

  /** Detects the real path of the directory, which may be a link, or below one. Folders below it may not. */
  async #findBase(connection: FtpConnection): Promise<Base> {
    const commands = new Commands(connection, undefined);
    try {
      if (this.#directory !== '') await commands.ask(`CWD ${this.#directory}`);
      const directory = (await commands.workingFolder()) ?? this.#directory;
      if (!directory.startsWith('/'))
        throw new errors.StorageUnavailableError({
          detail: 'the server does not say where its directory lies',
        });
      await this.ensureFolder(new Session(commands, this.#context({ directory, prefix: [] })), this.#prefix);
      return { directory, prefix: this.#prefix.segments };
    } catch (error) {
      const failure = errorOf('the directory of the source', error);
      throw failure instanceof errors.NotFoundError || isPlainRefusal(failure) ? missingRoot(error) : failure;
    }
  }
}

const isLost = (error: unknown): boolean =>
  error instanceof errors.StorageUnavailableError &&
  error.cause instanceof Error &&
  !(error.cause instanceof errors.StowageError) &&
  codeOf(error) === undefined;

export type FtpAdapter = PathAdapter<Session>;

/**
 * Creates a store on an FTP server without contacting it. `root` is a path below the directory. Stores that
 * share `locks` let exactly one of several writers create a name.
 */
export const openFtpAdapter = (
  options: FtpOptions,
  root = '',
  locks: NameLocks = createNameLocks(),
): FtpAdapter => {
  const { host, port, username, directory } = options;
  const prefix = SourcePath.parse(root);
  const server = `${host}:${String(port)}`;
  // By the last name alone: directories may be spelled in several ways, and logins have their own roots.
  const keyOf = ({ name }: SourcePath): string => `${server}/${name}`;
  const store = new FtpStore(options, prefix, { locks, keyOf });
  const folders = posix
    .join('/', directory, ...prefix.segments)
    .split('/')
    .filter(Boolean);
  // Logins may start in different folders.
  const isAbsolute = directory.startsWith('/');
  const backend = `ftp:${username}@${server}${isAbsolute ? '' : ':~'}`;
  return new PathAdapter(store, { backend, root: folders }, capabilitiesOf('ftp'));
};
