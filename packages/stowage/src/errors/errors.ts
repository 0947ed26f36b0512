import { detailedMessages, errorTable, filled, type ErrorCode, type ErrorDetails } from './table.ts';

/** Optional facts of an error besides its code. */
export interface ErrorOptions {
  /** Messages for the client, one per problem, without server paths, keys or hosts. Default: the table's. */
  readonly messages?: readonly string[];
  /** Values of the message, such as `{ name, limit }`, for programs and translations. */
  readonly details?: ErrorDetails;
  /** Additional text for the log only. */
  readonly detail?: string;
  /** The underlying error of a library or of the system, for the log only. */
  readonly cause?: unknown;
  /** Response headers, such as `Allow` or `Retry-After`. */
  readonly headers?: Readonly<Record<string, string>>;
}

const messageOf = (code: ErrorCode, details: ErrorDetails = {}): string => {
  const template = Object.entries(detailedMessages).find(([name]) => name === code)?.[1];
  const exact = template === undefined ? undefined : filled(template, details);
  return exact ?? errorTable[code].message;
};

/** Base of all errors that this package throws. `code` names the cause, `status` is its HTTP status. */
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

  /** Values of the message. */
  get details(): ErrorDetails | undefined {
    return this.#details;
  }

  /** Adds values that were not known where the error was thrown; existing values stay. */
  addDetails(details: ErrorDetails): void {
    this.#details = { ...details, ...this.#details };
  }
}

/** One message for the client, several messages, or all options of an error. */
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
/** A path that leaves its root or contains forbidden characters or segments. */
export class UnsafePathError extends errorOf('UNSAFE_PATH') {}
/** A name that is not a single, harmless path segment. */
export class UnsafeNameError extends errorOf('UNSAFE_NAME') {}
/** An item with this name already exists. Storage adapters throw it from create-only operations. */
export class AlreadyExistsError extends errorOf('ALREADY_EXISTS') {}
/** A file where a folder was expected, or the reverse. */
export class WrongKindError extends errorOf('WRONG_KIND') {}
/** A folder is not empty, although the operation requires it. */
export class NotEmptyError extends errorOf('NOT_EMPTY') {}
/** An item inside a folder has a name conflict at the destination, which another folder name cannot solve. */
export class ContentsConflictError extends errorOf('CONTENTS_CONFLICT') {}
/** A move arrived, completely or in part, and some items remain at their old location. */
export class MovedInPartError extends errorOf('MOVED_IN_PART') {}
/** A folder would be copied or moved into itself. */
export class IntoItselfError extends errorOf('INTO_ITSELF') {}
/** The request's body is cut off or malformed. */
export class BrokenBodyError extends errorOf('BROKEN_BODY') {}
/** Bytes that do not decode as an image, or an image beyond the limits of decoding. */
export class BrokenImageError extends errorOf('BROKEN_IMAGE') {}
/** A remote fetch failed: scheme, unresolvable host, too many redirects, timeout, status of the server. */
export class RemoteFailedError extends errorOf('REMOTE_FAILED') {}
/** A document exceeds a limit of its conversion: size, depth, number of parts, time. */
export class DocumentLimitError extends errorOf('DOCUMENT_LIMIT') {}
/** The selection exceeds a limit of archives. */
export class ArchiveLimitError extends errorOf('ARCHIVE_LIMIT') {}
/** The engine that creates documents failed. */
export class DocumentFailedError extends errorOf('DOCUMENT_FAILED') {}
/** An access rule denies the action. */
export class AccessDeniedError extends errorOf('ACCESS_DENIED') {}
/** A page or preflight request of a disallowed origin. */
export class OriginRefusedError extends errorOf('ORIGIN_REFUSED') {}
/** The file's extension is not in `extensions`. */
export class TypeNotAllowedError extends errorOf('TYPE_NOT_ALLOWED') {}
/** A file is larger than `maxUploadFileSize`. */
export class FileTooLargeError extends errorOf('FILE_TOO_LARGE') {}
/** A remote address that is not public. */
export class AddressRefusedError extends errorOf('ADDRESS_REFUSED') {}
/** There is no item at the path, or it is hidden. */
export class NotFoundError extends errorOf('NOT_FOUND') {}
/** There is no action of this name, or the request names none. */
export class UnknownActionError extends errorOf('UNKNOWN_ACTION') {}
/** There is no source of this name, or none at all. */
export class UnknownSourceError extends errorOf('UNKNOWN_SOURCE') {}
/** The path or action does not support the method. */
export class MethodNotAllowedError extends errorOf('METHOD_NOT_ALLOWED') {}
/** The request arrived too slowly. */
export class RequestTimeoutError extends errorOf('REQUEST_TIMEOUT') {}
/** The stored file is not the version that the caller named. */
export class ChangedMeanwhileError extends errorOf('CHANGED_MEANWHILE') {}
/** A part of an upload does not begin where the parts before it end. */
export class OffsetConflictError extends errorOf('OFFSET_CONFLICT') {}
/** A request of a resumable upload without, or with an unsupported, version of the tus protocol. */
export class TusVersionError extends errorOf('TUS_VERSION') {}
/** A JSON body, urlencoded body or form field is larger than its limit. */
export class BodyTooLargeError extends errorOf('BODY_TOO_LARGE') {}
/** The `quota` of a source is used up. */
export class QuotaExceededError extends errorOf('QUOTA_EXCEEDED') {}
/** A part of a resumable upload has another `Content-Type` than the protocol requires. */
export class UnsupportedMediaTypeError extends errorOf('UNSUPPORTED_MEDIA_TYPE') {}
/** A range outside of the file. */
export class RangeNotSatisfiableError extends errorOf('RANGE_NOT_SATISFIABLE') {}
/** The client sent more requests than `rateLimits` allows. */
export class RateLimitedError extends errorOf('RATE_LIMITED') {}
/** A numeric parameter that is not a number. */
export class UnprocessableError extends errorOf('UNPROCESSABLE') {}
/** clamd or the host rejected the content. */
export class RefusedByInspectionError extends errorOf('REFUSED_BY_INSPECTION') {}
/** The inspection of content is not available. */
export class InspectionUnavailableError extends errorOf('INSPECTION_UNAVAILABLE', {
  headers: { 'Retry-After': '30' },
}) {}
/** A fault of this service or of a hook of its host. */
export class InternalError extends errorOf('INTERNAL') {}
/** The store denied the operation: missing permissions or wrong credentials. */
export class StorageDeniedError extends errorOf('STORAGE_DENIED') {}
/** No space or quota left in the store. */
export class StorageFullError extends errorOf('STORAGE_FULL') {}
/** The store did not respond in time. */
export class StorageTimeoutError extends errorOf('STORAGE_TIMEOUT') {}
/** The store cannot be reached, or reports an internal failure. */
export class StorageUnavailableError extends errorOf('STORAGE_UNAVAILABLE') {}
/** The store returned an invalid response: wrong length, unreadable listing. */
export class CorruptError extends errorOf('CORRUPT') {}
/** A capability that the store, or this installation, lacks. */
export class UnsupportedError extends errorOf('UNSUPPORTED') {}
/** The service is shutting down and accepts no more work. */
export class ShuttingDownError extends errorOf('SHUTTING_DOWN') {}
/** A bounded queue is full. */
export class BusyError extends errorOf('BUSY', { headers: { 'Retry-After': '2' } }) {}

/** Marks an `HttpError`, also that of a second copy of this package, or of a test runner. */
const HTTP_ERROR = Symbol.for('stowage.HttpError');

/**
 * For hooks: rejects the request with a status of the host's choice, from 400 to 599. The message is sent to
 * the client unchanged.
 */
export class HttpError extends Error {
  readonly status: number;

  /** The `cause` is only logged. */
  constructor(status: number, message: string, options: { readonly cause?: unknown } = {}) {
    super(message, options);
    this.name = 'HttpError';
    this.status = status;
    Object.defineProperty(this, HTTP_ERROR, { value: true });
  }
}

/** The host rejected one file of a form. */
export class FileRefusedByHost extends HttpError {
  readonly details: ErrorDetails;

  constructor({ status, message }: HttpError, details: ErrorDetails, cause: unknown) {
    super(status, message, { cause });
    this.details = details;
  }
}

/**
 * Whether the host rejects the request, with a status of an error. Many libraries have an `HttpError` with a
 * status too, which is about a request of theirs, and names its address.
 */
export const isHttpError = (error: unknown): error is HttpError => {
  if (typeof error !== 'object' || error === null || !(HTTP_ERROR in error)) return false;
  const { status } = error as { readonly status?: unknown };
  return typeof status === 'number' && Number.isInteger(status) && status >= 400 && status < 600;
};

/** The configuration is invalid. `problems` lists every fault, each with its dotted key. */
export class ConfigError extends Error {
  readonly problems: readonly string[];

  constructor(problems: readonly string[]) {
    super(`The configuration is not valid:\n${problems.map((problem) => `  - ${problem}`).join('\n')}`);
    this.name = 'ConfigError';
    this.problems = problems;
  }
}

/** An error class whose meaning does not depend on the thrower. */
type StorageErrorClass = new (facts: Pick<ErrorOptions, 'detail' | 'cause'>) => StowageError;

/** Error classes for the codes of a library or protocol. */
export type ErrorsByCode<Code> = ReadonlyMap<Code | undefined, StorageErrorClass>;

/** Builds the map from rows of a class and its codes. */
export const errorsByCode = <Code>(
  ...rows: readonly (readonly [StorageErrorClass, ...Code[]])[]
): ErrorsByCode<Code> =>
  new Map(rows.flatMap(([kind, ...codes]) => codes.map((code) => [code, kind] as const)));

/** For promises whose rejection may mean a missing item: `.catch(ifMissing)`. @throws any other error */
export const ifMissing = (error: unknown): undefined => {
  if (error instanceof NotFoundError) return undefined;
  throw error;
};

/** As `ifMissing`, for errors of other classes. */
export const ifOnly =
  (...kinds: readonly (new (input?: ErrorInput) => StowageError)[]) =>
  (error: unknown): undefined => {
    if (!kinds.some((kind) => error instanceof kind)) throw error;
  };

/** As `ifMissing`, where an item of another kind counts as missing too. @throws any other error */
export const ifNoSuch = (error: unknown): undefined =>
  error instanceof WrongKindError ? undefined : ifMissing(error);

/** The result of `work`, such as that of a parser; undefined when it throws one of these errors, or any. */
export const orUndefined = <Result>(
  work: () => Result,
  ...kinds: readonly (new (input?: ErrorInput) => StowageError)[]
): Result | undefined => {
  try {
    return work();
  } catch (error) {
    return kinds.length === 0 ? undefined : ifOnly(...kinds)(error);
  }
};

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
 * Whether a store's error guarantees that the operation was not carried out. After any other error, such as a
 * lost connection or an abort, it may have been, or may still be.
 */
export const isRefusal = (error: unknown): boolean => {
  const code: unknown = error instanceof Error && 'code' in error ? error.code : undefined;
  return isCode(code) && REFUSALS.has(code);
};

/** Whether a store has moved or removed only a part of a folder: `details.removed` counts what is gone. */
export const isPartial = (error: unknown): boolean =>
  error instanceof MovedInPartError ||
  (error instanceof StowageError && Number(error.details?.['removed'] ?? 0) > 0);

/** As `ifMissing`, where the store may also have rejected the operation. @throws any other error */
export const ifRefused = (error: unknown): undefined => {
  if (!isRefusal(error)) throw error;
};
