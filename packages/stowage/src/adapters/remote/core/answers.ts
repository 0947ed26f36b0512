import {
  BusyError,
  ChangedMeanwhileError,
  NotFoundError,
  StorageDeniedError,
  StorageFullError,
  StorageTimeoutError,
  StorageUnavailableError,
  UnsupportedError,
  type StowageError,
} from '../../../errors/errors.ts';

/**
 * The `ETag` of an answer as a strong quoted validator; undefined where the server sent none or a weak one.
 */
export const strongEtag = (etag: string | undefined): string | undefined => {
  if (etag === undefined || etag === '' || etag.startsWith('W/')) return undefined;
  return etag.startsWith('"') ? etag : `"${etag}"`;
};

/** Size of the whole file by `Content-Range` of a part; undefined where the header does not say it. */
export const wholeSize = (contentRange: string | undefined): number | undefined => {
  const total = /\/(\d+)$/u.exec(contentRange ?? '')?.[1];
  return total === undefined ? undefined : Number(total);
};

/** What an error carries for the log. */
interface ErrorFacts {
  readonly detail: string;
  readonly cause?: unknown;
}

type MakeError = (facts: ErrorFacts) => StowageError;

const byStatus: ReadonlyMap<number, MakeError> = new Map<number, MakeError>([
  [401, (facts) => new StorageDeniedError(facts)],
  [403, (facts) => new StorageDeniedError(facts)],
  [404, (facts) => new NotFoundError(facts)],
  [408, (facts) => new StorageTimeoutError(facts)],
  [410, (facts) => new NotFoundError(facts)],
  [412, (facts) => new ChangedMeanwhileError(facts)],
  [416, (facts) => new ChangedMeanwhileError(facts)],
  [423, (facts) => new BusyError(facts)],
  [424, (facts) => new BusyError(facts)],
  [429, (facts) => new BusyError(facts)],
  [501, (facts) => new UnsupportedError(facts)],
  [504, (facts) => new StorageTimeoutError(facts)],
  [507, (facts) => new StorageFullError(facts)],
]);

/** The error that a status of a store's server means, where the adapter knows nothing better. */
export const errorOfStatus = (status: number | undefined, facts: ErrorFacts): StowageError => {
  const make = status === undefined ? undefined : byStatus.get(status);
  return make?.(facts) ?? new StorageUnavailableError(facts);
};
