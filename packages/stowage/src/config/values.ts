const UNITS = { b: 1, kb: 1024, mb: 1024 ** 2, gb: 1024 ** 3 } as const;

/**
 * Reads a number of bytes: `8mb`, `1.5 GB`, `100kb`, `512b` or plain bytes (`"8388608"`, `8388608`). Units
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
 * An origin in the form that browsers send: `https://www.example.com`, `http://localhost:3000`,
 * `capacitor://localhost`. Lower case, without the scheme's own port. Undefined for anything else: with a
 * path, a user name, a wildcard, or `null`.
 */
export const parseOrigin = (text: string): string | undefined => {
  if (!/^[a-z][a-z0-9+.-]*:\/\/[^\s/?#@\\*]+$/iu.test(text) || !URL.canParse(text)) return undefined;
  const { origin } = new URL(text);
  // Schemes outside the web have no origin for the URL standard, yet applications send them.
  return origin === 'null' ? text.toLowerCase() : origin;
};

/**
 * Why a text cannot be a public address, or undefined when it can: an http or https URL, or only its path
 * (`/photos/`), which browsers take from the page's own origin. Links are made by adding a path, so it has no
 * query and no fragment, and they go to every client, so it has no user name and no password.
 */
export const baseurlProblem = (text: string): string | undefined => {
  if (!/^(?:https?:\/\/[^\s/\\]|\/(?![/\\]))[^\s\\]*$/iu.test(text) || !URL.canParse(text, 'http://host'))
    return 'must be an absolute http or https URL such as https://cdn.example.com/files/, or a path such as /files/';
  const url = new URL(text, 'http://host');
  if (url.username !== '' || url.password !== '') return 'must not hold a user name or password';
  return /[?#]/u.test(text) ? 'must not hold a query or a fragment' : undefined;
};

/** The address with the slash that paths are added to. */
export const withSlash = (baseurl: string): string => (baseurl.endsWith('/') ? baseurl : `${baseurl}/`);

/**
 * Where clamd listens: `tcp://127.0.0.1:3310`, `tcp://[::1]:3310` or `unix:/run/clamav/clamd.ctl`. Undefined for
 * anything else.
 */
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

/** An object as JSON has them: no class of its own. */
export type PlainObject = Readonly<Record<string, unknown>>;

/**
 * Whether a value is an object literal or came from JSON. Lists, dates, buffers, clients and functions are
 * not. Decided by the length of its chain of prototypes, not by their identity: test runners, `node:vm` and
 * workers have an `Object` of their own.
 */
export const isPlainObject = (value: unknown): value is PlainObject => {
  if (typeof value !== 'object' || value === null) return false;
  const prototype: unknown = Object.getPrototypeOf(value);
  return prototype === null || Object.getPrototypeOf(prototype) === null;
};

/** Whether an object at a path has a key of this name. */
export type KeyTest = (path: readonly string[], key: string) => boolean;

/**
 * A copy in which no object holds `undefined`, nor `null` under a known key: a key set to null keeps its
 * default, at every depth. Nulls under unknown keys stay, and so do those in lists, so that checks find them.
 * Other values are taken as they are.
 */
export const withoutNulls = (
  value: unknown,
  isKnown: KeyTest = () => true,
  path: readonly string[] = [],
): unknown => {
  if (Array.isArray(value))
    return value.map((entry, index) => withoutNulls(entry, isKnown, [...path, String(index)]));
  if (!isPlainObject(value)) return value;
  const kept = Object.entries(value).filter(
    ([key, inner]) => inner !== undefined && (inner !== null || !isKnown(path, key)),
  );
  // fromEntries defines own properties, so a key `__proto__` stays a key and is reported as unknown.
  return Object.fromEntries(kept.map(([key, inner]) => [key, withoutNulls(inner, isKnown, [...path, key])]));
};

/**
 * Lays `over` on `base`: objects merge key by key at every depth, anything else, lists too, replaces. Neither
 * is changed.
 */
export const merge = (base: PlainObject, over: PlainObject): PlainObject => {
  const merged = new Map(Object.entries(base));
  for (const [key, value] of Object.entries(over)) {
    const below = merged.get(key);
    merged.set(key, isPlainObject(below) && isPlainObject(value) ? merge(below, value) : value);
  }
  return Object.fromEntries(merged);
};

/**
 * Freezes plain objects and lists at every depth, and nothing else: a client or a buffer among them stays
 * usable.
 */
export const freezeDeep = <Value>(value: Value): Value => {
  if (Array.isArray(value) || isPlainObject(value)) {
    Object.freeze(value);
    for (const inner of Object.values(value)) if (!Object.isFrozen(inner)) freezeDeep(inner);
  }
  return value;
};

export const without = (value: PlainObject, keys: readonly string[]): PlainObject =>
  Object.fromEntries(Object.entries(value).filter(([key]) => !keys.includes(key)));
