import {
  BusyError,
  ChangedMeanwhileError,
  CorruptError,
  errorsByCode,
  NotFoundError,
  StorageDeniedError,
  StorageFullError,
  StorageTimeoutError,
  StorageUnavailableError,
  StowageError,
  UnsafeNameError,
  UnsupportedError,
} from '../../../errors/errors.ts';
import { FailedRequest, failedRequest } from '../core/requests.ts';
import { errorOfStatus } from '../../remote/core/http.ts';

const byName = errorsByCode<unknown>(
  [NotFoundError, 'NoSuchKey', 'NotFound', 'NoSuchUpload'],
  // Not "not found": the root of a source always exists, so a missing bucket is a mistake in the
  // configuration.
  [StorageUnavailableError, 'NoSuchBucket', 'PermanentRedirect', 'AuthorizationHeaderMalformed'],
  [StorageDeniedError, 'AccessDenied', 'AllAccessDisabled', 'AccountProblem', 'InvalidAccessKeyId'],
  [StorageDeniedError, 'SignatureDoesNotMatch', 'ExpiredToken', 'InvalidToken', 'RequestTimeTooSkewed'],
  [StorageDeniedError, 'CredentialsProviderError'],
  [StorageFullError, 'EntityTooLarge', 'QuotaExceeded', 'InsufficientStorage'],
  [StorageTimeoutError, 'RequestTimeout', 'TimeoutError'],
  [BusyError, 'SlowDown', 'Throttling', 'ThrottlingException', 'TooManyRequests', 'TooManyRequestsException'],
  [BusyError, 'RequestLimitExceeded', 'BandwidthLimitExceeded'],
  [BusyError, 'ConditionalRequestConflict', 'OperationAborted'],
  [UnsupportedError, 'NotImplemented'],
  [ChangedMeanwhileError, 'PreconditionFailed', 'InvalidRange'],
  [UnsafeNameError, 'KeyTooLongError', 'InvalidObjectName', 'InvalidURI'],
  // What the SDK throws for an answer that it cannot read.
  [CorruptError, 'SyntaxError', 'BadDigest', 'IncompleteBody', 'XAmzContentSHA256Mismatch'],
  // Codes of the system. The SDK calls broken connections timeouts too, so these come first.
  [StorageTimeoutError, 'ETIMEDOUT', 'ESOCKETTIMEDOUT'],
  [StorageUnavailableError, 'ECONNRESET', 'ECONNREFUSED', 'ECONNABORTED', 'EPIPE'],
);

/** The service holds another operation on the same key back for a moment; the request can be sent again. */
const CONFLICTS: ReadonlySet<string> = new Set(['ConditionalRequestConflict', 'OperationAborted']);
const PASSING: ReadonlySet<number | undefined> = new Set([429, 500, 502, 503, 504]);

/** The fields of the SDK's errors that are read here. None need be there. */
interface SdkError {
  readonly name?: unknown;
  readonly message?: unknown;
  readonly code?: unknown;
  readonly $metadata?: {
    readonly httpStatusCode?: number;
    readonly attempts?: number;
    readonly requestId?: string;
  };
  readonly $response?: { readonly headers?: Readonly<Record<string, string>> };
}

const textOf = (value: unknown): string | undefined => (typeof value === 'string' ? value : undefined);

/** The HTTP status that the service answered with, as far as there was an answer. */
export const statusOf = (error: unknown): number | undefined => failedRequest(error)?.status;

/** The code that the service, or the SDK in its place, gave the error. */
export const codeOf = (error: unknown): string | undefined => failedRequest(error)?.code;

/** How often the failed request was sent. */
export const attemptsOf = (error: unknown): number => failedRequest(error)?.attempts ?? 1;

/** Whether the service asks for the same request once more. The SDK does not repeat these. */
export const isConflict = (error: unknown): boolean => CONFLICTS.has(codeOf(error) ?? '');

/** Whether the service has answered that it cannot take the request at the moment. */
export const isPassing = (error: unknown): boolean =>
  failedRequest(error) !== undefined && (error instanceof BusyError || PASSING.has(statusOf(error)));

/**
 * Our error for one of the SDK, by its code where there is one, else by its status: error bodies differ and
 * may be empty. Nothing of it (URL, bucket, key id, host) gets into the public message.
 * @param operation what was tried and at which key, for the log
 */
export const fromS3Error = (error: unknown, operation: string, attemptsBefore = 0): StowageError => {
  if (error instanceof StowageError) return error;
  const failed: SdkError = typeof error === 'object' && error !== null ? error : { message: String(error) };
  const { httpStatusCode, attempts = 1, requestId } = failed.$metadata ?? {};
  // The SDK's own error is not passed on: services put the key id, the session token and what was signed into
  // its fields.
  const cause = new FailedRequest(
    textOf(failed.message) ?? '',
    httpStatusCode,
    textOf(failed.name) ?? 'Error',
    { attempts: attempts + attemptsBefore, requestId },
  );
  const region = failed.$response?.headers?.['x-amz-bucket-region'];
  const facts = [cause.name, cause.status, region === undefined ? undefined : `bucket in region ${region}`];
  const detail = `${operation} failed (${facts.filter((fact) => fact !== undefined).join(', ')})`;
  const kind = byName.get(failed.code) ?? byName.get(cause.name);
  return kind === undefined ? errorOfStatus(cause.status, { detail, cause }) : new kind({ detail, cause });
};
