import type { IncomingMessage } from 'node:http';

export interface MountOptions {
  /** Path that the connector is mounted below, when the framework leaves it in the URL: `/api/files`. */
  readonly basePath?: string | undefined;
}

/** Where a request points to, as far as its bridge knows. */
export interface MountedUrl {
  /** Path and query. */
  readonly url: string;
  /** Whether the path begins at the mount for certain. */
  readonly isExact: boolean;
  /** What was cut. */
  readonly mount?: string | undefined;
}

/** What Express puts onto a request. */
interface ExpressMarks {
  /** What mounts have cut from the URL. */
  readonly baseUrl?: unknown;
  /** The URL as it was before. */
  readonly originalUrl?: unknown;
  /** The route that the request has come to; a route cuts nothing. */
  readonly route?: unknown;
}

/**
 * Makes the cut of a base path from a URL: by whole segments, so that `/files2` is not below `/files`.
 * Undefined: not below it.
 */
export const createCut = (basePath: string): ((url: string) => string | undefined) => {
  const segments = basePath.split('/').filter((segment) => segment !== '');
  const base = segments.map((segment) => `/${segment}`).join('');
  return (url) => {
    if (!url.startsWith(base)) return undefined;
    const rest = url.slice(base.length);
    if (rest.startsWith('/')) return rest;
    return rest === '' || rest.startsWith('?') ? `/${rest}` : undefined;
  };
};

/** What stands before the rest of a URL. */
export const mountOf = (whole: string, rest: string): string => {
  const [path = ''] = whole.split('?', 1);
  const [inside = ''] = rest.split('?', 1);
  const mount = path.endsWith(inside) ? path.slice(0, path.length - inside.length) : path;
  return mount.replace(/\/+$/u, '');
};

/** Express has cut the whole mount, unless a route stands between: its own path is still in the URL. */
const isCutByExpress = ({ baseUrl, route }: ExpressMarks): boolean =>
  typeof baseUrl === 'string' && baseUrl !== '' && route === undefined;

/** Makes the reader of a node request's URL below the mount. */
export const createMountReader = ({
  basePath,
}: MountOptions): ((request: IncomingMessage & ExpressMarks) => MountedUrl) => {
  if (basePath === undefined) {
    return (request) => {
      const url = request.url ?? '/';
      const isExact = isCutByExpress(request);
      return { url, isExact, ...(isExact ? { mount: String(request.baseUrl) } : {}) };
    };
  }
  const cut = createCut(basePath);
  return (request) => {
    const url = request.url ?? '/';
    const whole = typeof request.originalUrl === 'string' ? request.originalUrl : url;
    // A host may have cut it by itself.
    const rest = cut(whole) ?? url;
    return { url: rest, isExact: true, mount: mountOf(whole, rest) };
  };
};
