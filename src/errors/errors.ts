import { errorTable, type ErrorCode } from './table.ts';

/** What an error may carry besides its code. */
export interface ErrorOptions {
  /** What the client reads, one message per problem. Never paths of the server, keys or hosts. Default: the table's. */
  readonly messages?: readonly string[];
  /** What only the log reads. */
  readonly detail?: string;
  /** The error of a library or of the system that lies beneath. Only the log reads it. */
  readonly cause?: unknown;
  /** Headers that belong to the answer, such as `Allow` or `Retry-After`. */
  readonly headers?: Readonly<Record<string, string>>;
}

/** Base of every error that this package throws on purpose. `code` names the cause, `status` is its HTTP status. */
export class StowageError extends Error {
  readonly code: ErrorCode;
  readonly status: number;
  readonly messages: readonly string[];
  readonly detail: string | undefined;
  readonly headers: Readonly<Record<string, string>>;

  constructor(code: ErrorCode, options: ErrorOptions = {}) {
    const row = errorTable[code];
    const messages = options.messages?.length ? options.messages : [row.message];
    super(messages.join(' '), { cause: options.cause });
    this.name = new.target.name;
    this.code = code;
    this.status = row.status;
    this.messages = messages;
    this.detail = options.detail;
    this.headers = options.headers ?? {};
  }
}

type Classed = (ErrorOptions & { readonly message?: string }) | string;

const unfold = (input: Classed | undefined): ErrorOptions => {
  if (input === undefined) return {};
  if (typeof input === 'string') return { messages: [input] };
  const { message, ...rest } = input;
  return message === undefined ? rest : { ...rest, messages: [message] };
};

/** One or more parameters are missing or wrong: one message per problem. */
export class InvalidParametersError extends StowageError {
  constructor(messages: readonly string[] | string) {
    super('INVALID_PARAMETERS', { messages: typeof messages === 'string' ? [messages] : messages });
  }
}
/** A path that leaves its root or holds what no path may hold. */
export class UnsafePathError extends StowageError {
  constructor(input?: Classed) {
    super('UNSAFE_PATH', unfold(input));
  }
}
/** A name that is no single, harmless path segment. */
export class UnsafeNameError extends StowageError {
  constructor(input?: Classed) {
    super('UNSAFE_NAME', unfold(input));
  }
}
/** Something with this name is there already. Storage adapters throw it from create-only operations. */
export class AlreadyExistsError extends StowageError {
  constructor(input?: Classed) {
    super('ALREADY_EXISTS', unfold(input));
  }
}
/** A file where a folder was expected, or the reverse. */
export class WrongKindError extends StowageError {
  constructor(input?: Classed) {
    super('WRONG_KIND', unfold(input));
  }
}
/** A folder would be copied or moved into itself. */
export class IntoItselfError extends StowageError {
  constructor(input?: Classed) {
    super('INTO_ITSELF', unfold(input));
  }
}
/** The request's body is cut off or malformed. */
export class BrokenBodyError extends StowageError {
  constructor(input?: Classed) {
    super('BROKEN_BODY', unfold(input));
  }
}
/** Bytes that do not decode as an image, or an image beyond the limits of decoding. */
export class BrokenImageError extends StowageError {
  constructor(input?: Classed) {
    super('BROKEN_IMAGE', unfold(input));
  }
}
/** A remote fetch failed: scheme, unresolvable host, too many redirects, timeout, status of the server. */
export class RemoteFailedError extends StowageError {
  constructor(input?: Classed) {
    super('REMOTE_FAILED', unfold(input));
  }
}
/** A document passes a limit of its conversion: size, depth, number of parts, time. */
export class DocumentLimitError extends StowageError {
  constructor(input?: Classed) {
    super('DOCUMENT_LIMIT', unfold(input));
  }
}
/** The engine that makes documents failed by itself. */
export class DocumentFailedError extends StowageError {
  constructor(input?: Classed) {
    super('DOCUMENT_FAILED', unfold(input));
  }
}
/** An access rule denies the action. */
export class AccessDeniedError extends StowageError {
  constructor(input?: Classed) {
    super('ACCESS_DENIED', unfold(input));
  }
}
/** The file's extension is not in `extensions`. */
export class TypeNotAllowedError extends StowageError {
  constructor(input?: Classed) {
    super('TYPE_NOT_ALLOWED', unfold(input));
  }
}
/** A file passes `maxUploadFileSize`. */
export class FileTooLargeError extends StowageError {
  constructor(input?: Classed) {
    super('FILE_TOO_LARGE', unfold(input));
  }
}
/** A remote address that is not public. */
export class AddressRefusedError extends StowageError {
  constructor(input?: Classed) {
    super('ADDRESS_REFUSED', unfold(input));
  }
}
/** Nothing lies at the path, or it must not be seen. */
export class NotFoundError extends StowageError {
  constructor(input?: Classed) {
    super('NOT_FOUND', unfold(input));
  }
}
/** The stored file is not the version that the caller named. */
export class ChangedMeanwhileError extends StowageError {
  constructor(input?: Classed) {
    super('CHANGED_MEANWHILE', unfold(input));
  }
}
/** A JSON, urlencoded or field text beyond its limit. */
export class BodyTooLargeError extends StowageError {
  constructor(input?: Classed) {
    super('BODY_TOO_LARGE', unfold(input));
  }
}
/** The store refused: its permissions or credentials do not allow the operation. */
export class StorageDeniedError extends StowageError {
  constructor(input?: Classed) {
    super('STORAGE_DENIED', unfold(input));
  }
}
/** No space or quota left in the store. */
export class StorageFullError extends StowageError {
  constructor(input?: Classed) {
    super('STORAGE_FULL', unfold(input));
  }
}
/** The store did not answer within its time. */
export class StorageTimeoutError extends StowageError {
  constructor(input?: Classed) {
    super('STORAGE_TIMEOUT', unfold(input));
  }
}
/** The store cannot be reached or failed by itself. */
export class StorageUnavailableError extends StowageError {
  constructor(input?: Classed) {
    super('STORAGE_UNAVAILABLE', unfold(input));
  }
}
/** The store returned something that cannot be true: wrong length, unreadable listing. */
export class CorruptError extends StowageError {
  constructor(input?: Classed) {
    super('CORRUPT', unfold(input));
  }
}
/** A capability that the store, or this installation, does not have. */
export class UnsupportedError extends StowageError {
  constructor(input?: Classed) {
    super('UNSUPPORTED', unfold(input));
  }
}
/** A bounded queue is full. */
export class BusyError extends StowageError {
  constructor(input?: Classed) {
    super('BUSY', { headers: { 'Retry-After': '2' }, ...unfold(input) });
  }
}

/**
 * For hooks: rejects the request with a status of the host's choice (for example 401).
 * The message goes to the client as it is.
 */
export class HttpError extends Error {
  readonly status: number;

  constructor(status: number, message: string) {
    super(message);
    this.name = 'HttpError';
    this.status = status;
  }
}

/** The configuration cannot be used. `problems` lists every fault, each with its dotted key. */
export class ConfigError extends Error {
  readonly problems: readonly string[];

  constructor(problems: readonly string[]) {
    super(`The configuration is not valid:\n${problems.map((problem) => `  - ${problem}`).join('\n')}`);
    this.name = 'ConfigError';
    this.problems = problems;
  }
}
