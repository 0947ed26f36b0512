import { inspect } from 'node:util';

/** Maximum number of nested causes. */
const MOST_CAUSES = 5;

const isJson = (value: unknown): boolean => {
  try {
    return value === undefined || JSON.stringify(value) !== undefined;
  } catch {
    return false;
  }
};

/** The errors of an `AggregateError`, as of `Promise.any`, which itself says nothing. */
const severalOf = (errors: unknown, stacks: boolean, causes: number): object =>
  Array.isArray(errors) && errors.every((one) => one instanceof Error)
    ? { errors: errors.slice(0, MOST_CAUSES).map((one) => plainValue(one, stacks, causes)) }
    : {};

const plainError = (error: Error, stacks: boolean, causes: number): unknown => {
  const { name, message, stack, cause } = error;
  const { code, detail, errors } = error as {
    readonly code?: unknown;
    readonly detail?: unknown;
    readonly errors?: unknown;
  };
  return {
    name,
    message,
    ...(typeof code === 'string' ? { code } : {}),
    ...(typeof detail === 'string' ? { detail } : {}),
    ...(stacks ? { stack } : {}),
    ...(cause === undefined || causes === 0 ? {} : { cause: plainValue(cause, stacks, causes - 1) }),
    ...(causes === 0 ? {} : severalOf(errors, stacks, causes - 1)),
  };
};

/** Stands for a value that throws when it is read, such as a revoked proxy. */
const UNREADABLE = '[unreadable]';

/**
 * Converts any logged or thrown value to JSON data: errors with their code, detail and up to five causes, and
 * optionally their stacks; values that JSON cannot represent (cycles, large integers, symbols) as text. Never
 * throws.
 */
export const plainValue = (value: unknown, stacks: boolean, causes = MOST_CAUSES): unknown => {
  try {
    if (value instanceof Error) return plainError(value, stacks, causes);
    return isJson(value) ? value : inspect(value, { depth: 3, breakLength: Number.POSITIVE_INFINITY });
  } catch {
    return UNREADABLE;
  }
};

/** Values of a log line. Never secrets: the caller leaves them out. */
export type LogFields = Readonly<Record<string, unknown>>;

/**
 * Log of the service, for information that clients must not read. Hosts may pass their own: `console` fits as
 * it is; a logger that expects the fields first, such as pino, needs its two arguments swapped.
 */
export interface Logger {
  debug(message: string, fields?: LogFields): void;
  info(message: string, fields?: LogFields): void;
  warn(message: string, fields?: LogFields): void;
  error(message: string, fields?: LogFields): void;
}

type Level = keyof Logger;

const createLogger = (at: (level: Level) => Logger[Level]): Logger => ({
  debug: at('debug'),
  info: at('info'),
  warn: at('warn'),
  error: at('error'),
});

/** A logger that writes one JSON object per line. */
export const createLineLogger = (write: (line: string) => void): Logger =>
  createLogger((level) => (message, fields = {}) => {
    const rest = Object.fromEntries(
      Object.entries(fields).map(([key, value]) => [key, plainValue(value, true)]),
    );
    write(`${JSON.stringify({ time: new Date().toISOString(), level, message, ...rest })}\n`);
  });

/** Replaces control characters: text of a request must not control the terminal. */
const printable = (text: string): string =>
  text.replaceAll(/[\u0000-\u0009\u000b-\u001f\u007f-\u009f\u2028-\u202e\u2066-\u2069]/gu, '\ufffd');

const shortValue = (value: unknown): string =>
  typeof value === 'string' && /^[\w./:@-]+$/u.test(value) ? value : JSON.stringify(value);

/** A logger for a terminal: the message, its values, and stacks below. */
export const createTerminalLogger = (write: (line: string) => void): Logger =>
  createLogger((level) => (message, { error, ...fields } = {}) => {
    const values = Object.entries(fields)
      .filter(([, value]) => value !== undefined)
      .map(([key, value]) => `${key}=${shortValue(plainValue(value, false))}`);
    const time = new Date().toISOString().slice(11, 19);
    const line = [time, level.toUpperCase().padEnd(5), message, ...values].join(' ').replaceAll('\n', ' ');
    const below = error === undefined ? '' : `\n${inspect(error, { depth: 3 })}`;
    write(`${printable(`${line}${below}`)}\n`);
  });

const loseLine = (): void => undefined;

/**
 * The default logger, on standard error: JSON lines, or readable lines on a terminal. Lines are lost while its
 * disk is full, or when the program that reads it has ended; without a listener that would end the process.
 */
export const createStderrLogger = (): Logger => {
  process.stderr.off('error', loseLine).on('error', loseLine);
  const create = process.stderr.isTTY ? createTerminalLogger : createLineLogger;
  return create((line) => process.stderr.write(line));
};

/** A logger that drops everything. */
export const createSilentLogger = (): Logger => createLogger(() => () => undefined);

/** Maximum nesting of values and causes. */
const MAX_DEPTH = 6;
/** Maximum number of items of a list, and of members of an object. */
const MOST_ITEMS = 100;

// `scheme://user:password@host`, where a password may contain any character except the ends of an authority.
const URL_PASSWORD = /(\b[a-z][a-z\d+.-]{0,30}:\/\/[^\s/?#:@]{0,200}:)[^\s/?#]{1,1000}@/giu;
const SECRET_VALUE =
  /\b((?:sig|signature|x-amz-signature|x-amz-security-token|x-amz-credential|x-goog-signature|accountkey|sharedaccesskey|access_token|client_secret|password|secret)=)[^\s&;,"'<>]+/giu;

const withoutSecrets = (text: string): string =>
  text.replaceAll(URL_PASSWORD, '$1***@').replaceAll(SECRET_VALUE, '$1***');

/** A copy of an error with its name, message, code, stack and causes only. */
const plainCopy = (error: Error, depth: number): Error => {
  const { name, message, stack, cause } = error;
  const { code, detail } = error as { readonly code?: unknown; readonly detail?: unknown };
  const copy = new Error(withoutSecrets(String(message)));
  Object.defineProperties(copy, {
    name: { value: String(name), configurable: true, writable: true },
    stack: { value: withoutSecrets(String(stack ?? message)), configurable: true, writable: true },
  });
  if (typeof code === 'string' || typeof code === 'number') Object.assign(copy, { code });
  if (typeof detail === 'string') Object.assign(copy, { detail: withoutSecrets(detail) });
  if (cause !== undefined && depth > 0)
    Object.defineProperty(copy, 'cause', { value: redacted(cause, depth - 1), configurable: true });
  if (error instanceof AggregateError && depth > 0)
    Object.assign(copy, { errors: redacted(error.errors, depth - 1) });
  return copy;
};

const isPlainObject = (value: object): boolean => {
  const prototype: unknown = Object.getPrototypeOf(value);
  return prototype === null || prototype === Object.prototype;
};

const redactedObject = (value: object, depth: number): unknown => {
  if (value instanceof Error) return plainCopy(value, depth);
  if (value instanceof Date) return value;
  if (depth === 0) return '…';
  if (Array.isArray(value)) return value.slice(0, MOST_ITEMS).map((item) => redacted(item, depth - 1));
  // An object of a library, with unknown contents.
  if (!isPlainObject(value)) return `[${value.constructor.name}]`;
  const entries = Object.entries(value).slice(0, MOST_ITEMS);
  return Object.fromEntries(entries.map(([key, item]) => [key, redacted(item, depth - 1)]));
};

const redacted = (value: unknown, depth: number): unknown => {
  try {
    if (typeof value === 'string') return withoutSecrets(value);
    return typeof value === 'object' && value !== null ? redactedObject(value, depth) : value;
  } catch {
    return UNREADABLE;
  }
};

/**
 * Wraps the host's logger; all log lines pass through this. Errors of libraries may contain request data,
 * passwords included: only names, messages, codes, stacks and causes of errors are logged, and all texts are
 * cleaned of passwords in URLs, signatures and keys. Never throws: a line that the logger rejects is lost.
 */
export const createRedactingLogger = (logger: Logger): Logger =>
  createLogger((level) => (message, fields) => {
    const told = [withoutSecrets(message), ...(fields === undefined ? [] : [redacted(fields, MAX_DEPTH)])];
    try {
      // An asynchronous logger may reject later.
      const write = logger[level].bind(logger) as (...told: readonly unknown[]) => unknown;
      const written = write(...told);
      if (written instanceof Promise) written.catch(loseLine);
    } catch {
      // As pino does when the worker of its transport has ended: requests continue without a log.
    }
  });
