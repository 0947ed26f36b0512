import {
  CorruptError,
  StorageDeniedError,
  StorageTimeoutError,
  StorageUnavailableError,
  StowageError,
} from '../../../errors/errors.ts';
import { errorOfStatus as errorOfAnswer } from '../core/http.ts';
import type { SourcePath } from '../../../storage/source-path.ts';
import { SilenceError } from '../core/connections.ts';

/** The status of a refusal: the cause of the error that it means. */
export class StatusError extends Error {
  readonly status: number;

  constructor(status: number) {
    super(`status ${String(status)}`);
    this.status = status;
  }
}

/** What was asked of the server, as errors may name it: never a URL or host. */
export interface Asked {
  readonly method: string;
  readonly path: SourcePath;
}

const detailOf = ({ method, path }: Asked, what: string): string => `${method} /${path.toString()}: ${what}`;

/** The error that a status of the server means. */
export const errorOfStatus = (asked: Asked, status: number): StowageError => {
  const cause = new StatusError(status);
  const detail = detailOf(asked, cause.message);
  if (status === 405) return new StorageDeniedError({ detail, cause });
  if (status === 411 || status === 413)
    return new StorageDeniedError({ detail: `${detail}; a proxy may limit the size of bodies`, cause });
  // Conditions are answered where they are sent.
  if (status === 412 || status === 416 || status === 501)
    return new StorageUnavailableError({ detail, cause });
  return errorOfAnswer(status, { detail, cause });
};

/** The error that a failure of the connection means. Ours pass as they are. */
export const errorOfFailure = (asked: Asked, error: unknown): StowageError => {
  if (error instanceof StowageError) return error;
  if (error instanceof SilenceError) {
    return new StorageTimeoutError({ detail: detailOf(asked, 'no answer in time'), cause: error });
  }
  if (error instanceof Error && 'code' in error && String(error.code).startsWith('Z_')) {
    return new CorruptError({ detail: detailOf(asked, 'an answer that cannot be unpacked'), cause: error });
  }
  return new StorageUnavailableError({ detail: detailOf(asked, 'the connection failed'), cause: error });
};

/** The status that the server refused with; undefined for errors that are not refusals. */
export const statusOf = (error: unknown): number | undefined =>
  error instanceof StowageError && error.cause instanceof StatusError ? error.cause.status : undefined;

/** Refusals that say nothing about the path. */
const NOT_ABOUT_PATH: ReadonlySet<number> = new Set([401, 407, 408, 423, 424, 429]);

/** A refusal that does not say that nothing is there, and yet may mean it. */
export const isRefusalOfPath = (error: unknown): boolean => {
  const status = statusOf(error) ?? 0;
  return status >= 400 && status < 500 && status !== 404 && status !== 410 && !NOT_ABOUT_PATH.has(status);
};
