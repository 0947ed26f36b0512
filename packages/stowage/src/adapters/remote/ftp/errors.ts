import * as errors from '../../../errors/errors.ts';
import { SilenceError } from '../core/connections.ts';
import { errorOfRefusal, refusalOf } from '../paths/session.ts';

/** Replies of RFC 959 with a specific meaning. The meaning of 550 needs a check afterwards. */
const byCode = errors.errorsByCode(
  [errors.BusyError, 450],
  [errors.StorageFullError, 452, 552],
  // 500 and 501, for commands that every server supports: the line is too long for it.
  [errors.UnsafeNameError, 500, 501],
  [errors.UnsupportedError, 502, 504],
  [errors.StorageDeniedError, 530, 532, 550, 553],
);

export const codeOf = refusalOf;

export const isUnknownCommand = (error: unknown): boolean => [500, 502, 504].includes(codeOf(error) ?? 0);

/** Rejected permanently because of the arguments: not temporarily (4xx), nor because of the login. */
export const isFinalRefusal = (error: unknown): boolean => {
  const code = codeOf(error) ?? 0;
  return code >= 500 && code !== 530 && code !== 532;
};

/** Rejected because of a missing or existing entry, or missing permissions: the code does not say which. */
export const isPlainRefusal = (error: unknown): boolean => [521, 550, 553].includes(codeOf(error) ?? 0);

/** The library's error for a server that does not respond. */
export const isSilence = (error: unknown): boolean =>
  error instanceof Error && /^Timeout \(/u.test(error.message);

export const errorOf = (asked: string, error: unknown): errors.StowageError =>
  errorOfRefusal(byCode, asked, isSilence(error) ? new SilenceError('no response in time') : error);
