import { inspect } from 'node:util';

/** Nested causes that are still included. */
const MOST_CAUSES = 5;

const isJson = (value: unknown): boolean => {
  try {
    return value === undefined || JSON.stringify(value) !== undefined;
  } catch {
    return false;
  }
};

const plainError = (error: Error, stacks: boolean, causes: number): unknown => {
  const { name, message, stack, cause } = error;
  const { code, detail } = error as { readonly code?: unknown; readonly detail?: unknown };
  return {
    name,
    message,
    ...(typeof code === 'string' ? { code } : {}),
    ...(typeof detail === 'string' ? { detail } : {}),
    ...(stacks ? { stack } : {}),
    ...(cause === undefined || causes === 0 ? {} : { cause: plainValue(cause, stacks, causes - 1) }),
  };
};

/**
 * Anything that may be logged, or was thrown, as a value that JSON can hold: errors with their code, detail
 * and up to five causes, and on request their stacks; what JSON cannot hold (circles, large integers,
 * symbols) as text. Never throws for such values.
 */
export const plainValue = (value: unknown, stacks: boolean, causes = MOST_CAUSES): unknown => {
  if (value instanceof Error) return plainError(value, stacks, causes);
  return isJson(value) ? value : inspect(value, { depth: 3, breakLength: Number.POSITIVE_INFINITY });
};

/** Values that go with a log line. Never secrets: the caller leaves them out. */
export type LogFields = Readonly<Record<string, unknown>>;

/**
 * Where the service writes what the client must not read. Hosts may pass their own: `console` fits as it is;
 * a logger that wants the fields first, such as pino, needs its two arguments swapped.
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

/** Text of a request must not steer the terminal. */
const printable = (text: string): string =>
  text.replaceAll(/[\u0000-\u0009\u000b-\u001f\u007f-\u009f\u2028-\u202e\u2066-\u2069]/gu, '\ufffd');

const shortValue = (value: unknown): string =>
  typeof value === 'string' && /^[\w./:@-]+$/u.test(value) ? value : JSON.stringify(value);

/** A logger for people at a terminal: the message, its values, and stacks below. */
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

/** The default logger: JSON lines on standard error, or lines for people where that is a terminal. */
export const createStderrLogger = (): Logger => {
  const create = process.stderr.isTTY ? createTerminalLogger : createLineLogger;
  return create((line) => process.stderr.write(line));
};

/** A logger that drops everything. */
export const createSilentLogger = (): Logger => createLogger(() => () => undefined);

/** Nested values and causes that are still included. */
const MAX_DEPTH = 6;
/** Most items of a list, and members of an object, that are still included. */
const MOST_ITEMS = 100;

// `scheme://user:password@host`, in which a password may hold any character but the ends of an authority.
const URL_PASSWORD = /(\b[a-z][a-z\d+.-]{0,30}:\/\/[^\s/?#:@]{0,200}:)[^\s/?#]{1,1000}@/giu;
const SECRET_VALUE =
  /\b((?:sig|signature|x-amz-signature|x-amz-security-token|x-amz-credential|x-goog-signature|accountkey|sharedaccesskey|access_token|client_secret|password|secret)=)[^\s&;,"'<>]+/giu;

const withoutSecrets = (text: string): string =>
  text.replaceAll(URL_PASSWORD, '$1***@').replaceAll(SECRET_VALUE, '$1***');

/** A copy of an error: its name, message, code, stack and causes. Other properties stay out. */
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
  // An object of a library: what it holds is not known here.
  if (!isPlainObject(value)) return `[${value.constructor.name}]`;
  const entries = Object.entries(value).slice(0, MOST_ITEMS);
  return Object.fromEntries(entries.map(([key, item]) => [key, redacted(item, depth - 1)]));
};

const redacted = (value: unknown, depth: number): unknown => {
  if (typeof value === 'string') return withoutSecrets(value);
  return typeof value === 'object' && value !== null ? redactedObject(value, depth) : value;
};

/**
 * The one way to a host's logger. Errors of libraries may hold what they were asked for, passwords included:
 * only the names, messages, codes, stacks and causes of errors pass, and no text passes with the password of
 * a URL, a signature or a key in it.
 */
export const createRedactingLogger = (logger: Logger): Logger =>
  createLogger((level) => (message, fields) => {
    if (fields === undefined) logger[level](withoutSecrets(message));
    else logger[level](withoutSecrets(message), redacted(fields, MAX_DEPTH) as LogFields);
  });
