import { FILE_ROUTE } from '../sources/own-address.ts';
import type { Source, SourceSet } from '../sources/source.ts';
import type { ConnectorRequest } from './message.ts';

/** A URL that asks for a file itself: `<mount>/file/<source>/<path…>`. */
export interface ServedPath {
  readonly source: Source;
  /** Below the source, each decoded once. */
  readonly segments: readonly string[];
}

const decoded = (segment: string): string | undefined => {
  try {
    return decodeURIComponent(segment);
  } catch {
    return undefined;
  }
};

/** The path of a URL without the slash at its beginning, in segments as sent. */
export const segmentsOf = (url: string): readonly string[] => {
  const [path = ''] = url.replace(/^[a-z][a-z\d+.-]*:\/\/[^/?#]*/iu, '').split('?', 1);
  return path.replace(/^\//u, '').split('/');
};

/**
 * Where the route may begin: only at the mount when the bridge knows it, else behind any prefix that was left
 * in the URL.
 */
const candidates = (segments: readonly string[], isExact: boolean): readonly number[] =>
  segments.flatMap((segment, index) => (segment === FILE_ROUTE && (index === 0 || !isExact) ? [index] : []));

/** Whether a request may ask for a file itself, before it is known which sources there are. */
export const mayBeServed = ({ method, url }: ConnectorRequest): boolean =>
  (method === 'GET' || method === 'HEAD') && segmentsOf(url).includes(FILE_ROUTE);

/** Whether a URL can ask for nothing but a file, whatever sources there are: no action has such a path. */
export const isOfFileRoute = ({ url, isExact = false }: ConnectorRequest, isMounted: boolean): boolean => {
  const segments = segmentsOf(url);
  return (isExact || !isMounted) && segments.length > 2 && segments[0] === FILE_ROUTE;
};

/** The file that a URL asks for; undefined when no source serves files there. */
export const findServedPath = (
  { url, isExact = false }: ConnectorRequest,
  isMounted: boolean,
  sources: SourceSet,
): ServedPath | undefined => {
  const segments = segmentsOf(url);
  for (const index of candidates(segments, isExact || !isMounted)) {
    const [name, ...rest] = segments.slice(index + 1).map(decoded);
    const source = name === undefined || rest.length === 0 ? undefined : sources.find(name);
    if (source === undefined || source.settings.serve === 'off') continue;
    const whole = rest.filter((segment) => segment !== undefined);
    return whole.length === rest.length ? { source, segments: whole } : undefined;
  }
  return undefined;
};
