import * as errors from '../../../errors/errors.ts';
import { errorOfRefusal, refusalOf } from '../paths/session.ts';

/** The server has not announced an extension of the protocol. */
export class MissingExtensionError extends Error {}

/** Statuses of version 3 of the protocol, and those of later versions that servers send anyway. */
const byStatus = errors.errorsByCode(
  [errors.NotFoundError, 2, 10],
  [errors.StorageDeniedError, 3, 12],
  // 5: status of OpenSSH for a name that its file system rejects.
  [errors.UnsafeNameError, 5, 20],
  [errors.UnsupportedError, 8],
  [errors.StorageFullError, 14, 15],
  [errors.BusyError, 17],
);

export const statusOf = refusalOf;

/**
 * Rejected without a specific reason: mostly because an entry is in the way. Status 4 stands for every error
 * without a status of its own, 11 and 18 for a taken name and a folder that is not empty.
 */
export const isPlainRefusal = (error: unknown): boolean => [4, 11, 18].includes(statusOf(error) ?? 0);

export const errorOf = (asked: string, error: unknown): errors.StowageError =>
  error instanceof MissingExtensionError
    ? new errors.UnsupportedError({ detail: `${asked}: ${error.message}`, cause: error })
    : errorOfRefusal(byStatus, asked, error);
