import type { FileEntryWithStats, SFTPWrapper, Stats } from 'ssh2';
import { LONGEST_NAME, type Spellings } from '../../support/spellings.ts';
import { orAborted } from '../../../basics/concurrency/abort.ts';
import { AlreadyExistsError, ifMissing, StorageFullError } from '../../../errors/errors.ts';
import {
  ROOT,
  type Base,
  type Found,
  type ListedEntry,
  type Names,
  type PathSession,
  pathOn,
} from '../paths/session.ts';
import type { EntryKind } from '../../../storage/adapter.ts';
import type { SourcePath } from '../../../storage/source-path.ts';
import type { SftpConnection } from './connection.ts';
import { errorOf, isPlainRefusal, statusOf } from './errors.ts';

const END_OF_FILE = 1;
/** Start of a line in `ls` format. Some servers send the bare name instead of a line. */
const LINE = /^([-dl])[-rwxsStT]{8}/u;
const KIND_BITS = 0o170000;

/** Undefined where the server reports only permissions, as SolarWinds does. */
export const kindOf = (attributes: Stats): Found['kind'] | undefined => {
  if ((attributes.mode & KIND_BITS) === 0) return undefined;
  if (attributes.isDirectory()) return 'folder';
  return attributes.isFile() ? 'file' : 'other';
};

/** Converts the server's attributes of an entry; `untold` is its kind where they do not include it. */
const foundFrom = (name: string, attributes: Stats, untold: Found['kind']): Found => {
  const kind = kindOf(attributes) ?? untold;
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
  done: (error?: Error | null, value?: Value) => void,
  path: string,
) => void;

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

  unbound(): Session {
    return new Session(this.connection, this.#base, this.#spellings, undefined);
  }

  pathOf(path: SourcePath): string {
    return pathOn(this.#base, this.#spellings.segmentsOf(path));
  }

  /**
   * The entry at a path, if all its parents are folders and not links: they are checked concurrently. For the
   * root, only the folders below its directory are checked.
   */
  async lookUp(path: SourcePath): Promise<Found | undefined> {
    const whole = this.pathOf(path);
    const own = this.#base.directory.replace(/\/$/u, '').length + 1;
    const ends = [...whole.slice(own).matchAll(/[^/]+/gu)].map(
      ({ index, 0: name }) => own + index + name.length,
    );
    const asked = Promise.allSettled(ends.map((end) => this.#lstat(whole.slice(0, end), path)));
    let last: Found | undefined = ROOT;
    for (const settled of await orAborted(asked, this.signal)) {
      // Servers respond with various errors for paths below a file.
      if (last?.kind !== 'folder') return undefined;
      if (settled.status === 'rejected') throw settled.reason;
      last = settled.value;
    }
    return last === undefined ? undefined : { ...last, name: path.name };
  }

  /** The server's metadata of a file that was just stored; undefined when it is missing. */
  async stored(path: SourcePath): Promise<Found | undefined> {
    const found = await this.#lstat(this.pathOf(path), path);
    return found && { ...found, name: path.name };
  }

  async kindAt(path: SourcePath, whole: string): Promise<Found['kind'] | undefined> {
    return (await this.#lstat(whole, path))?.kind;
  }

  /** Sends a request that changes something. @throws as errorOf, and the signal's reason before sending */
  async change<Value = void>(what: string, path: SourcePath, send: Send<Value>): Promise<Value> {
    this.signal?.throwIfAborted();
    return this.#send(what, path, send);
  }

  /** Sends a request that only reads. @throws as errorOf, the signal's reason */
  async ask<Value>(what: string, path: SourcePath, send: Send<Value>): Promise<Value> {
    this.signal?.throwIfAborted();
    return orAborted(this.#send(what, path, send), this.signal);
  }

  /**
   * Runs `work` with an open file, which is always closed. For a new file, the server may report only at the
   * close that it could not store the content: that is an error.
   */
  async withHandle<T>(what: 'r' | 'wx', path: SourcePath, work: (handle: Buffer) => Promise<T>): Promise<T> {
    const handle = await this.open(what, path);
    let isStored = false;
    try {
      const result = await work(handle);
      isStored = what === 'wx';
      return result;
    } finally {
      await this.close(handle).catch((error: unknown) => {
        if (isStored) throw errorOf(`close /${path.toString()}`, error);
      });
    }
  }

  /** Opens a file for reading, a new one for writing, or a folder. */
  async open(
    what: 'opendir' | 'r' | 'wx',
    path: SourcePath,
    whole: string = this.pathOf(path),
  ): Promise<Buffer> {
    // Not abandoned on abort: an opened handle must be closed.
    return this.change(`open ${what}`, path, (sftp, done) =>
      what === 'opendir' ? sftp.opendir(whole, done) : sftp.open(whole, what, done),
    );
  }

  close(handle: Buffer): Promise<void> {
    return this.connection.request<void>((sftp, done) => sftp.close(handle, done));
  }

  async fstat(handle: Buffer, path: SourcePath): Promise<Found> {
    const attributes = await this.ask<Stats>('fstat', path, (sftp, done) => sftp.fstat(handle, done));
    return foundFrom(path.name, attributes, 'file');
  }

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
    const making = this.change<void>('mkdir', path, (sftp, done, whole) => sftp.mkdir(whole, done));
    await making.catch((error: unknown) => this.#throwConflict(path, error));
  }

  unlink(path: SourcePath, whole = this.pathOf(path)): Promise<void> {
    return this.change('remove', path, (sftp, done) => sftp.unlink(whole, done));
  }

  rmdir(path: SourcePath, whole = this.pathOf(path)): Promise<void> {
    return this.change('rmdir', path, (sftp, done) => sftp.rmdir(whole, done));
  }

  /** The protocol's rename: rejected when an entry has the target's name. */
  rename({ from, to }: Names): Promise<void> {
    return this.change('rename', from, (sftp, done, whole) => sftp.rename(whole, this.pathOf(to), done));
  }

  /** @throws AlreadyExistsError when an entry has the target's name */
  renameNew(names: Names): Promise<void> {
    return this.rename(names).catch((error: unknown) => this.#throwConflict(names.to, error));
  }

  /** Atomically replaces a file or an empty folder of that name. @throws UnsupportedError */
  replace({ from, to }: Names): Promise<void> {
    return this.change('posix-rename', from, (sftp, done, whole) =>
      sftp.ext_openssh_rename(whole, this.pathOf(to), done),
    );
  }

  /** Creates a hard link, unless an entry has the name. @throws UnsupportedError */
  link({ from, to }: Names): Promise<void> {
    return this.change('hardlink', from, (sftp, done, whole) =>
      sftp.ext_openssh_hardlink(whole, this.pathOf(to), done),
    );
  }

  /** Takes a name with an empty item, created exclusively. @throws AlreadyExistsError */
  async takeName(to: SourcePath, kind: EntryKind): Promise<void> {
    if (kind === 'folder') return this.mkdir(to);
    const making = this.open('wx', to).then((handle) => this.close(handle).catch(() => undefined));
    await making.catch((error: unknown) => this.#throwConflict(to, error));
  }

  /** Removes the item that has taken a name, unless it has been replaced. */
  async giveNameBack(to: SourcePath, kind: EntryKind): Promise<void> {
    const unbound = this.unbound();
    // The server removes a folder only while it is empty.
    if (kind === 'folder') await unbound.rmdir(to);
    else if ((await unbound.lookUp(to))?.size === 0) await unbound.unlink(to);
  }

  /** The next entries of an open folder; undefined at its end. */
  async #readdir(handle: Buffer, path: SourcePath): Promise<readonly ListedEntry[] | undefined> {
    try {
      const entries = await this.ask<FileEntryWithStats[]>('readdir', path, (sftp, done) =>
        sftp.readdir(handle, done),
      );
      return entries.map(({ filename, longname, attrs }) => {
        const [, letter] = LINE.exec(longname) ?? [];
        const shown = letter === '-' ? 'file' : letter === 'd' ? 'folder' : 'other';
        const found = foundFrom(filename, attrs, shown);
        // Some servers report the attributes of a link's target: the text still shows the link.
        return { written: filename, found: letter === 'l' ? { ...found, kind: 'other' } : found };
      });
    } catch (error) {
      if (statusOf(error) === END_OF_FILE) return undefined;
      throw error;
    }
  }

  /** The meaning of an unspecific rejection when content could not be stored: perhaps a full disk. */
  async fullOr(error: unknown, folder: SourcePath): Promise<unknown> {
    if (!isPlainRefusal(error)) return error;
    const left = await this.connection
      .request<{ readonly f_bavail: number }>((sftp, done) =>
        sftp.ext_openssh_statvfs(this.pathOf(folder), done),
      )
      .catch(() => undefined);
    return left?.f_bavail === 0 ? new StorageFullError({ detail: 'no room is left', cause: error }) : error;
  }

  async #lstat(whole: string, path: SourcePath): Promise<Found | undefined> {
    const looking = this.change<Stats>('lstat', path, (sftp, done) => sftp.lstat(whole, done));
    const isTooLong = Buffer.byteLength(whole.slice(whole.lastIndexOf('/') + 1)) > LONGEST_NAME;
    const attributes = await looking.catch((error: unknown) =>
      // Not every server has a status of its own for such a name.
      isTooLong && isPlainRefusal(error) ? undefined : ifMissing(error),
    );
    if (attributes === undefined || kindOf(attributes) !== undefined)
      return attributes && foundFrom('', attributes, 'other');
    const accepts = (working: Promise<unknown>): Promise<boolean> =>
      working.then(
        () => true,
        (error: unknown) => {
          if (statusOf(error) === undefined) throw error;
          return false;
        },
      );
    // A link to a folder can be opened like one.
    const isLink = await accepts(this.ask('readlink', path, (sftp, done) => sftp.readlink(whole, done)));
    const opening = async () => this.close(await this.open('opendir', path, whole));
    return foundFrom('', attributes, isLink ? 'other' : (await accepts(opening())) ? 'folder' : 'file');
  }

  /** @throws AlreadyExistsError when the rejection means that, else `error` */
  async #throwConflict(path: SourcePath, error: unknown): Promise<never> {
    if (isPlainRefusal(error) && (await this.lookUp(path)) !== undefined)
      throw new AlreadyExistsError({ cause: error });
    throw error;
  }

  async #send<Value>(what: string, path: SourcePath, send: Send<Value>): Promise<Value> {
    try {
      const whole = this.pathOf(path);
      return await this.connection.request<Value>((sftp, done) => send(sftp, done, whole));
    } catch (error) {
      throw errorOf(`${what} /${path.toString()}`, error);
    }
  }
}
