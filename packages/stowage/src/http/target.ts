import type { Action } from '../actions/action.ts';
import { InvalidParametersError, MethodNotAllowedError, orUndefined } from '../errors/errors.ts';
import type { RawParameters } from '../parameters/raw.ts';
import type { ConnectorRequest, HookRequest } from './message.ts';
import { FILE_ROUTE } from '../sources/source-group.ts';
import type { Source, SourceSet } from '../sources/source.ts';

export interface Target {
  /** The decoded path without surrounding slashes, the name of the action; undefined at the root. */
  readonly action: string | undefined;
  /** The path without the action's name: the prefix of a mount, or a mistake if no parameter names one. */
  readonly prefix?: string | undefined;
  /** The raw query without `?`. */
  readonly query: string;
}

const decoded = (segment: string): string | undefined => orUndefined(() => decodeURIComponent(segment));

/** Parses path and query below the mount. Escapes are decoded once; a trailing slash is ignored. */
export const parseTarget = (url: string): Target => {
  // A proxy may send the absolute form: http://host/files.
  const local = url.startsWith('/') ? url : url.replace(/^[a-z][a-z\d+.-]*:\/\/[^/?#]*/iu, '');
  const mark = local.indexOf('?');
  const path = mark === -1 ? local : local.slice(0, mark);
  const written = path.slice(path.startsWith('/') ? 1 : 0, path.endsWith('/') ? -1 : undefined);
  const name = decoded(written) ?? written;
  return { action: name === '' ? undefined : name, query: mark === -1 ? '' : local.slice(mark + 1) };
};

/** The target of a URL that may contain the mount: only the last segment can name an action. */
export const withinMount = ({ action, query }: Target, isAction: (name: string) => boolean): Target => {
  if (action === undefined || isAction(action)) return { action, query };
  const last = action.slice(action.lastIndexOf('/') + 1);
  return isAction(last) ? { action: last, query } : { action: undefined, prefix: action, query };
};

/** The number of trailing segments that are not of a mount: that of the action, if the path names one. */
export const ownSegments = ({ action, prefix }: Target): number =>
  action === undefined || prefix !== undefined ? 0 : 1;

/**
 * The action's name among the parameters of a query or body; undefined when absent or empty.
 * @throws InvalidParametersError when it is repeated or not text.
 */
export const actionParameter = (parameters: RawParameters): string | undefined => {
  const { action } = parameters;
  if (action === undefined || action === '') return undefined;
  if (typeof action !== 'string') throw new InvalidParametersError('action: must be given once, as text');
  return action;
};

const rejectMethod = (allow: string): never => {
  throw new MethodNotAllowedError({ headers: { Allow: allow } });
};

const ANY_ACTION = { methods: ['GET', 'POST'], changes: false } as const;

/** Value of `Allow` for an action, or an unknown one. HEAD works where GET does and nothing is changed. */
export const allowedMethods = (
  onlyPOST: boolean,
  { methods, changes }: Pick<Action, 'methods' | 'changes'> = ANY_ACTION,
): string => {
  const ofGet = changes ? ['GET'] : ['GET', 'HEAD'];
  const reads = methods.includes('GET') && !onlyPOST ? ofGet : [];
  return [...reads, 'POST', 'OPTIONS'].join(', ');
};

/** The check of `onlyPOST`. @throws StowageError METHOD_NOT_ALLOWED */
export const refuseGetIfOnlyPost = ({ method }: HookRequest, onlyPOST: boolean): void => {
  if (onlyPOST && (method === 'GET' || method === 'HEAD')) rejectMethod(allowedMethods(onlyPOST));
};

/** Rejects methods that no action supports. @throws StowageError METHOD_NOT_ALLOWED */
export const requireKnownMethod = ({ method }: HookRequest, allowed: string): void => {
  if (method !== 'GET' && method !== 'POST' && method !== 'HEAD') rejectMethod(allowed);
};

/** Rejects methods that are not in the value of `Allow`. @throws StowageError METHOD_NOT_ALLOWED */
export const requireMethodOf = ({ method }: HookRequest, allowed: string): void => {
  if (!allowed.split(', ').includes(method)) rejectMethod(allowed);
};

/** A URL of a served file: `<mount>/file/<source>/<path…>`. */
export interface ServedPath {
  readonly source: Source;
  /** Segments below the source, each decoded once. */
  readonly segments: readonly string[];
}

/** The path of a URL without its leading slash, in raw segments. */
export const segmentsOf = (url: string): readonly string[] => {
  const [path = ''] = url.replace(/^[a-z][a-z\d+.-]*:\/\/[^/?#]*/iu, '').split('?', 1);
  return path.replace(/^\//u, '').split('/');
};

/** Whether a request may be for a served file, before the sources are known. */
export const mayBeServed = ({ url }: ConnectorRequest): boolean => segmentsOf(url).includes(FILE_ROUTE);

/** Value of `Allow` for served files. */
export const FILE_METHODS = 'GET, HEAD, OPTIONS';

/** Rejects methods with which no file is served. @throws StowageError METHOD_NOT_ALLOWED */
export const requireMethodOfFile = ({ method }: HookRequest): void => {
  if (method !== 'GET' && method !== 'HEAD') rejectMethod(FILE_METHODS);
};

/** Whether a URL is that of a file: below unknown prefixes, one with a segment `file` and no action. */
export const isOfFileRoute = (
  { url, isExact = false }: ConnectorRequest,
  isMounted: boolean,
  { action, query }: Target,
): boolean => {
  const segments = segmentsOf(url);
  const isKnown = isExact || !isMounted;
  const start = segments.indexOf(FILE_ROUTE);
  if (start === -1 || start > segments.length - 3) return false;
  return isKnown ? start === 0 : action === undefined && !new URLSearchParams(query).get('action');
};

/**
 * The file that a URL means; undefined when no source serves files there. Several sources match only below an
 * unknown prefix: a protected one comes last, so that its name does not change the response for another.
 */
export const findServedPath = (
  { url, isExact = false }: ConnectorRequest,
  isMounted: boolean,
  sources: SourceSet,
): ServedPath | undefined => {
  const segments = segmentsOf(url);
  let hidden: ServedPath | undefined;
  for (const [index, segment] of segments.entries()) {
    // The route is at the mount when that is known, else after any prefix that was left in the URL.
    if (segment !== FILE_ROUTE || (index > 0 && (isExact || !isMounted))) continue;
    const [name, ...rest] = segments.slice(index + 1).map(decoded);
    const source = name === undefined || rest.length === 0 ? undefined : sources.find(name);
    if (source === undefined || source.settings.serve === 'off') continue;
    const whole = rest.filter((one) => one !== undefined);
    const served = whole.length === rest.length ? { source, segments: whole } : undefined;
    if (source.settings.serve !== 'protected') return served;
    hidden ??= served;
  }
  return hidden;
};

export const TUS_ROUTE = 'tus';
const TUS_ID = /^[0-9a-f]{40}$/u;

export interface TusPath {
  /** Undefined for the route itself, where uploads are created. */
  readonly id: string | undefined;
  readonly ownSegments: number;
}

/**
 * The upload that a URL means, or the route itself; undefined for other URLs. Only below an unknown prefix,
 * which may end with the name of the route, must an id have the right form.
 */
export const findTusPath = (
  { url, isExact = false }: ConnectorRequest,
  isMounted: boolean,
): TusPath | undefined => {
  const segments = segmentsOf(url).filter((segment) => segment !== '');
  const mayHavePrefix = isMounted && !isExact;
  const [route, id] = segments.slice(segments.at(-1) === TUS_ROUTE ? -1 : -2);
  const ownSegments = id === undefined ? 1 : 2;
  if (route !== TUS_ROUTE) return undefined;
  const isUpload = mayHavePrefix ? id === undefined || TUS_ID.test(id) : segments.length === ownSegments;
  return isUpload ? { id, ownSegments } : undefined;
};
