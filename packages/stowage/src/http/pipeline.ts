import { EVERYTHING } from '../access/access.ts';
import { asksForChange, editorFor } from '../actions/action.ts';
import { serveFile } from '../actions/serving/serve-file.ts';
import type { Logger } from '../basics/log/logger.ts';
import { NotFoundError } from '../errors/errors.ts';
import { textBoundsOf } from '../parameters/fields.ts';
import type { SourceSet } from '../sources/source.ts';
import { SourceViews } from '../view/source-views.ts';
import {
  preflightResponse,
  type CorsVerdict,
  createOriginCheck,
  refuseCrossSite,
  refuseUnknownSender,
  withCorsHeaders,
} from './cors.ts';
import { errorResponse, clientWording } from './error-response.ts';
import type { ConnectorRequest, ConnectorResponse, Handle } from './message.ts';
import type { Edge, PipelineDependencies } from './pipeline-dependencies.ts';
import { readInput, type RequestInput } from './read-input.ts';
import { type RepresentationRules, represented } from './representation.ts';
import { grant, type GrantedRequest, RequestScope } from './request-scope.ts';
import { findAction, pingResponse, requireAccess, runAction, runToResponse } from './run-action.ts';
import {
  allowedMethods,
  FILE_METHODS,
  findServedPath,
  findTusPath,
  isOfFileRoute,
  mayBeServed,
  ownSegments,
  parseTarget,
  refuseGetIfOnlyPost,
  requireKnownMethod,
  requireMethodOf,
  requireMethodOfFile,
  type ServedPath,
  type Target,
  withinMount,
} from './target.ts';
import { handleTus } from './tus-route.ts';

export type { PipelineDependencies } from './pipeline-dependencies.ts';

const PING = 'ping';
const pingMethods: ReadonlySet<string> = new Set(['GET', 'HEAD', 'POST']);

const readTarget = ({ actions, isMounted = false }: Edge, { url, isExact = false }: ConnectorRequest) => {
  const target = parseTarget(url);
  if (!isMounted || isExact) return target;
  return withinMount(target, (name) => name === PING || actions.has(name));
};

/** Reads language and editor from the URL first, so that early errors have the right language and format. */
const readLanguageAndEditor = (scope: RequestScope, { action, query }: Target): void => {
  if (query === '') return;
  const given = new URLSearchParams(query);
  const actionName = action ?? given.get('action') ?? undefined;
  scope.language = given.get('language');
  scope.editor = editorFor(scope.edge.actions.get(actionName ?? ''), given.get('responseType'));
};

const describeInput = (
  { scope, sources }: GrantedRequest,
  { actionName = '', parameters, uploads }: RequestInput,
): void => {
  const { about, edge } = scope;
  scope.noteAction(actionName);
  const text = (name: string): string => {
    const value = parameters[name];
    return typeof value === 'string' ? value.slice(0, 300) : '';
  };
  about.source = text('source');
  const [first] = uploads;
  const names = [text('path').replaceAll(/^\/+|\/+$/gu, ''), text('name') || (first?.filename ?? '')];
  about.item = text('from') || names.filter((part) => part !== '').join('/');
  // A change happens in one source; listings may cover all of them.
  if (edge.actions.get(actionName)?.changes === true) about.source ||= sources.all[0]?.name ?? '';
  if (first !== undefined) about.files = uploads.length;
};

/** The eight steps of the protocol, in their order. */
const handleAction = async (scope: RequestScope, cors: CorsVerdict): Promise<ConnectorResponse> => {
  const { edge, request } = scope;
  const { settings, actions } = edge;
  const { method } = request;
  const target = readTarget(edge, request);
  readLanguageAndEditor(scope, target);

  // 1. With onlyPOST, nothing is served by GET.
  refuseGetIfOnlyPost(request, settings.onlyPOST);

  // 2. The health check needs no permission.
  if (target.action === PING && pingMethods.has(method)) return pingResponse();

  // 3. Cross-origin rules; OPTIONS ends here.
  if (cors.origin === 'failed') throw cors.failure;
  const allowed = allowedMethods(settings.onlyPOST, actions.get(target.action ?? ''));
  if (method === 'OPTIONS') return preflightResponse(request, cors, allowed);
  if (settings.refuseCrossSite) refuseCrossSite(request, cors);
  requireKnownMethod(request, allowed);
  scope.ofAction = true;

  // 4. The sources that serve this request. 5. Its role and access rules.
  const granted = await grant(scope, ownSegments(target));

  // 6. The parameters and files.
  const input = await readInput(granted, target);
  describeInput(granted, input);
  granted.views.isWide = actions.get(input.actionName ?? '')?.changes === true;

  // 7. The access check.
  requireAccess(granted, input);

  // 8. The action.
  if (scope.mayBeFile && input.actionName === target.prefix) requireMethodOfFile(request);
  const action = findAction(actions, input.actionName);
  const isChange = asksForChange(action, input.parameters);
  requireMethodOf(request, allowedMethods(settings.onlyPOST, { ...action, changes: isChange }));
  if (settings.refuseCrossSite && isChange) refuseUnknownSender(request, cors);
  scope.isChange = isChange;
  return runAction(action, granted.actionContext(input.uploads), input, request, () => clientWording(scope));
};

/** Responds according to the URL: with a served file, a resumable upload, or an action. */
const route = async (scope: RequestScope, cors: CorsVerdict): Promise<ConnectorResponse> => {
  const { edge, request } = scope;
  const { resumable, isMounted = false } = edge;
  const path = resumable && findTusPath(request, isMounted);
  // Before files: the prefix of a mount may have a segment `file`.
  if (resumable !== undefined && path !== undefined) return handleTus(resumable, path, scope, cors);
  const file = mayBeServed(request) ? await handleFile(scope, cors) : undefined;
  return file ?? handleAction(scope, cors);
};

/** Logs changes, and with `logRequests` reads as well. */
const logResponse = (scope: RequestScope, response: ConnectorResponse): void => {
  const { settings, log } = scope.edge;
  if (scope.isChange) log.info('Changed.', scope.logFields(response));
  else if (settings.logRequests) log.info('Answered.', scope.logFields(response));
};

/** As in nginx: neither a failure of the service nor a response. */
const CLIENT_LEFT = 499;

const outcomeOf = ({ edge, about, isFile, isTus }: RequestScope, { status, headers }: ConnectorResponse) => {
  const { action } = about;
  const length = headers['content-length'];
  return {
    // Clients can send any name: unknown ones would create unlimited series of metrics.
    action: action !== undefined && (isFile || isTus || edge.actions.has(action)) ? action : undefined,
    status,
    bytes: length === undefined ? undefined : Number(length),
  };
};

/** Calls the host's observer. A failure, such as that of a histogram that gets no number, is only logged. */
const observed = <Result>(log: Logger, call: () => Result): Result | undefined => {
  try {
    return call();
  } catch (error) {
    log.error('The option observe failed.', { error });
    return undefined;
  }
};

/**
 * Signed links are secrets next to names that other users may choose: the length of a compressed response
 * would reveal them (BREACH), and a cached copy on disk would outlive the session.
 */
const rulesFor = (scope: RequestScope): RepresentationRules => {
  const { method } = scope.request;
  const isRead = scope.ofAction && !scope.isChange && (method === 'GET' || method === 'HEAD');
  return scope.maySign
    ? { compresses: false, isKept: false }
    : { compresses: scope.edge.settings.compressAnswers, isKept: isRead };
};

export const createPipeline = (dependencies: PipelineDependencies): Handle => {
  const { settings, version, actions, isOriginAllowed, log, observe } = dependencies;
  const checkOrigin = createOriginCheck(settings, isOriginAllowed, log);
  const bounds = textBoundsOf([...actions.values()].map(({ parameters }) => parameters));
  const edge: Edge = { ...dependencies, bounds };
  const always = version === undefined ? {} : { 'x-app-version': version };

  return async (request) => {
    const scope = new RequestScope(edge, request);
    const ended = observe && observed(log, observe);
    const cors = await checkOrigin(request);
    let response: ConnectorResponse;
    let left = {};
    try {
      response = await represented(await route(scope, cors), request, rulesFor(scope));
      logResponse(scope, response);
    } catch (error) {
      response = errorResponse(error, scope);
      if (request.signal.aborted) left = { status: CLIENT_LEFT };
    }
    if (ended !== undefined)
      scope.atEnd(() => observed(log, () => ended(outcomeOf(scope, { ...response, ...left }))));
    await scope.endWith(response.body);
    const isSecret = scope.maySign && !scope.isFile && response.headers['cache-control'] === 'no-store';
    return {
      status: response.status,
      statusText: response.statusText,
      headers: Object.assign(withCorsHeaders(response.headers, cors), scope.headers, always, {
        'x-request-id': scope.about.id,
        // Nor may middleware of the host compress it.
        ...(isSecret ? { 'cache-control': 'no-store, no-transform' } : {}),
      }),
      body: request.method === 'HEAD' ? undefined : response.body,
    };
  };
};

/** Headers for which the version of the file must be known before it is opened. */
const CONDITIONS = [
  'range',
  'if-range',
  'if-match',
  'if-none-match',
  'if-modified-since',
  'if-unmodified-since',
];

/** Undefined: the URL may be that of an action. @throws NotFoundError, or METHOD_NOT_ALLOWED */
const rejectFile = async (scope: RequestScope, { all }: SourceSet, served: ServedPath | undefined) => {
  const { request, edge } = scope;
  const { method } = request;
  const isBelowUnknown = edge.isMounted === true && request.isExact !== true;
  const modes = new Set(all.map(({ settings }) => settings.serve));
  modes.delete('off');
  // Requests without a role must not learn the names of protected sources: those behave like unknown ones.
  const isHidden = served === undefined || served.source.settings.serve === 'protected';
  const mayBeAction = isBelowUnknown && isHidden && method !== 'GET' && method !== 'HEAD';
  scope.mayBeFile = modes.size > 0;
  if (mayBeAction || !scope.mayBeFile) return undefined;
  scope.isFile = true;
  requireMethodOfFile(request);
  if (modes.has('protected')) await scope.authorize();
  throw new NotFoundError();
};

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
  if (!isOfFileRoute(request, isMounted, readTarget(edge, request))) return undefined;
  if (request.method === 'OPTIONS') {
    const mayBeAction = isMounted && request.isExact !== true;
    return mayBeAction ? undefined : preflightResponse(request, cors, FILE_METHODS, FILE_METHODS);
  }
  // As configured: the content of a file contains no addresses of sources.
  const { sources } = await scope.lease();
  const served = findServedPath(request, isMounted, sources);
  const { signal, url, method, headers } = request;
  const isHead = method === 'HEAD';
  if (served === undefined || (method !== 'GET' && !isHead)) return rejectFile(scope, sources, served);
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
