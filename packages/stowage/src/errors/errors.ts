import { detailedMessages, errorTable, filled, type ErrorCode, type ErrorDetails } from './table.ts';

/** What an error may carry besides its code. */
export interface ErrorOptions {
  /**
   * What the client reads, one message per problem. Never paths of the server, keys or hosts. Default: the
   * table's.
   */
  readonly messages?: readonly string[];
  /** The values in the message, such as `{ name, limit }`: programs read them, and translations need them. */
  readonly details?: ErrorDetails;
  /** What only the log reads. */
  readonly detail?: string;
  /** The error of a library or of the system that lies beneath. Only the log reads it. */
  readonly cause?: unknown;
  /** Headers that belong to the answer, such as `Allow` or `Retry-After`. */
  readonly headers?: Readonly<Record<string, string>>;
}

const messageOf = (code: ErrorCode, details: ErrorDetails = {}): string => {
  const template = Object.entries(detailedMessages).find(([name]) => name === code)?.[1];
  const exact = template === undefined ? undefined : filled(template, details);
  return exact ?? errorTable[code].message;
};

/**
 * Base of every error that this package throws on purpose. `code` names the cause, `status` is its HTTP
 * status.
 */
export class StowageError extends Error {
  readonly code: ErrorCode;
  readonly status: number;
  readonly messages: readonly string[];
  readonly detail: string | undefined;
  readonly headers: Readonly<Record<string, string>>;
  #details: ErrorDetails | undefined;

  constructor(code: ErrorCode, options: ErrorOptions = {}) {
    const row = errorTable[code];
    const messages = options.messages?.length ? options.messages : [messageOf(code, options.details)];
    super(messages.join(' '), { cause: options.cause });
    this.name = new.target.name;
    this.code = code;
    this.status = row.status;
    this.messages = messages;
    this.detail = options.detail;
    this.headers = options.headers ?? {};
    this.#details = options.details;
  }

  /** The values in the message. */
  get details(): ErrorDetails | undefined {
    return this.#details;
  }

  /** Adds values that the thrower did not know; those that are there stay. */
  addDetails(details: ErrorDetails): void {
    this.#details = { ...details, ...this.#details };
  }
}

/** What the client reads, as one sentence or several, or all that an error may carry. */
export type ErrorInput = string | readonly string[] | (ErrorOptions & { readonly message?: string });

const isList = (input: ErrorInput): input is readonly string[] => Array.isArray(input);

const optionsOf = (input: ErrorInput): ErrorOptions => {
  if (typeof input === 'string') return { messages: [input] };
  if (isList(input)) return { messages: input };
  const { message, ...rest } = input;
  return message === undefined ? rest : { ...rest, messages: [message] };
};

const errorOf = (code: ErrorCode, always: ErrorOptions = {}): new (input?: ErrorInput) => StowageError =>
  class extends StowageError {
    constructor(input: ErrorInput = {}) {
      super(code, { ...always, ...optionsOf(input) });
    }
  };

/** One or more parameters are missing or wrong: one message per problem. */
export class InvalidParametersError extends errorOf('INVALID_PARAMETERS') {}
/** A path that leaves its root or holds what no path may hold. */
export class UnsafePathError extends errorOf('UNSAFE_PATH') {}
/** A name that is not a single, harmless path segment. */
export class UnsafeNameError extends errorOf('UNSAFE_NAME') {}
/** Something with this name is there already. Storage adapters throw it from create-only operations. */
export class AlreadyExistsError extends errorOf('ALREADY_EXISTS') {}
/** A file where a folder was expected, or the reverse. */
export class WrongKindError extends errorOf('WRONG_KIND') {}
/** A folder that was to be removed only when empty holds something. */
export class NotEmptyError extends errorOf('NOT_EMPTY') {}
/**
 * Something inside a folder could not get its name at the destination. Another name for the folder would not
 * help.
 */
export class ContentsConflictError extends errorOf('CONTENTS_CONFLICT') {}
/** A move arrived whole or in part, and some items stayed where they were. */
export class MovedInPartError extends errorOf('MOVED_IN_PART') {}
/** A folder would be copied or moved into itself. */
export class IntoItselfError extends errorOf('INTO_ITSELF') {}
/** The request's body is cut off or malformed. */
export class BrokenBodyError extends errorOf('BROKEN_BODY') {}
/** Bytes that do not decode as an image, or an image beyond the limits of decoding. */
export class BrokenImageError extends errorOf('BROKEN_IMAGE') {}
/** A remote fetch failed: scheme, unresolvable host, too many redirects, timeout, status of the server. */
export class RemoteFailedError extends errorOf('REMOTE_FAILED') {}
/** A document passes a limit of its conversion: size, depth, number of parts, time. */
export class DocumentLimitError extends errorOf('DOCUMENT_LIMIT') {}
/** What is asked for is too much for one archive. */
export class ArchiveLimitError extends errorOf('ARCHIVE_LIMIT') {}
/** The engine that makes documents failed by itself. */
export class DocumentFailedError extends errorOf('DOCUMENT_FAILED') {}
/** An access rule denies the action. */
export class AccessDeniedError extends errorOf('ACCESS_DENIED') {}
/** A page or preflight of an origin that is not accepted. */
export class OriginRefusedError extends errorOf('ORIGIN_REFUSED') {}
/** The file's extension is not in `extensions`. */
export class TypeNotAllowedError extends errorOf('TYPE_NOT_ALLOWED') {}
/** A file passes `maxUploadFileSize`. */
export class FileTooLargeError extends errorOf('FILE_TOO_LARGE') {}
/** A remote address that is not public. */
export class AddressRefusedError extends errorOf('ADDRESS_REFUSED') {}
/** Nothing lies at the path, or it must not be seen. */
export class NotFoundError extends errorOf('NOT_FOUND') {}
/** No action has this name, or none is named. */
export class UnknownActionError extends errorOf('UNKNOWN_ACTION') {}
/** No source has this name, or there is none. */
export class UnknownSourceError extends errorOf('UNKNOWN_SOURCE') {}
/** The method is not one that the path or action takes. */
export class MethodNotAllowedError extends errorOf('METHOD_NOT_ALLOWED') {}
/** The request arrived too slowly. */
export class RequestTimeoutError extends errorOf('REQUEST_TIMEOUT') {}
/** The stored file is not the version that the caller named. */
export class ChangedMeanwhileError extends errorOf('CHANGED_MEANWHILE') {}
/** A part of an upload does not begin where the parts before it end. */
export class OffsetConflictError extends errorOf('OFFSET_CONFLICT') {}
/** A request of an upload in parts that speaks no version of the protocol, or another. */
export class TusVersionError extends errorOf('TUS_VERSION') {}
/** A JSON, urlencoded or field text beyond its limit. */
export class BodyTooLargeError extends errorOf('BODY_TOO_LARGE') {}
/** A source holds as much as its `quota` allows. */
export class QuotaExceededError extends errorOf('QUOTA_EXCEEDED') {}
/** A range that lies outside of the file. */
export class RangeNotSatisfiableError extends errorOf('RANGE_NOT_SATISFIABLE') {}
/** The client has asked more often than `rateLimits` allows. */
export class RateLimitedError extends errorOf('RATE_LIMITED') {}
/** A number that is not one. */
export class UnprocessableError extends errorOf('UNPROCESSABLE') {}
/** clamd or the host has found something in content that must not be stored. */
export class RefusedByInspectionError extends errorOf('REFUSED_BY_INSPECTION') {}
/** What inspects content cannot be asked. */
export class InspectionUnavailableError extends errorOf('INSPECTION_UNAVAILABLE', {
  headers: { 'Retry-After': '30' },
}) {}
/** A fault of this service or of a hook of its host. */
export class InternalError extends errorOf('INTERNAL') {}
/** The store refused: its permissions or credentials do not allow the operation. */
export class StorageDeniedError extends errorOf('STORAGE_DENIED') {}
/** No space or quota left in the store. */
export class StorageFullError extends errorOf('STORAGE_FULL') {}
/** The store did not answer within its time. */
export class StorageTimeoutError extends errorOf('STORAGE_TIMEOUT') {}
/** The store cannot be reached or failed by itself. */
export class StorageUnavailableError extends errorOf('STORAGE_UNAVAILABLE') {}
/** The store returned something that cannot be true: wrong length, unreadable listing. */
export class CorruptError extends errorOf('CORRUPT') {}
/** A capability that the store, or this installation, does not have. */
export class UnsupportedError extends errorOf('UNSUPPORTED') {}
/** The service ends and takes no more work. */
export class ShuttingDownError extends errorOf('SHUTTING_DOWN') {}
/** A bounded queue is full. */
export class BusyError extends errorOf('BUSY', { headers: { 'Retry-After': '2' } }) {}

/**
 * For hooks: rejects the request with a status of the host's choice (for example 401).
 * The message goes to the client as it is.
 */
export class HttpError extends Error {
  readonly status: number;

  /** Only the log reads the `cause`. */
  constructor(status: number, message: string, options: { readonly cause?: unknown } = {}) {
    super(message, options);
    this.name = 'HttpError';
    this.status = status;
  }
}

/** The host's refusal of one file of a form. */
export class FileRefusedByHost extends HttpError {
  readonly details: ErrorDetails;

  constructor({ status, message }: HttpError, details: ErrorDetails, cause: unknown) {
    super(status, message, { cause });
    this.details = details;
  }
}

/**
 * Whether a hook rejects the request. Known by its shape: a test runner, or a second copy of this package,
 * makes errors that are instances of other classes.
 */
export const isHttpError = (error: unknown): error is HttpError =>
  typeof error === 'object' &&
  error !== null &&
  (error as { name?: unknown }).name === 'HttpError' &&
  typeof (error as { status?: unknown }).status === 'number' &&
  typeof (error as { message?: unknown }).message === 'string';

/** The configuration cannot be used. `problems` lists every fault, each with its dotted key. */
export class ConfigError extends Error {
  readonly problems: readonly string[];

  constructor(problems: readonly string[]) {
    super(`The configuration is not valid:\n${problems.map((problem) => `  - ${problem}`).join('\n')}`);
    this.name = 'ConfigError';
    this.problems = problems;
  }
}

/** A class of errors with the same meaning whoever throws them. */
type StorageErrorClass = new (facts: Pick<ErrorOptions, 'detail' | 'cause'>) => StowageError;

/** What the codes of a library or protocol mean. */
export type ErrorsByCode<Code> = ReadonlyMap<Code | undefined, StorageErrorClass>;

/** Rows of a class with the codes that mean it. */
export const errorsByCode = <Code>(
  ...rows: readonly (readonly [StorageErrorClass, ...Code[]])[]
): ErrorsByCode<Code> =>
  new Map(rows.flatMap(([kind, ...codes]) => codes.map((code) => [code, kind] as const)));

/** For a promise whose rejection may mean that nothing is there: `.catch(ifMissing)`. @throws any other error */
export const ifMissing = (error: unknown): undefined => {
  if (error instanceof NotFoundError) return undefined;
  throw error;
};

/** As `ifMissing`, for errors of another class. */
export const ifOnly =
  (kind: new (input?: ErrorInput) => StowageError) =>
  (error: unknown): undefined => {
    if (error instanceof kind) return undefined;
    throw error;
  };

/** As `ifMissing`, where something of another kind counts as nothing too. @throws any other error */
export const ifNoSuch = (error: unknown): undefined =>
  error instanceof WrongKindError ? undefined : ifMissing(error);

const REFUSALS: ReadonlySet<ErrorCode> = new Set([
  'NOT_FOUND',
  'WRONG_KIND',
  'ALREADY_EXISTS',
  'NOT_EMPTY',
  'CHANGED_MEANWHILE',
  'CONTENTS_CONFLICT',
  'UNSAFE_PATH',
  'UNSAFE_NAME',
  'STORAGE_DENIED',
  'STORAGE_FULL',
  'UNSUPPORTED',
]);

const isCode = (code: unknown): code is ErrorCode => typeof code === 'string' && code in errorTable;

/**
 * Whether an error of a store says that it has not done what it was asked for. After any other, such as a lost
 * connection or an abort, it may have done it, or do it yet.
 */
export const isRefusal = (error: unknown): boolean => {
  const code: unknown = error instanceof Error && 'code' in error ? error.code : undefined;
  return isCode(code) && REFUSALS.has(code);
};
