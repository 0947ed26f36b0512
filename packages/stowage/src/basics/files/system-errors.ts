import { fsync } from 'node:fs';
import { type FileHandle, open } from 'node:fs/promises';
import { promisify } from 'node:util';
import * as errors from '../../errors/errors.ts';

const byCode = errors.errorsByCode(
  [errors.NotFoundError, 'ENOENT', 'ENOTDIR', 'ELOOP', 'ENXIO', 'ENODEV'],
  [errors.AlreadyExistsError, 'EEXIST', 'ENOTEMPTY'],
  [errors.WrongKindError, 'EISDIR'],
  // EBUSY: a file system is mounted there.
  [errors.StorageDeniedError, 'EACCES', 'EPERM', 'EROFS', 'EBUSY'],
  [errors.StorageFullError, 'ENOSPC', 'EDQUOT', 'EFBIG'],
  // Names that the protocol allows and this file system does not.
  [errors.UnsafeNameError, 'ENAMETOOLONG', 'EILSEQ', 'EINVAL'],
  [errors.BusyError, 'EMFILE', 'ENFILE', 'ENOMEM', 'EAGAIN'],
  [errors.StorageTimeoutError, 'ETIMEDOUT'],
);

/**
 * The code of a system error (`ENOENT`), else undefined. Tests the shape: in another realm, such as that of a
 * test runner, system errors are not instances of this realm's `Error`.
 */
export const systemCode = (error: unknown): string | undefined =>
  typeof error === 'object' && error !== null && 'code' in error && typeof error.code === 'string'
    ? error.code
    : undefined;

/** A handler for `catch`: undefined for a system error with one of the codes. @throws any other error */
export const ifCode =
  (...codes: readonly string[]) =>
  (error: unknown): undefined => {
    if (!codes.includes(systemCode(error) ?? '')) throw error;
  };

/** Whether the work succeeds; its error does not matter. */
export const succeeds = (work: Promise<unknown>): Promise<boolean> =>
  work.then(
    () => true,
    () => false,
  );

// Windows flushes no folders (EPERM), some network file systems nothing.
const NO_FLUSH: ReadonlySet<string | undefined> = new Set([
  'EINVAL',
  'ENOTSUP',
  'ENOSYS',
  'EBADF',
  'EPERM',
  'EACCES',
  'EISDIR',
]);

/** Whether a flush failed because the system or the file system cannot flush this file or folder. */
export const cannotFlush = (error: unknown): boolean => NO_FLUSH.has(systemCode(error));

/** Flushes a file or folder. The handles of Yarn Plug'n'Play cannot. */
export const flush = (handle: FileHandle): Promise<void> =>
  process.versions['pnp'] === undefined ? handle.sync() : promisify(fsync)(handle.fd);

/** Writes a file that only this user may read, and flushes it. */
export const writeFlushed = async (path: string, text: string, flags: 'w' | 'wx'): Promise<void> => {
  const handle = await open(path, flags, 0o600);
  try {
    await handle.writeFile(text);
    await flush(handle);
  } finally {
    await handle.close();
  }
};

/**
 * Converts an error of the file system, which becomes the `cause`. StowageErrors stay as they are; errors
 * without a system code become StorageUnavailableError.
 * @param operation name of the operation, for the log only
 */
export const fromSystemError = (error: unknown, operation: string): errors.StowageError => {
  if (error instanceof errors.StowageError) return error;
  const code = systemCode(error);
  const detail = `${operation} failed${code === undefined ? '' : ` (${code})`}`;
  return new (byCode.get(code) ?? errors.StorageUnavailableError)({ detail, cause: error });
};
