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
} from '../../errors/errors.ts';

type Make = (options: { readonly detail: string; readonly cause: unknown }) => StowageError;

type Rows<Key> = readonly (readonly [keys: readonly Key[], make: Make])[];

const table = <Key>(rows: Rows<Key>): ReadonlyMap<Key, Make> =>
  new Map(rows.flatMap(([keys, make]) => keys.map((key) => [key, make] as const)));

const notFound: Make = (options) => new NotFoundError(options);
const denied: Make = (options) => new StorageDeniedError(options);
const full: Make = (options) => new StorageFullError(options);
const timeout: Make = (options) => new StorageTimeoutError(options);
const busy: Make = (options) => new BusyError(options);
const unsupported: Make = (options) => new UnsupportedError(options);
const corrupt: Make = (options) => new CorruptError(options);
const unavailable: Make = (options) => new StorageUnavailableError(options);
const changed: Make = (options) => new ChangedMeanwhileError(options);
const unsafeName: Make = (options) => new UnsafeNameError(options);

const byName = table<string>([
  [['NoSuchKey', 'NotFound', 'NoSuchUpload'], notFound],
  // Not "not found": the root of a source always exists, so a missing bucket is a fault of the set-up.
  [['NoSuchBucket', 'PermanentRedirect', 'AuthorizationHeaderMalformed'], unavailable],
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
    denied,
  ],
  [['EntityTooLarge', 'QuotaExceeded', 'InsufficientStorage'], full],
  [['RequestTimeout', 'TimeoutError'], timeout],
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
    busy,
  ],
  [['NotImplemented'], unsupported],
  [['PreconditionFailed', 'InvalidRange'], changed],
  [['KeyTooLongError', 'InvalidObjectName', 'InvalidURI'], unsafeName],
  // What the SDK throws for an answer that it cannot read.
  [['SyntaxError', 'BadDigest', 'IncompleteBody', 'XAmzContentSHA256Mismatch'], corrupt],
]);

const byStatus = table<number>([
  [[404], notFound],
  [[401, 403], denied],
  [[408], timeout],
  [[412, 416], changed],
  [[429], busy],
  [[501], unsupported],
  [[507], full],
]);

const TIMEOUTS: ReadonlySet<string> = new Set(['ETIMEDOUT', 'ESOCKETTIMEDOUT', 'UND_ERR_HEADERS_TIMEOUT']);

/** Broken connections, which the SDK calls timeouts as well. */
const BROKEN: ReadonlySet<string> = new Set(['ECONNRESET', 'ECONNREFUSED', 'ECONNABORTED', 'EPIPE']);

const field = (error: unknown, name: string): unknown =>
  typeof error === 'object' && error !== null
    ? (error as Readonly<Record<string, unknown>>)[name]
    : undefined;

/** The HTTP status that the service answered with, as far as there was an answer. */
export const statusOf = (error: unknown): number | undefined => {
  const status = field(field(error, '$metadata'), 'httpStatusCode');
  return typeof status === 'number' ? status : undefined;
};

/** How often the request of a failed command was sent. */
export const attemptsOf = (error: unknown): number => {
  const attempts = field(field(error, '$metadata'), 'attempts');
  return typeof attempts === 'number' ? attempts : 1;
};

/** The code that the service, or the SDK in its place, gave the error. */
export const nameOf = (error: unknown): string => {
  const name = field(error, 'name');
  return typeof name === 'string' ? name : 'Error';
};

const choose = (error: unknown): Make => {
  const code = field(error, 'code');
  if (typeof code === 'string' && BROKEN.has(code)) return unavailable;
  if (typeof code === 'string' && TIMEOUTS.has(code)) return timeout;
  const named = byName.get(nameOf(error));
  if (named !== undefined) return named;
  const status = statusOf(error);
  return (status === undefined ? undefined : byStatus.get(status)) ?? unavailable;
};

/**
 * Our error for one of the SDK, by its code where the service gave one, else by its status: error bodies differ and may be empty. It travels
 * along as `cause`, for the log; nothing of it (URL, bucket, key id, host) gets into the public message.
 * @param operation what was tried and at which path, for the log
 */
export const fromS3Error = (error: unknown, operation: string): StowageError => {
  if (error instanceof StowageError) return error;
  const status = statusOf(error);
  const detail = `${operation} failed (${nameOf(error)}${status === undefined ? '' : `, ${status}`})`;
  return choose(error)({ detail, cause: error });
};
