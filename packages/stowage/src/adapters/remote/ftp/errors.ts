import {
  BusyError,
  StorageDeniedError,
  StorageFullError,
  type StowageError,
  UnsafeNameError,
  UnsupportedError,
} from '../../../errors/errors.ts';
import { SilenceError } from '../core/connections.ts';
import { errorOfRefusal, refusalOf, type RefusalMeanings } from '../paths/session.ts';

/** Replies of RFC 959 that mean more than a failure. What 550 means, a look afterwards shows. */
const byCode: RefusalMeanings = new Map([
  [450, (facts) => new BusyError(facts)],
  [452, (facts) => new StorageFullError(facts)],
  // Of the commands that every server knows: a line that is too long for it.
  [500, (facts) => new UnsafeNameError(facts)],
  [501, (facts) => new UnsafeNameError(facts)],
  [502, (facts) => new UnsupportedError(facts)],
  [504, (facts) => new UnsupportedError(facts)],
  [530, (facts) => new StorageDeniedError(facts)],
  [532, (facts) => new StorageDeniedError(facts)],
  [550, (facts) => new StorageDeniedError(facts)],
  [552, (facts) => new StorageFullError(facts)],
  [553, (facts) => new StorageDeniedError(facts)],
]);

/** The code that the server refused a command with; undefined for what is not a refusal. */
export const codeOf = refusalOf;

/** The server does not know a command. */
export const isUnknownCommand = (error: unknown): boolean => [500, 502, 504].includes(codeOf(error) ?? 0);

/** Refused for what was asked: neither for the moment (4xx) nor because of the login. */
export const isFinalRefusal = (error: unknown): boolean => {
  const code = codeOf(error) ?? 0;
  return code >= 500 && code !== 530 && code !== 532;
};

/**
 * Refused without a reason that the code tells: that something is missing or in the way, or that the login
 * may not.
 */
export const isPlainRefusal = (error: unknown): boolean => [521, 550, 553].includes(codeOf(error) ?? 0);

/** The library's error for a server that says nothing. */
export const isSilence = (error: unknown): boolean =>
  error instanceof Error && /^Timeout \(/u.test(error.message);

/** @see errorOfRefusal */
export const errorOf = (asked: string, error: unknown): StowageError =>
  errorOfRefusal(byCode, asked, isSilence(error) ? new SilenceError('no answer in time') : error);
