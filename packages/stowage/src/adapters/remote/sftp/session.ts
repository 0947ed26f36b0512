import type { FileEntryWithStats, SFTPWrapper, Stats } from 'ssh2';
import type { Spellings } from '../../support/spellings.ts';
import { orAborted } from '../../../basics/concurrency/abort.ts';
import { AlreadyExistsError, NotFoundError, StorageFullError } from '../../../errors/errors.ts';
import {
  ROOT,
  type Base,
  type Found,
  type ListedEntry,
  type Names,
  type PathSession,
} from '../paths/session.ts';
import type { SourcePath } from '../../../storage/source-path.ts';
import type { SftpConnection } from './connection.ts';
import { errorOf, isPlainRefusal, statusOf } from './errors.ts';

const END_OF_FILE = 1;
/** How `ls` begins the line of a link. Some servers send the bare name instead of a line. */
const LINK = /^l[-rwxsStT]{9}/u;

const kindOf = (attributes: Stats): Found['kind'] => {
  if (attributes.isDirectory()) return 'folder';
  return attributes.isFile() ? 'file' : 'other';
};

/** What the server's attributes say of an entry. */
export const foundFrom = (name: string, attributes: Stats): Found => {
  const kind = kindOf(attributes);
  const seconds = attributes.mtime as number | undefined;
  return {
    name,
    kind,
    size: kind === 'file' ? attributes.size : undefined,
    modifiedAt: seconds === undefined ? undefined : seconds * 1000,
    etag: undefined,
  };
};

type Send<Value> = (
  sftp: SFTPWrapper,
  answered: (error?: Error | null, value?: Value) => void,
  path: string,
) => void;

/**
 * The requests of one operation. Looks are given up when the signal aborts; a request that changes something
 * is waited for, because the server goes on with it.
 */
export class Session implements PathSession {
  readonly connection: SftpConnection;
  readonly signal: AbortSignal | undefined;
  readonly #base: Base;
  readonly #spellings: Spellings;

  constructor(connection: SftpConnection, base: Base, spellings: Spellings, signal: AbortSignal | undefined) {
    this.connection = connection;
    this.signal = signal;
    this.#base = base;
    this.#spellings = spellings;
  }

  /** The same, for what must be done also after the signal has aborted. */
  unbound(): Session {
    return new Session(this.connection, this.#base, this.#spellings, undefined);
  }

  /** The path on the server. */
  pathOf(path: SourcePath): string {
    const segments = [...this.#base.prefix, ...this.#spellings.segmentsOf(path)];
    return [this.#base.directory.replace(/\/$/u, ''), ...segments].join('/') || '/';
  }

  /**
   * What lies at a path, all folders on the way being folders and no links: they are asked about in one go.
   * Of the root, only those below its directory.
   */
  async look(path: SourcePath): Promise<Found | undefined> {
    const whole = this.pathOf(path);
    const own = this.#base.directory.replace(/\/$/u, '').length + 1;
    const ends = [...whole.slice(own).matchAll(/[^/]+/gu)].map(
      ({ index, 0: name }) => own + index + name.length,
    );
    const asked = Promise.allSettled(ends.map((end) => this.#lstat(whole.slice(0, end), path)));
    let last: Found | undefined = ROOT;
    for (const answer of await orAborted(asked, this.signal)) {
      // Servers have several refusals for what would lie below a file.
      if (last?.kind !== 'folder') return undefined;
      if (answer.status === 'rejected') throw answer.reason;
      last = answer.value;
    }
    return last === undefined ? undefined : { ...last, name: path.name };
  }

  async kindAt(path: SourcePath, whole: string): Promise<Found['kind'] | undefined> {
    return (await this.#lstat(whole, path))?.kind;
  }

  /** Sends what changes something. @throws as errorOf, and the signal's reason before anything is sent */
  async change<Value = void>(what: string, path: SourcePath, send: Send<Value>): Promise<Value> {
    this.signal?.throwIfAborted();
    return this.#send(what, path, send);
  }

  /** Sends what only looks. @throws as errorOf, the signal's reason */
  async ask<Value>(what: string, path: SourcePath, send: Send<Value>): Promise<Value> {
    this.signal?.throwIfAborted();
    return orAborted(this.#send(what, path, send), this.signal);
  }

  /** Runs `work` with an open file or folder, which is closed on every way out. */
  async withHandle<T>(
    what: 'opendir' | 'r' | 'wx',
    path: SourcePath,
    work: (handle: Buffer) => Promise<T>,
  ): Promise<T> {
    const handle = await this.open(what, path);
    try {
      return await work(handle);
    } finally {
      await this.close(handle).catch(() => undefined);
    }
  }

  /** Opens a file for reading, a new one for writing, or a folder. */
  async open(
    what: 'opendir' | 'r' | 'wx',
    path: SourcePath,
    whole: string = this.pathOf(path),
  ): Promise<Buffer> {
    // An open one must be closed: it is waited for.
    return this.change(`open ${what}`, path, (sftp, answered) =>
      what === 'opendir' ? sftp.opendir(whole, answered) : sftp.open(whole, what, answered),
    );
  }

  close(handle: Buffer): Promise<void> {
    return this.connection.request<void>((sftp, answered) => sftp.close(handle, answered));
  }

  async fstat(handle: Buffer, path: SourcePath): Promise<Found> {
    const attributes = await this.ask<Stats>('fstat', path, (sftp, answered) => sftp.fstat(handle, answered));
    return foundFrom(path.name, attributes);
  }

  /** All entries of a folder, as the server has them. */
  async *entries(
    folder: SourcePath,
    whole?: string,
  ): AsyncGenerator<readonly ListedEntry[], void, undefined> {
    const handle = await this.open('opendir', folder, whole);
    try {
      for (;;) {
        const entries = await this.#readdir(handle, folder);
        if (entries === undefined) return;
        yield entries;
      }
    } finally {
      await this.close(handle).catch(() => undefined);
    }
  }

  async mkdir(path: SourcePath): Promise<void> {
    try {
      await this.change('mkdir', path, (sftp, answered, whole) => sftp.mkdir(whole, answered));
    } catch (error) {
      if (isPlainRefusal(error) && (await this.look(path)) !== undefined)
        throw new AlreadyExistsError({ cause: error });
      throw error;
    }
  }

  /** Removes a file, or a link itself. */
  unlink(path: SourcePath, whole = this.pathOf(path)): Promise<void> {
    return this.change('remove', path, (sftp, answered) => sftp.unlink(whole, answered));
  }

  /** Removes a folder that holds nothing: the server decides. */
  rmdir(path: SourcePath, whole = this.pathOf(path)): Promise<void> {
    return this.change('rmdir', path, (sftp, answered) => sftp.rmdir(whole, answered));
  }

  /** As the protocol has it: refused when anything has the target's name. */
  rename({ from, to }: Names): Promise<void> {
    return this.change('rename', from, (sftp, answered, whole) =>
      sftp.rename(whole, this.pathOf(to), answered),
    );
  }

  /** The next entries of an open folder; undefined at its end. */
  async #readdir(handle: Buffer, path: SourcePath): Promise<readonly ListedEntry[] | undefined> {
    try {
      const entries = await this.ask<FileEntryWithStats[]>('readdir', path, (sftp, answered) =>
        sftp.readdir(handle, answered),
      );
      return entries.map(({ filename, longname, attrs }) => {
        const found = foundFrom(filename, attrs);
        // Some servers say of a link what it points to: the text still shows it as one.
        return { written: filename, found: LINK.test(longname) ? { ...found, kind: 'other' } : found };
      });
    } catch (error) {
      if (statusOf(error) === END_OF_FILE) return undefined;
      throw error;
    }
  }

  /** What a refusal without a reason means, when content could not be stored. */
  async fullOr(error: unknown, folder: SourcePath): Promise<unknown> {
    if (!isPlainRefusal(error)) return error;
    const left = await this.connection
      .request<{ readonly f_bavail: number }>((sftp, answered) =>
        sftp.ext_openssh_statvfs(this.pathOf(folder), answered),
      )
      .catch(() => undefined);
    return left?.f_bavail === 0 ? new StorageFullError({ detail: 'no room is left', cause: error }) : error;
  }

  async #lstat(whole: string, path: SourcePath): Promise<Found | undefined> {
    try {
      return foundFrom(
        '',
        await this.change<Stats>('lstat', path, (sftp, answered) => sftp.lstat(whole, answered)),
      );
    } catch (error) {
      if (error instanceof NotFoundError) return undefined;
      throw error;
    }
  }

  async #send<Value>(what: string, path: SourcePath, send: Send<Value>): Promise<Value> {
    try {
      const whole = this.pathOf(path);
      return await this.connection.request<Value>((sftp, answered) => send(sftp, answered, whole));
    } catch (error) {
      throw errorOf(`${what} /${path.toString()}`, error);
    }
  }
}
