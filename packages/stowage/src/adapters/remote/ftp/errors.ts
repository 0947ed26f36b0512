import {
  BusyError,
  errorsByCode,
  StorageDeniedError,
  StorageFullError,
  type StowageError,
  UnsafeNameError,
  UnsupportedError,
} from '../../../errors/errors.ts';
import { SilenceError } from '../core/connections.ts';
import { errorOfRefusal, refusalOf } from '../paths/session.ts';

/** Replies of RFC 959 that mean more than a failure. What 550 means, a look afterwards shows. */
const byCode = errorsByCode(
  [BusyError, 450],
  [StorageFullError, 452, 552],
  // 500 and 501, of the commands that every server knows: a line that is too long for it.
  [UnsafeNameError, 500, 501],
  [UnsupportedError, 502, 504],
  [StorageDeniedError, 530, 532, 550, 553],
);

/** The code that the server refused a command with; undefined for what is not a refusal. */
export const codeOf = refusalOf;

/** The server does not know a command. */
export const isUnknownCommand = (error: unknown): boolean => [500, 502, 504].includes(codeOf(error) ?? 0);

/** Refused for what was asked: neither for the moment (4xx) nor because of the login. */
export const isFinalRefusal = (error: unknown): boolean => {
  const code = codeOf(error) ?? 0;
  return code >= 500 && code !== 530 && code !== 532;
};

/** Refused for something missing or in the way, or because the login may not: the code does not say. */
export const isPlainRefusal = (error: unknown): boolean => [521, 550, 553].includes(codeOf(error) ?? 0);

/** The library's error for a server that says nothing. */
export const isSilence = (error: unknown): boolean =>
  error instanceof Error && /^Timeout \(/u.test(error.message);

/** @see errorOfRefusal */
export const errorOf = (asked: string, error: unknown): StowageError =>
  errorOfRefusal(byCode, asked, isSilence(error) ? new SilenceError('no answer in time') : error);
