import type { Access } from '../access/access.ts';
import { serveFile } from '../actions/serving/serve-file.ts';
import type { CorsVerdict } from './cors.ts';
import type { ConnectorRequest, ConnectorResponse } from './message.ts';
import type { PipelineDependencies } from './dependencies.ts';
import type { RequestScope } from './request-scope.ts';
import { authorize, leaseSources } from './requester.ts';
import { answerWhole } from './run-action.ts';
import { findServedPath, mayBeServed } from './served-path.ts';
import type { Target } from './target.ts';

/** Headers that make an answer depend on the version of the file, before it is opened. */
const CONDITIONS = [
  'range',
  'if-range',
  'if-match',
  'if-none-match',
  'if-modified-since',
  'if-unmodified-since',
];

/**
 * A file itself, in place of the eight steps: no action, no parameters, and only protected sources ask who it
 * is. Undefined: no source serves files under this URL.
 */
export const answerFile = async (
  dependencies: PipelineDependencies,
  request: ConnectorRequest,
  { cors, target }: { readonly cors: CorsVerdict; readonly target: Target },
  scope: RequestScope,
): Promise<ConnectorResponse | undefined> => {
  if (!mayBeServed(request)) return undefined;
  if (cors.origin === 'failed') throw cors.failure;
  const lease = await leaseSources(dependencies, request, target);
  const served = findServedPath(request, dependencies.isMounted ?? false, lease.sources);
  if (served === undefined) {
    lease.release();
    return undefined;
  }
  scope.holdLease(lease);
  scope.isFile = true;
  const { source, segments } = served;
  Object.assign(scope.about, { action: 'file', source: source.name, item: segments.join('/').slice(0, 300) });
  const { signal, url, method, headers } = request;
  const isPlain = method === 'GET' && !CONDITIONS.some((name) => headers[name] !== undefined);
  const query = url.includes('?') ? url.slice(url.indexOf('?') + 1) : '';
  const access = (): Promise<Access> => authorize(dependencies, request, scope);
  return answerWhole(
    () => serveFile(dependencies.services, { source, segments, query, signal, isPlain, access }),
    request,
  );
};
