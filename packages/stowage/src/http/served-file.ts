import { EVERYTHING } from '../access/access.ts';
import { serveFile } from '../actions/serving/serve-file.ts';
import { NotFoundError } from '../errors/errors.ts';
import type { CorsVerdict } from './cors.ts';
import type { ConnectorResponse } from './message.ts';
import type { RequestScope } from './request-scope.ts';
import { SourceViews } from '../view/source-views.ts';
import { runToResponse } from './run-action.ts';
import { findServedPath, isOfFileRoute, requireMethodOfFile } from './target.ts';

/** Headers for which the version of the file must be known before it is opened. */
const CONDITIONS = [
  'range',
  'if-range',
  'if-match',
  'if-none-match',
  'if-modified-since',
  'if-unmodified-since',
];

/**
 * Responds with a file itself, without the eight steps: no action, no parameters, and only protected sources
 * authenticate. Undefined: the URL may be that of an action.
 * @throws NotFoundError for files of unknown sources
 */
export const handleFile = async (
  scope: RequestScope,
  cors: CorsVerdict,
): Promise<ConnectorResponse | undefined> => {
  if (cors.origin === 'failed') throw cors.failure;
  const { request, edge } = scope;
  const { isMounted = false, services } = edge;
  // As configured: the content of a file contains no addresses of sources.
  const { sources } = await scope.lease();
  const served = findServedPath(request, isMounted, sources);
  const { signal, url, method, headers } = request;
  const isHead = method === 'HEAD';
  if (served === undefined || (method !== 'GET' && !isHead)) {
    const modes = new Set(sources.all.map(({ settings }) => settings.serve));
    modes.delete('off');
    if (modes.size === 0 || !isOfFileRoute(request, isMounted)) return undefined;
    scope.isFile = true;
    requireMethodOfFile(request);
    // Requests without a role must not learn the names of protected sources.
    if (modes.has('protected')) await scope.authorize();
    throw new NotFoundError();
  }
  scope.isFile = true;
  const { source, segments } = served;
  Object.assign(scope.about, { action: 'file', source: source.name, item: segments.join('/').slice(0, 300) });
  const isPlain = method === 'GET' && !CONDITIONS.some((name) => headers[name] !== undefined);
  const query = url.includes('?') ? url.slice(url.indexOf('?') + 1) : '';
  const isProtected = source.settings.serve === 'protected';
  const run = async (): ReturnType<typeof serveFile> => {
    const access = isProtected ? await scope.authorize() : EVERYTHING;
    const view = await new SourceViews(sources, access, { signal }).of(source);
    const viewsFor = async (isAsking: boolean): Promise<SourceViews> =>
      new SourceViews(scope.seen(sources, segments.length + 2), isAsking ? await scope.authorize() : access, {
        signal,
      });
    return serveFile(services, { view, viewsFor, segments, query, signal, isPlain, isHead });
  };
  return runToResponse(run, request, services.yieldToLoop);
};
