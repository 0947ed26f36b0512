import {
  AlreadyExistsError,
  BusyError,
  NotFoundError,
  StorageDeniedError,
  StorageFullError,
  StorageTimeoutError,
  StorageUnavailableError,
  StowageError,
  UnsafeNameError,
  WrongKindError,
} from '../../errors/errors.ts';

type Cause = { readonly detail: string; readonly cause: unknown };

const byCode: ReadonlyMap<string, (options: Cause) => StowageError> = new Map(
  [
    [['ENOENT', 'ENOTDIR', 'ELOOP', 'ENXIO', 'ENODEV'], (options: Cause) => new NotFoundError(options)],
    [['EEXIST', 'ENOTEMPTY'], (options: Cause) => new AlreadyExistsError(options)],
    [['EISDIR'], (options: Cause) => new WrongKindError(options)],
    [['EACCES', 'EPERM', 'EROFS'], (options: Cause) => new StorageDeniedError(options)],
    [['ENOSPC', 'EDQUOT', 'EFBIG'], (options: Cause) => new StorageFullError(options)],
    // Names that the protocol allows and this file system does not.
    [['ENAMETOOLONG', 'EILSEQ', 'EINVAL'], (options: Cause) => new UnsafeNameError(options)],
    [['EMFILE', 'ENFILE', 'ENOMEM', 'EAGAIN'], (options: Cause) => new BusyError(options)],
    [['ETIMEDOUT'], (options: Cause) => new StorageTimeoutError(options)],
  ].flatMap(([codes, make]) =>
    (codes as string[]).map((code) => [code, make as (options: Cause) => StowageError] as const),
  ),
);

/**
 * The code of an error of the system (`ENOENT`), else undefined. Read from the shape: in another realm, such
 * as that of a test runner, errors of the system are not instances of this realm's `Error`.
 */
export const systemCode = (error: unknown): string | undefined =>
  typeof error === 'object' && error !== null && 'code' in error && typeof error.code === 'string'
    ? error.code
    : undefined;

/**
 * Our error for one that the file system reported, which travels along as `cause`. Errors of our own pass as
 * they are; what is not an error of the system becomes StorageUnavailableError.
 * @param operation what was tried, for the log only
 */
export const fromSystemError = (error: unknown, operation: string): StowageError => {
  if (error instanceof StowageError) return error;
  const code = systemCode(error);
  const detail = `${operation} failed${code === undefined ? '' : ` (${code})`}`;
  const make = code === undefined ? undefined : byCode.get(code);
  return make?.({ detail, cause: error }) ?? new StorageUnavailableError({ detail, cause: error });
};
