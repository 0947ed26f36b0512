import {
  BusyError,
  StorageDeniedError,
  StorageFullError,
  StorageTimeoutError,
  StorageUnavailableError,
  StowageError,
  UnsafeNameError,
  UnsupportedError,
} from '../../errors/errors.ts';
import { SilenceError } from '../../remote-store/lost-connection.ts';

type MakeError = (facts: { readonly detail: string; readonly cause: unknown }) => StowageError;

/** Replies of RFC 959 that mean more than a failure. What 550 means, a look afterwards shows. */
const byCode: ReadonlyMap<number, MakeError> = new Map<number, MakeError>([
  [450, (facts) => new BusyError(facts)],
  [452, (facts) => new StorageFullError(facts)],
  [500, (facts) => new UnsupportedError(facts)],
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
export const codeOf = (error: unknown): number | undefined => {
  const cause = error instanceof StowageError ? error.cause : error;
  const code = cause instanceof Error && 'code' in cause ? cause.code : undefined;
  return typeof code === 'number' ? code : undefined;
};

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

/**
 * Our error for one of the library or of a socket. Ours pass as they are.
 * @param asked what was asked of the server, for the log: never a host
 */
export const errorOf = (asked: string, error: unknown): StowageError => {
  if (error instanceof StowageError) return error;
  const text = error instanceof Error ? error.message : String(error);
  const facts = { detail: `${asked}: ${text}`, cause: error };
  if (error instanceof SilenceError) return new StorageTimeoutError(facts);
  return byCode.get(codeOf(error) ?? 0)?.(facts) ?? new StorageUnavailableError(facts);
};
