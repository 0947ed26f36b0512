import { StorageTimeoutError, StorageUnavailableError, StowageError } from '../../../errors/errors.ts';
import { SilenceError } from '../core/lost-connection.ts';

type MakeError = (facts: { readonly detail: string; readonly cause: unknown }) => StowageError;

/** The number that a server has refused with; undefined for what is not a refusal. */
export const refusalOf = (error: unknown): number | undefined => {
  const cause = error instanceof StowageError ? error.cause : error;
  const code = cause instanceof Error && 'code' in cause ? cause.code : undefined;
  return typeof code === 'number' ? code : undefined;
};

/** What the numbers of a protocol mean. Those that mean no more than a failure are not in it. */
export type RefusalMeanings = ReadonlyMap<number, MakeError>;

/**
 * Our error for one of a library or of a socket. Ours pass as they are.
 * @param asked what was asked of the server, for the log: never a host
 */
export const errorOfRefusal = (meanings: RefusalMeanings, asked: string, error: unknown): StowageError => {
  if (error instanceof StowageError) return error;
  const text = error instanceof Error ? error.message : String(error);
  const facts = { detail: `${asked}: ${text}`, cause: error };
  if (error instanceof SilenceError) return new StorageTimeoutError(facts);
  return meanings.get(refusalOf(error) ?? 0)?.(facts) ?? new StorageUnavailableError(facts);
};
