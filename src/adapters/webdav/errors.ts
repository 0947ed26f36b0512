import {
  BusyError,
  CorruptError,
  NotFoundError,
  StorageDeniedError,
  StorageFullError,
  StorageTimeoutError,
  StorageUnavailableError,
  StowageError,
} from '../../errors/errors.ts';
import type { SourcePath } from '../../storage/source-path.ts';
import { SilenceError } from './connections.ts';

/** What was asked of the server, as errors may name it: never a URL or host. */
export interface Asked {
  readonly method: string;
  readonly path: SourcePath;
}

const detailOf = ({ method, path }: Asked, what: string): string => `${method} /${path.toString()}: ${what}`;

/** The error that a status of the server means. */
export const errorOfStatus = (asked: Asked, status: number): StowageError => {
  const detail = detailOf(asked, `status ${String(status)}`);
  switch (status) {
    case 404:
    case 410:
      return new NotFoundError({ detail });
    case 401:
    case 403:
    case 405:
      return new StorageDeniedError({ detail });
    case 411:
    case 413:
      return new StorageDeniedError({ detail: `${detail}; a proxy may limit the size of bodies` });
    case 408:
    case 504:
      return new StorageTimeoutError({ detail });
    case 423:
    case 424:
    case 429:
      return new BusyError({ detail });
    case 507:
      return new StorageFullError({ detail });
    default:
      return new StorageUnavailableError({ detail });
  }
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

/** Whether the connection broke before anything of an answer came, so that a request that changes nothing may be sent again. */
export const isConnectionLoss = (error: unknown): boolean =>
  error instanceof Error && 'code' in error && (error.code === 'ECONNRESET' || error.code === 'EPIPE');
