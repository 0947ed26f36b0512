import * as errors from '../../../errors/errors.ts';
import { errorOfStatus as errorOfResponse } from '../core/http.ts';
import type { SourcePath } from '../../../storage/source-path.ts';
import { SilenceError } from '../core/connections.ts';

/** The status of a rejection, as the cause of an error. */
export class StatusError extends Error {
  readonly status: number;

  constructor(status: number) {
    super(`status ${String(status)}`);
    this.status = status;
  }
}

/** The request for use in errors: never a URL or host. */
export interface Asked {
  readonly method: string;
  readonly path: SourcePath;
}

/** Methods that servers reject with 400 because of the name; Nextcloud does so for PROPFIND too. */
const NAMING: ReadonlySet<string> = new Set(['PROPFIND', 'MKCOL', 'PUT', 'COPY', 'MOVE']);

const detailOf = ({ method, path }: Asked, what: string): string => `${method} /${path.toString()}: ${what}`;

export const errorOfStatus = (asked: Asked, status: number): errors.StowageError => {
  const cause = new StatusError(status);
  const detail = detailOf(asked, cause.message);
  // Our requests are well-formed, so the server rejects the name.
  if (status === 400 && NAMING.has(asked.method) && !asked.path.isRoot)
    return new errors.UnsafeNameError({ detail, cause });
  // 415: the virus scanner of Nextcloud has rejected the content.
  if (status === 405 || status === 415) return new errors.StorageDeniedError({ detail, cause });
  if (status === 411 || status === 413)
    return new errors.StorageDeniedError({
      detail: `${detail}; a proxy may limit the size of bodies`,
      cause,
    });
  // Callers that send conditions handle these statuses themselves.
  if (status === 412 || status === 416 || status === 501)
    return new errors.StorageUnavailableError({ detail, cause });
  return errorOfResponse(status, { detail, cause });
};

/** Converts an error of the connection. StowageErrors stay as they are. */
export const errorOfFailure = (asked: Asked, error: unknown): errors.StowageError => {
  if (error instanceof errors.StowageError) return error;
  const facts = (what: string) => ({ detail: detailOf(asked, what), cause: error });
  if (error instanceof SilenceError) return new errors.StorageTimeoutError(facts('no response in time'));
  if (error instanceof Error && 'code' in error && String(error.code).startsWith('Z_'))
    return new errors.CorruptError(facts('a response that cannot be unpacked'));
  return new errors.StorageUnavailableError(facts('the connection failed'));
};

/** The status of a rejection by the server; undefined for other errors. */
export const statusOf = (error: unknown): number | undefined =>
  error instanceof errors.StowageError && error.cause instanceof StatusError ? error.cause.status : undefined;

/** Rejections that are independent of the path. */
const NOT_ABOUT_PATH: ReadonlySet<number> = new Set([401, 407, 408, 423, 424, 429]);

/** Whether a rejection may mean that the entry is missing, although its status is another one. */
export const isRefusalOfPath = (error: unknown): boolean => {
  const status = statusOf(error) ?? 0;
  return status >= 400 && status < 500 && status !== 404 && status !== 410 && !NOT_ABOUT_PATH.has(status);
};
