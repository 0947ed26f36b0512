import type { LogFields, Logger } from './logger.ts';

/** Nested values and causes that are still included. */
const MAX_DEPTH = 6;
/** Most items of a list, and members of an object, that are still included. */
const MOST_ITEMS = 100;

// `scheme://user:password@host`, in which a password may hold any character but the ends of an authority.
const URL_PASSWORD = /(\b[a-z][a-z\d+.-]{0,30}:\/\/[^\s/?#:@]{0,200}:)[^\s/?#]{1,1000}@/giu;
const SECRET_VALUE =
  /\b((?:sig|signature|x-amz-signature|x-amz-security-token|x-amz-credential|x-goog-signature|accountkey|sharedaccesskey|access_token|client_secret|password|secret)=)[^\s&;,"'<>]+/giu;

/** The text without passwords of URLs, signatures and keys. */
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
export const createRedactingLogger = (logger: Logger): Logger => {
  const at =
    (level: 'debug' | 'info' | 'warn' | 'error') =>
    (message: string, fields?: LogFields): void => {
      if (fields === undefined) logger[level](withoutSecrets(message));
      else logger[level](withoutSecrets(message), redacted(fields, MAX_DEPTH) as LogFields);
    };
  return { debug: at('debug'), info: at('info'), warn: at('warn'), error: at('error') };
};
