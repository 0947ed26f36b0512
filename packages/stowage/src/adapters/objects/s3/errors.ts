import * as errors from '../../../errors/errors.ts';
import { attemptsOf, failedRequest, isPassing, type Service } from '../core/requests.ts';

const byName = errors.errorsByCode(
  [errors.NotFoundError, 'NoSuchKey', 'NotFound', 'NoSuchUpload'],
  // Not "not found": the root of a source always exists, so a missing bucket is a configuration error.
  [errors.StorageUnavailableError, 'NoSuchBucket', 'PermanentRedirect', 'AuthorizationHeaderMalformed'],
  [errors.StorageDeniedError, 'AccessDenied', 'AllAccessDisabled', 'AccountProblem', 'InvalidAccessKeyId'],
  [
    errors.StorageDeniedError,
    'SignatureDoesNotMatch',
    'ExpiredToken',
    'InvalidToken',
    'RequestTimeTooSkewed',
  ],
  [errors.StorageDeniedError, 'TokenRefreshRequired', 'CredentialsProviderError'],
  [errors.StorageFullError, 'EntityTooLarge', 'QuotaExceeded', 'InsufficientStorage'],
  [errors.StorageFullError, 'XMinioAdminBucketQuotaExceeded'],
  [errors.StorageTimeoutError, 'RequestTimeout', 'TimeoutError'],
  // The response to a HEAD has no code, so 503 is the same error with any code and without one.
  [errors.BusyError, 'SlowDown', 'ServiceUnavailable', '503'],
  [errors.BusyError, 'Throttling', 'ThrottlingException', 'RequestLimitExceeded'],
  [errors.BusyError, 'TooManyRequests', 'TooManyRequestsException', 'BandwidthLimitExceeded'],
  [errors.BusyError, 'ConditionalRequestConflict', 'OperationAborted'],
  [errors.UnsupportedError, 'NotImplemented'],
  [errors.ChangedMeanwhileError, 'PreconditionFailed', 'InvalidRange'],
  [errors.UnsafeNameError, 'KeyTooLongError', 'InvalidObjectName', 'InvalidURI'],
  // MinIO, Supabase, StorageGRID.
  [errors.UnsafeNameError, 'XMinioInvalidObjectName', 'InvalidKey', 'KeyTooLong'],
  // Errors of the SDK for a response that it cannot read.
  [errors.CorruptError, 'SyntaxError', 'BadDigest', 'IncompleteBody', 'XAmzContentSHA256Mismatch'],
  // Codes of the system.
  [errors.StorageTimeoutError, 'ETIMEDOUT', 'ESOCKETTIMEDOUT'],
  [errors.StorageUnavailableError, 'ECONNRESET', 'ECONNREFUSED', 'ECONNABORTED', 'EPIPE'],
);

interface SdkError {
  readonly name?: unknown;
  readonly message?: unknown;
  readonly code?: unknown;
  readonly $metadata?: { readonly httpStatusCode?: number; readonly requestId?: string };
  readonly $response?: { readonly headers?: Readonly<Record<string, string>> };
}

const textOf = (value: unknown): string | undefined => (typeof value === 'string' ? value : undefined);

/** The code of the service; undefined where the response has none, which the SDK names `Unknown`. */
const codeIn = (name: unknown): string | undefined => /^(?!Unknown).+/u.exec(textOf(name) ?? '')?.[0];

/** The region that the service names for the bucket. */
export const regionIn = (error: unknown): string | undefined =>
  (error as SdkError | undefined)?.$response?.headers?.['x-amz-bucket-region'];

/** Codes of the system; the SDK renames some errors that have one. */
const ofSystem = (code: unknown): string | undefined => /^E[A-Z_]{2,}$/u.exec(textOf(code) ?? '')?.[0];

/** The SDK corrects a wrong clock by the response, so a retry can succeed. */
const mayRepeat = (error: unknown): boolean =>
  isPassing(error) || failedRequest(error)?.code === 'RequestTimeTooSkewed';

const OLD_KEYS: ReadonlySet<string | undefined> = new Set([
  'ExpiredToken',
  'InvalidToken',
  'TokenRefreshRequired',
  'InvalidAccessKeyId',
]);

/**
 * Whether a request was rejected, at its first attempt, because its keys have expired or are no longer known.
 * The response to a HEAD has no code.
 */
export const isOfOldKeys = (error: unknown): boolean => {
  const failed = failedRequest(error);
  const isUnnamed = failed?.status === 400 && !byName.has(failed.code);
  return attemptsOf(error) === 1 && (isUnnamed || OLD_KEYS.has(failed?.code));
};

/**
 * Converts errors of the SDK, which are not passed on: services put the key id, the session token and signed
 * data into their fields. Error bodies differ and may be empty.
 */
export const s3Failures: Pick<Service<unknown>, 'failureOf' | 'meanings'> & {
  readonly mayRepeat: (error: unknown) => boolean;
} = {
  mayRepeat,
  meanings: byName,
  failureOf: (error) => {
    const failed: SdkError = typeof error === 'object' && error !== null ? error : { message: String(error) };
    const region = regionIn(failed);
    return {
      message: textOf(failed.message) ?? '',
      status: failed.$metadata?.httpStatusCode,
      code: ofSystem(failed.code) ?? codeIn(failed.name),
      requestId: failed.$metadata?.requestId,
      note: region === undefined ? undefined : `bucket in region ${region}`,
      retryAfter: failed.$response?.headers?.['retry-after'],
    };
  },
};

/** The error for an object that a batch did not remove, by its code. */
export const errorOfCode = (code = 'unknown'): errors.StowageError =>
  new (byName.get(code) ?? errors.StorageUnavailableError)({ detail: code });
