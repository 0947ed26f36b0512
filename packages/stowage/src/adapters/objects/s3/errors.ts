import {
  BusyError,
  ChangedMeanwhileError,
  CorruptError,
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

type MakeError = (facts: { readonly detail: string; readonly cause: unknown }) => StowageError;

const rows: readonly (readonly [names: readonly string[], make: MakeError])[] = [
  [['NoSuchKey', 'NotFound', 'NoSuchUpload'], (facts) => new NotFoundError(facts)],
  // Not "not found": the root of a source always exists, so a missing bucket is a mistake in the
  // configuration.
  [
    ['NoSuchBucket', 'PermanentRedirect', 'AuthorizationHeaderMalformed'],
    (facts) => new StorageUnavailableError(facts),
  ],
  [
    [
      'AccessDenied',
      'AllAccessDisabled',
      'AccountProblem',
      'InvalidAccessKeyId',
      'SignatureDoesNotMatch',
      'ExpiredToken',
      'InvalidToken',
      'RequestTimeTooSkewed',
      'CredentialsProviderError',
    ],
    (facts) => new StorageDeniedError(facts),
  ],
  [['EntityTooLarge', 'QuotaExceeded', 'InsufficientStorage'], (facts) => new StorageFullError(facts)],
  [['RequestTimeout', 'TimeoutError'], (facts) => new StorageTimeoutError(facts)],
  [
    [
      'SlowDown',
      'Throttling',
      'ThrottlingException',
      'TooManyRequests',
      'TooManyRequestsException',
      'RequestLimitExceeded',
      'BandwidthLimitExceeded',
      'ConditionalRequestConflict',
      'OperationAborted',
    ],
    (facts) => new BusyError(facts),
  ],
  [['NotImplemented'], (facts) => new UnsupportedError(facts)],
  [['PreconditionFailed', 'InvalidRange'], (facts) => new ChangedMeanwhileError(facts)],
  [['KeyTooLongError', 'InvalidObjectName', 'InvalidURI'], (facts) => new UnsafeNameError(facts)],
  // What the SDK throws for an answer that it cannot read.
  [
    ['SyntaxError', 'BadDigest', 'IncompleteBody', 'XAmzContentSHA256Mismatch'],
    (facts) => new CorruptError(facts),
  ],
  // Codes of the system. The SDK calls broken connections timeouts too, so these come first.
  [['ETIMEDOUT', 'ESOCKETTIMEDOUT'], (facts) => new StorageTimeoutError(facts)],
  [['ECONNRESET', 'ECONNREFUSED', 'ECONNABORTED', 'EPIPE'], (facts) => new StorageUnavailableError(facts)],
];

const byName: ReadonlyMap<unknown, MakeError> = new Map(
  rows.flatMap(([names, make]) => names.map((name) => [name, make] as const)),
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
  const make = byName.get(failed.code) ?? byName.get(cause.name);
  return make?.({ detail, cause }) ?? errorOfStatus(cause.status, { detail, cause });
};
