import {
  BusyError,
  errorsByCode,
  NotFoundError,
  StorageDeniedError,
  StorageFullError,
  type StowageError,
  UnsafeNameError,
  UnsupportedError,
} from '../../../errors/errors.ts';
import { errorOfRefusal, refusalOf } from '../paths/session.ts';

/** The server has not announced an extension of the protocol. */
export class MissingExtensionError extends Error {}

/** Statuses of version 3 of the protocol, and those of later versions that servers send all the same. */
const byStatus = errorsByCode(
  [NotFoundError, 2, 10],
  [StorageDeniedError, 3, 12],
  // 5: what OpenSSH makes of a name that its file system refuses.
  [UnsafeNameError, 5, 20],
  [UnsupportedError, 8],
  [StorageFullError, 14, 15],
  [BusyError, 17],
);

/** The status that the server refused a request with; undefined for what is not a refusal. */
export const statusOf = refusalOf;

/**
 * Refused without a reason that the status tells: that something is in the way, above all. Status 4 stands
 * for every error that the protocol has no word for, 11 and 18 for a name that is taken and a folder that is
 * not empty.
 */
export const isPlainRefusal = (error: unknown): boolean => [4, 11, 18].includes(statusOf(error) ?? 0);

/** @see errorOfRefusal */
export const errorOf = (asked: string, error: unknown): StowageError =>
  error instanceof MissingExtensionError
    ? new UnsupportedError({ detail: `${asked}: ${error.message}`, cause: error })
    : errorOfRefusal(byStatus, asked, error);
