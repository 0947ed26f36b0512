import {
  BusyError,
  NotFoundError,
  StorageDeniedError,
  StorageFullError,
  StorageTimeoutError,
  StorageUnavailableError,
  StowageError,
  UnsafeNameError,
  UnsupportedError,
} from '../../errors/errors.ts';
import { SilenceError } from '../../remote-store/lost-connection.ts';

/** The server has not announced an extension of the protocol. */
export class MissingExtensionError extends Error {}

type MakeError = (facts: { readonly detail: string; readonly cause: unknown }) => StowageError;

/** Statuses of version 3 of the protocol, and those of later versions that servers send all the same. */
const byStatus: ReadonlyMap<number, MakeError> = new Map<number, MakeError>([
  [2, (facts) => new NotFoundError(facts)],
  [3, (facts) => new StorageDeniedError(facts)],
  // What OpenSSH makes of a name that its file system refuses.
  [5, (facts) => new UnsafeNameError(facts)],
  [8, (facts) => new UnsupportedError(facts)],
  [10, (facts) => new NotFoundError(facts)],
  [12, (facts) => new StorageDeniedError(facts)],
  [14, (facts) => new StorageFullError(facts)],
  [15, (facts) => new StorageFullError(facts)],
  [17, (facts) => new BusyError(facts)],
  [20, (facts) => new UnsafeNameError(facts)],
]);

/** The status that the server refused a request with; undefined for what is no refusal. */
export const statusOf = (error: unknown): number | undefined => {
  const cause = error instanceof StowageError ? error.cause : error;
  const code = cause instanceof Error && 'code' in cause ? cause.code : undefined;
  return typeof code === 'number' ? code : undefined;
};

/**
 * Refused without a reason that the status tells: that something is in the way, above all. Status 4 stands
 * for every error that the protocol has no word for, 11 and 18 for a name that is taken and a folder that is
 * not empty.
 */
export const isPlainRefusal = (error: unknown): boolean => [4, 11, 18].includes(statusOf(error) ?? 0);

/**
 * Our error for one of the library. Ours pass as they are.
 * @param asked what was asked of the server, for the log: never a host
 */
export const errorOf = (asked: string, error: unknown): StowageError => {
  if (error instanceof StowageError) return error;
  const text = error instanceof Error ? error.message : String(error);
  const facts = { detail: `${asked}: ${text}`, cause: error };
  if (error instanceof SilenceError) return new StorageTimeoutError(facts);
  if (error instanceof MissingExtensionError) return new UnsupportedError(facts);
  return byStatus.get(statusOf(error) ?? 0)?.(facts) ?? new StorageUnavailableError(facts);
};
