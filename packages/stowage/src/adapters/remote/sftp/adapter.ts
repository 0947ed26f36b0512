import type { Stats } from 'ssh2';
import { Spellings } from '../../support/spellings.ts';
import * as errors from '../../../errors/errors.ts';
import { ConnectionPool } from '../core/connections.ts';
import { type Base, type ListedEntry, missingRoot, type Names } from '../paths/session.ts';
import { PathStore } from '../paths/store.ts';
import { isElsewhere, putFile } from '../paths/write.ts';
import type * as port from '../../../storage/adapter.ts';
import { SourcePath } from '../../../storage/source-path.ts';
import { isRefusedConnection, SftpConnection } from './connection.ts';
import { copyToNew, writeNew } from './write.ts';
import { errorOf, isPlainRefusal, statusOf } from './errors.ts';
import type { SftpOptions } from './options.ts';
import { openFile, type Reading } from './read.ts';
import { kindOf, Session } from './session.ts';
import { capabilitiesOf } from '../../capabilities.ts';
import { PathAdapter } from '../paths/adapter.ts';

const PER_CONNECTION = 16;
/** Reads among them, which may take as long as their readers do. */
const READERS = 8;

const requireFolder = (attributes: Stats): void => {
  if ((kindOf(attributes) ?? 'folder') !== 'folder')
    throw new errors.StorageUnavailableError({ detail: 'directory is not a folder' });
};

/** A store on an SFTP server: connections, the root, and the protocol's steps of operations. */
class SftpStore extends PathStore<Session> {
  decidesNames = false;
  /** Whether the server replaces files atomically; assumed until it turns out not to. */
  #canReplace = true;
  /** Whether the server creates hard links; some only report success. Undefined until known. */
  #makesLinks: boolean | undefined;
  readonly #pool: ConnectionPool<SftpConnection>;
  readonly #prefix: SourcePath;
  readonly #directory: string;

  /** `prefix` is a folder below the directory of the options, created when it is missing. */
  constructor(options: SftpOptions, prefix: SourcePath) {
    const { connections, timeout, idleTimeout } = options;
    super((error) => statusOf(error) !== undefined);
    this.#prefix = prefix;
    this.#directory = options.directory;
    this.#pool = new ConnectionPool({
      connections,
      perConnection: PER_CONNECTION,
      readers: connections * READERS,
      idleMs: idleTimeout * 1000,
      waitMs: timeout * 1000,
      open: (signal) => SftpConnection.open(options, signal),
      isRefusal: isRefusedConnection,
    });
  }

  run<T>({ signal }: port.OperationOptions, work: (session: Session) => Promise<T>): Promise<T> {
    return this.#pool.use(signal, async (connection) => work(await this.#session(connection, signal)));
  }

  async #takeForReading({ signal }: port.OperationOptions): Promise<Reading> {
    const { connection, release } = await this.#pool.takeForReading(signal);
    try {
      return { session: await this.#session(connection, signal), release };
    } catch (error) {
      release();
      throw error;
    }
  }

  async *entries(
    folder: SourcePath,
    options: port.OperationOptions,
  ): AsyncGenerator<readonly ListedEntry[], void, undefined> {
    // Like a download, a listing waits for its reader between pages.
    const { session, release } = await this.#takeForReading(options);
    try {
      if ((await this.stat(session, folder)).kind === 'file') throw new errors.WrongKindError();
      yield* session.entries(folder);
    } finally {
      release();
    }
  }

  async read(path: SourcePath, options: port.ReadOptions): Promise<port.ReadResult> {
    return openFile(this, await this.#takeForReading(options), path, options);
  }

  readonly writeNew = writeNew;

  async copyFile(names: Names, options: port.PutOptions): Promise<void> {
    if (!(await this.run(options, (session) => isElsewhere(this, session, names, options)))) return;
    await putFile(this, names.to, options, (session, temp) =>
      copyToNew(session, { from: names.from, to: temp }),
    );
  }

  /** Creates a hard link, for which the name must be free: only complete content is ever visible. */
  async giveNewName(session: Session, names: Names): Promise<void> {
    const { from, to } = names;
    if (this.#makesLinks === false) return this.moveToNewName(session, names, 'file');
    try {
      await session.link(names);
    } catch (error) {
      const isUnknown = error instanceof errors.UnsupportedError;
      if (!isUnknown && statusOf(error) === undefined) throw error;
      // Or the file system has no links: on FAT Linux calls that a lack of permission.
      if (isUnknown || (await session.lookUp(to)) === undefined)
        return this.moveToNewName(session, names, 'file');
      this.decidesNames = true;
      throw new errors.AlreadyExistsError({ cause: error });
    }
    // Check that the link exists before the only copy is removed.
    this.#makesLinks ??= (await session.unbound().lookUp(to)) !== undefined;
    this.decidesNames = this.#makesLinks;
    if (!this.#makesLinks) return this.moveToNewName(session, names, 'file');
    const removal = session.unbound().unlink(from);
    await removal.catch(() => this.leftovers.remove({ path: from, kind: 'file' }));
  }

  /**
   * Takes the name with an empty item first, which is then replaced atomically: whatever has the old name by
   * then is moved, and nothing is lost. A server without that operation rejects a rename to a taken name.
   */
  async moveToNewName(session: Session, names: Names, kind: port.EntryKind): Promise<void> {
    if (this.#canReplace) {
      await session.takeName(names.to, kind);
      try {
        await session.unbound().replace(names);
        // A server that falsely reports links is not trusted with exclusive creation either.
        this.decidesNames = this.#makesLinks !== false;
        return;
      } catch (error) {
        // After a lost response it is unknown which item has the name: remove nothing.
        const isRefused = error instanceof errors.UnsupportedError || statusOf(error) !== undefined;
        if (isRefused) await session.giveNameBack(names.to, kind).catch(() => undefined);
        const isUnknown = error instanceof errors.UnsupportedError;
        // Some servers replace only files: a rename will find the name free again.
        if (!isUnknown && !(kind === 'folder' && isPlainRefusal(error))) throw error;
        if (isUnknown) this.#canReplace = false;
      }
    }
    await session.renameNew(names);
  }

  /** Replaces atomically; on a server without that operation, moves the existing file aside for a moment. */
  async moveOver(session: Session, names: Names): Promise<void> {
    const found = await this.find(session, names.to);
    if (found !== undefined && found.kind !== 'file') throw new errors.WrongKindError();
    if (this.#canReplace) {
      try {
        return await session.replace(names);
      } catch (error) {
        if (isPlainRefusal(error) && (await session.lookUp(names.to))?.kind === 'folder')
          throw new errors.WrongKindError({ cause: error });
        if (!(error instanceof errors.UnsupportedError)) throw error;
        this.#canReplace = false;
      }
    }
    await (found === undefined ? session.rename(names) : this.moveByAside(session, names));
  }

  readonly isPlainRefusal = isPlainRefusal;

  close(): Promise<void> {
    return this.#pool.close();
  }

  async requireRoot(session: Session): Promise<void> {
    const { root } = SourcePath;
    requireFolder(
      await session.ask<Stats>('stat', root, (sftp, done) => sftp.stat(session.pathOf(root), done)),
    );
  }

  async #session(connection: SftpConnection, signal: AbortSignal | undefined): Promise<Session> {
    const base = await this.baseBy(() => this.#findBase(connection), signal);
    return new Session(connection, base, this.spellings, signal);
  }

  /** Detects the real path of the directory, which may be a link, or below one. Folders below it may not. */
  async #findBase(connection: SftpConnection): Promise<Base> {
    const asked = this.#directory === '' ? '.' : this.#directory;
    try {
      const names = await connection.request<string>((sftp, done) => sftp.realpath(asked, done));
      const directory = names.startsWith('/') ? names : `/${names}`;
      requireFolder(await connection.request<Stats>((sftp, done) => sftp.stat(directory, done)));
      const above = new Session(connection, { directory, prefix: [] }, new Spellings(), undefined);
      await this.ensureFolder(above, this.#prefix);
      return { directory, prefix: this.#prefix.segments };
    } catch (error) {
      const failure = errorOf('the directory of the source', error);
      throw failure instanceof errors.NotFoundError ? missingRoot(error) : failure;
    }
  }
}

export type SftpAdapter = PathAdapter<Session>;

/** Creates a store on an SFTP server without contacting it. `root` is a path below the directory. */
export const openSftpAdapter = (options: SftpOptions, root = ''): SftpAdapter => {
  const { host, port, username, directory } = options;
  const prefix = SourcePath.parse(root);
  const isAbsolute = directory.startsWith('/');
  const identity = {
    // Logins may have their own roots, and start in different folders.
    backend: `sftp:${username}@${host}:${String(port)}${isAbsolute ? '' : ':~'}`,
    root: [...directory.split('/').filter((segment) => segment !== ''), ...prefix.segments],
  };
  return new PathAdapter(new SftpStore(options, prefix), identity, capabilitiesOf('sftp'));
};
