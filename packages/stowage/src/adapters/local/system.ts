import * as fs from 'node:fs';
import { setTimeout as wait } from 'node:timers/promises';
import { promisify } from 'node:util';
import { fromSystemError, succeeds, systemCode } from '../../basics/files/system-errors.ts';
import type { Entry, OperationOptions, Stat } from '../../storage/adapter.ts';

/** A name or path for system calls; bytes where the name may not be valid text. */
export type Name = string | Buffer;

// Promisified callback functions: plain numbers instead of FileHandle objects, and half the cost per call.
export const openFile: (path: Name, flags: number, mode?: number) => Promise<number> = promisify(fs.open);
export const closeFile: (fd: number) => Promise<void> = promisify(fs.close);
export const writeParts: (fd: number, parts: readonly Uint8Array[]) => Promise<{ bytesWritten: number }> =
  promisify(fs.writev);
export const flushData: (fd: number) => Promise<void> = promisify(fs.fdatasync);
export const flushAll: (fd: number) => Promise<void> = promisify(fs.fsync);
export const makeLink: (existing: Name, path: Name) => Promise<void> = promisify(fs.link);
export const copyBySystem: (from: Name, to: Name, mode: number) => Promise<void> = promisify(fs.copyFile);
export const changeMode: (path: Name, mode: number) => Promise<void> = promisify(fs.chmod);
export const changeModeOf: (fd: number, mode: number) => Promise<void> = promisify(fs.fchmod);
export const unlinkFile: (path: Name) => Promise<void> = promisify(fs.unlink);
export const removeEmpty: (path: Name) => Promise<void> = promisify(fs.rmdir);

const rename: (from: Name, to: Name) => Promise<void> = promisify(fs.rename);

/** Windows replaces no open file and moves no folder with one; most readers and scanners soon close it. */
const WAITS_MS = process.platform === 'win32' ? [10, 30, 100, 300, 600] : [];
const MAY_BE_OPEN: ReadonlySet<string | undefined> = new Set(['EPERM', 'EACCES', 'EBUSY']);

/** Renames a file or folder; on Windows, waits for about a second until others have closed it. */
export const renameTo = async (from: Name, to: Name, waits = WAITS_MS): Promise<void> => {
  for (const milliseconds of waits) {
    try {
      return await rename(from, to);
    } catch (error) {
      if (!MAY_BE_OPEN.has(systemCode(error))) throw error;
    }
    await wait(milliseconds);
  }
  return rename(from, to);
};

/** Local file systems that show every change immediately: ext2 to ext4, XFS, Btrfs, tmpfs, overlayfs. */
export const EXACT: ReadonlySet<number> = new Set([0xef53, 0x58465342, 0x9123683e, 0x01021994, 0x794c7630]);

const statfs = promisify(fs.statfs);

export const isExactAt = (path: string): Promise<boolean> =>
  statfs(path).then(
    ({ type }) => EXACT.has(type),
    () => false,
  );

const mkdir = promisify(fs.mkdir);
const lstat = promisify(fs.lstat);
const fstat = promisify(fs.fstat);
const stat = promisify(fs.stat);
const read = promisify(fs.read);

export const makeDirectory = (path: Name, mode: number): Promise<void> => mkdir(path, { mode });

export const lstatOf = (path: Name): Promise<fs.Stats> => lstat(path);

/** Whether an entry exists at a path, a dangling link included. */
export const isThere = (path: Name): Promise<boolean> => succeeds(lstat(path));

/** With nanoseconds and exact inode numbers, which ETags need. */
export const exactLstat = (path: Name): Promise<fs.BigIntStats> => lstat(path, { bigint: true });

export const exactFstat = (fd: number): Promise<fs.BigIntStats> => fstat(fd, { bigint: true });

/** Follows links, as needed for the path of a handle; never use it on a name inside a root. */
export const followedStat = (path: Name): Promise<fs.BigIntStats> => stat(path, { bigint: true });

export const changeTimes: (path: Name, accessed: number, modified: number) => Promise<void> = promisify(
  fs.utimes,
);
export const setTimes: (fd: number, accessed: number, modified: number) => Promise<void> = promisify(
  fs.futimes,
);

/** Reads at most the length of the buffer, from a position; `null`: from the file's own position. */
export const readPart = async (fd: number, into: Buffer, at: number | null = null): Promise<number> =>
  (await read(fd, into, 0, into.length, at)).bytesRead;

/**
 * A directory whose entries are read in batches. Where the file system reports no kinds (sshfs, some NFS), Node
 * calls stat for each entry, and the read fails when one is gone or damaged, or its name is not valid text
 * (ENOENT).
 */
export const openDirectory: (
  path: string,
  options: { readonly encoding: 'utf8'; readonly bufferSize: number },
) => Promise<fs.Dir> = promisify(fs.opendir);

/** A directory whose entries have the bytes of their names, which need not be valid text. */
export interface ByteDirectory {
  read(): Promise<fs.Dirent<Buffer> | null>;
  readSync(): fs.Dirent<Buffer> | null;
  close(): Promise<void>;
  closeSync(): void;
}

interface ByteOptions {
  readonly encoding: 'buffer';
  readonly bufferSize: number;
}

// The types of Node lack this encoding.
export const openBytes = promisify(fs.opendir) as unknown as (
  path: string,
  options: ByteOptions,
) => Promise<ByteDirectory>;

export const openBytesSync = fs.opendirSync as unknown as (
  path: string,
  options: ByteOptions,
) => ByteDirectory;

const readTextFile: (path: string, encoding: 'utf8') => Promise<string> = promisify(fs.readFile);

export const readNames: (path: Name) => Promise<string[]> = promisify(fs.readdir);

export const realPathOf: (path: string) => Promise<string> = promisify(fs.realpath.native);

/** Mounts, bind mounts included, with the types of their file systems; empty on systems other than Linux. */
export const readMounts = async (): Promise<readonly { readonly point: string; readonly type: string }[]> => {
  const table = await readTextFile('/proc/self/mountinfo', 'utf8').catch(() => '');
  return table.split('\n').flatMap((line) => {
    const fields = line.split(' ');
    const type = fields[fields.indexOf('-', 6) + 1] ?? '';
    // Space, tab, newline and backslash are escaped as octal numbers.
    const point = fields[4]?.replace(/\\([0-7]{3})/g, (_, code: string) =>
      String.fromCharCode(Number.parseInt(code, 8)),
    );
    return point === undefined ? [] : [{ point, type }];
  });
};

export const readMountPoints = async (): Promise<readonly string[]> =>
  (await readMounts()).map(({ point }) => point);

/** An entry from its stats; undefined for links, sockets, pipes and devices. */
export const entryOf = (name: string, stats: fs.Stats | fs.BigIntStats): Entry | undefined => {
  const modifiedAt = Math.floor(Number(stats.mtimeMs));
  const changedAt = Math.floor(Number(stats.ctimeMs));
  if (stats.isFile()) return { name, kind: 'file', size: Number(stats.size), modifiedAt, changedAt };
  if (stats.isDirectory()) return { name, kind: 'folder', size: undefined, modifiedAt, changedAt };
  return undefined;
};

/** The entry at a path, by a synchronous call; undefined also when it is missing. */
export const readEntry = (path: string, name: string): Entry | undefined => {
  const stats = fs.lstatSync(path, { throwIfNoEntry: false });
  return stats && entryOf(name, stats);
};

/** ETag of a file: it changes with every write, since each creates a new file. */
export const etagOf = (stats: fs.BigIntStats): string =>
  `"${stats.size.toString(16)}-${stats.mtimeNs.toString(16)}-${stats.ino.toString(16)}"`;

/** As `entryOf`, with the ETag of a file. */
export const statOf = (name: string, stats: fs.BigIntStats): Stat | undefined => {
  const entry = entryOf(name, stats);
  if (entry === undefined) return undefined;
  return { ...entry, etag: entry.kind === 'file' ? etagOf(stats) : undefined };
};

/** Flags for opening a file to read: do not follow links, do not wait for pipes. */
export const READ_ONLY =
  fs.constants.O_RDONLY | (fs.constants.O_NOFOLLOW ?? 0) | (fs.constants.O_NONBLOCK ?? 0);

/** Opens a file for reading, without following links or waiting for pipes. @throws NotFoundError */
export const openForReading = async (
  path: Name,
): Promise<{ readonly fd: number; readonly stats: fs.BigIntStats }> => {
  const fd = await openFile(path, READ_ONLY);
  try {
    return { fd, stats: await exactFstat(fd) };
  } catch (error) {
    await closeFile(fd);
    throw error;
  }
};

/** Runs `work` with a file that is open for reading. @see openForReading */
export const reading = async <T>(
  path: Name,
  work: (opened: { readonly fd: number; readonly stats: fs.BigIntStats }) => Promise<T>,
): Promise<T> => {
  const opened = await openForReading(path);
  try {
    return await work(opened);
  } finally {
    await closeFile(opened.fd);
  }
};

/** Runs `work` with an opened folder or directory, which is closed afterwards. */
export const closing = async <Opened extends { close(): Promise<void> }, T>(
  opening: Promise<Opened>,
  work: (opened: Opened) => Promise<T>,
): Promise<T> => {
  const opened = await opening;
  try {
    return await work(opened);
  } finally {
    await opened.close();
  }
};

export const NEW_FILE =
  fs.constants.O_WRONLY | fs.constants.O_CREAT | fs.constants.O_EXCL | (fs.constants.O_NOFOLLOW ?? 0);

/** Creates a file; fails when the name exists. */
export const createFile = (path: Name): Promise<number> => openFile(path, NEW_FILE, 0o666);

/** A link, socket, pipe or device. False when the file system reports no types; then a stat is needed. */
export const isSpecial = (entry: fs.Dirent): boolean =>
  entry.isSymbolicLink() ||
  entry.isFIFO() ||
  entry.isSocket() ||
  entry.isCharacterDevice() ||
  entry.isBlockDevice();

export const kindOf = (entry: fs.Dirent | fs.Stats | undefined): Entry['kind'] | undefined => {
  if (entry?.isFile() === true) return 'file';
  return entry?.isDirectory() === true ? 'folder' : undefined;
};

const GONE: ReadonlySet<string | undefined> = new Set(['ENOENT', 'ENOTDIR', 'ELOOP']);

/** Whether the error means that the entry was removed or replaced since it was listed. */
export const isGone = (error: unknown): boolean => GONE.has(systemCode(error));

const UNREADABLE: ReadonlySet<string | undefined> = new Set([
  'EACCES',
  'EPERM',
  'ENOTCONN',
  'ESTALE',
  'EHOSTDOWN',
  'EIO',
  // EUCLEAN, which libuv does not name.
  'Unknown system error -117',
]);

/** Whether the error is about this entry alone: denied, damaged, or a mount that has ended. */
export const isUnreadable = (error: unknown): boolean => UNREADABLE.has(systemCode(error));

/**
 * Runs an operation on the file system. Does not start it when the signal is aborted; converts its errors,
 * except the signal's reason.
 * @param name for the log
 */
export const attempt = async <T>(
  name: string,
  options: OperationOptions,
  work: () => Promise<T>,
): Promise<T> => {
  options.signal?.throwIfAborted();
  try {
    return await work();
  } catch (error) {
    options.signal?.throwIfAborted();
    throw fromSystemError(error, name);
  }
};
