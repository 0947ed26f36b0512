const UNITS = { b: 1, kb: 1024, mb: 1024 ** 2, gb: 1024 ** 3 } as const;

/**
 * Parses a number of bytes: `8mb`, `1.5 GB`, `100kb`, `512b` or plain bytes (`"8388608"`, `8388608`). Units
 * are powers of 1024, in any case. Undefined for anything else.
 */
export const parseByteSize = (value: string | number): number | undefined => {
  const match = /^\s*(\d+(?:\.\d+)?)\s*(b|kb|mb|gb)?\s*$/iu.exec(String(value));
  if (match?.[1] === undefined) return undefined;
  const unit = (match[2] ?? 'b').toLowerCase() as keyof typeof UNITS;
  const bytes = Math.floor(Number(match[1]) * UNITS[unit]);
  return Number.isSafeInteger(bytes) ? bytes : undefined;
};

/**
 * Normalizes an origin to the form that browsers send: `https://www.example.com`, `http://localhost:3000`,
 * `capacitor://localhost`. Lower case, without the default port of the scheme. Undefined for anything else:
 * with a path, a user name, a wildcard, or `null`.
 */
export const parseOrigin = (text: string): string | undefined => {
  if (!/^[a-z][a-z0-9+.-]*:\/\/[^\s/?#@\\*]+$/iu.test(text) || !URL.canParse(text)) return undefined;
  const { origin } = new URL(text);
  // In the URL standard, schemes outside the web have no origin, but applications send them.
  return origin === 'null' ? text.toLowerCase() : origin;
};

/**
 * The reason why a text is not a valid base URL; undefined when it is: an http or https URL, or only its path
 * (`/photos/`), which browsers resolve against the page's origin. Links append a path, so it has no query and
 * no fragment, and they go to every client, so it has no user name and no password.
 */
export const baseurlProblem = (text: string): string | undefined => {
  if (!/^(?:https?:\/\/[^\s/\\]|\/(?![/\\]))[^\s\\]*$/iu.test(text) || !URL.canParse(text, 'http://host'))
    return 'must be an absolute http or https URL such as https://cdn.example.com/files/, or a path such as /files/';
  const url = new URL(text, 'http://host');
  if (url.username !== '' || url.password !== '') return 'must not hold a user name or password';
  return /[?#]/u.test(text) ? 'must not hold a query or a fragment' : undefined;
};

export const withSlash = (baseurl: string): string => (baseurl.endsWith('/') ? baseurl : `${baseurl}/`);

/** The address of clamd: `tcp://127.0.0.1:3310`, `unix:/run/clamav/clamd.ctl`; else undefined. */
export const parseClamdAddress = (
  text: string,
): { readonly path: string } | { readonly host: string; readonly port: number } | undefined => {
  const path = /^unix:([^\0]+)$/u.exec(text)?.[1];
  if (path !== undefined) return { path: path.replace(/^\/{2,}/u, '/') };
  const match = /^tcp:\/\/(?:\[([\da-f:.]+)\]|([\w.-]+)):(\d{1,5})\/?$/iu.exec(text);
  const host = match?.[1] ?? match?.[2];
  const port = Number(match?.[3]);
  return host === undefined || port < 1 || port > 65_535 ? undefined : { host, port };
};

/** An object without a class, as in JSON. */
export type PlainObject = Readonly<Record<string, unknown>>;

/**
 * Whether a value is an object literal or came from JSON. Lists, dates, buffers, clients and functions are
 * not. Checks the length of the prototype chain, not the identity of its prototypes: test runners, `node:vm`
 * and workers have their own `Object`.
 */
export const isPlainObject = (value: unknown): value is PlainObject => {
  if (typeof value !== 'object' || value === null) return false;
  const prototype: unknown = Object.getPrototypeOf(value);
  return prototype === null || Object.getPrototypeOf(prototype) === null;
};

export type KeyTest = (path: readonly string[], key: string) => boolean;

/**
 * A copy without `undefined`, and without `null` under known keys: a key set to null means its default, at
 * every depth. Nulls under unknown keys and in lists stay, so that validation reports them. Other values are
 * copied by reference.
 */
export const withoutNulls = (input: unknown, isKnown: KeyTest = () => true): unknown => {
  const copy = (value: unknown, path: readonly string[], above: readonly unknown[]): unknown => {
    // Of an object that contains itself the schema reports the key.
    if (above.includes(value)) return value;
    const inside = (key: string, inner: unknown): unknown => copy(inner, [...path, key], [...above, value]);
    if (Array.isArray(value)) return value.map((entry, index) => inside(String(index), entry));
    if (!isPlainObject(value)) return value;
    const kept = Object.entries(value).filter(
      ([key, inner]) => inner !== undefined && (inner !== null || !isKnown(path, key)),
    );
    // fromEntries defines own properties, so a key `__proto__` stays a key and is reported as unknown.
    return Object.fromEntries(kept.map(([key, inner]) => [key, inside(key, inner)]));
  };
  return copy(input, [], []);
};

/** Merges `over` into a copy of `base`: plain objects key by key; other values, also lists, replace. */
export const merge = (base: PlainObject, over: PlainObject): PlainObject => {
  const merged = new Map(Object.entries(base));
  for (const [key, value] of Object.entries(over)) {
    const below = merged.get(key);
    merged.set(key, isPlainObject(below) && isPlainObject(value) ? merge(below, value) : value);
  }
  return Object.fromEntries(merged);
};

/** Freezes plain objects and lists at every depth; others, such as clients and buffers, stay mutable. */
export const freezeDeep = <Value>(value: Value): Value => {
  if (Array.isArray(value) || isPlainObject(value)) {
    Object.freeze(value);
    for (const inner of Object.values(value)) if (!Object.isFrozen(inner)) freezeDeep(inner);
  }
  return value;
};

export const without = (value: PlainObject, keys: readonly string[]): PlainObject =>
  Object.fromEntries(Object.entries(value).filter(([key]) => !keys.includes(key)));
