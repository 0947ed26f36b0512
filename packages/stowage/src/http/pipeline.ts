import { asksForChange, editorFor } from '../actions/action.ts';
import type { Actions } from '../actions/registry.ts';
import type { SourceSet } from '../sources/source.ts';
import { type TextBounds, textBoundsOf } from '../parameters/fields.ts';
import {
  answerOptions,
  type CorsVerdict,
  createOriginCheck,
  refuseCrossSite,
  refuseUnknownSender,
  withCorsHeaders,
} from './cors.ts';
import {
  authorize,
  createActionContext,
  holderOf,
  leaseSources,
  type PipelineDependencies,
  type RequestFacts,
  RequestScope,
} from './request-scope.ts';
import { findAction, pingResponse, requireAccess, runAction } from './run-action.ts';
import { clientWording, createErrorResponder } from './error-response.ts';
import type { ConnectorRequest, ConnectorResponse, Handle, RequestOutcome } from './message.ts';
import { createAdmission, readInput, type RequestInput } from './read-input.ts';
import { answerFile } from './served-file.ts';
import { type RepresentationRules, represented } from './representation.ts';
import { answerTus } from './tus-route.ts';
import {
  allowedMethods,
  findTusPath,
  mayBeServed,
  ownSegments,
  parseTarget,
  refuseGetIfOnlyPost,
  requireKnownMethod,
  requireMethodOf,
  type Target,
  withinMount,
} from './target.ts';

export type { PipelineDependencies } from './request-scope.ts';

const PING = 'ping';
const pingMethods: ReadonlySet<string> = new Set(['GET', 'HEAD', 'POST']);

const readTarget = (
  { actions, isMounted = false }: PipelineDependencies,
  { url, isExact = false }: ConnectorRequest,
): Target => {
  const target = parseTarget(url);
  if (!isMounted || isExact) return target;
  return withinMount(target, (name) => name === PING || actions.has(name));
};

/**
 * Notes what the URL says of who reads the answer: what is refused at the door is refused in its words too.
 */
const noteReader = (
  scope: RequestScope,
  { actions }: PipelineDependencies,
  { action, query }: Target,
): void => {
  if (query === '') return;
  const given = new URLSearchParams(query);
  const actionName = action ?? given.get('action') ?? undefined;
  scope.language = given.get('language');
  scope.editor = editorFor(actions.get(actionName ?? ''), given.get('responseType'));
};

const describeInput = (
  about: RequestFacts,
  { actionName = '', parameters, uploads }: RequestInput,
  sources: SourceSet,
  actions: Actions,
): void => {
  const text = (name: string): string => {
    const value = parameters[name];
    return typeof value === 'string' ? value.slice(0, 300) : '';
  };
  if (actionName !== '') about.action = actionName.slice(0, 100);
  about.source = text('source');
  const [first] = uploads;
  const names = [text('path').replaceAll(/^\/+|\/+$/gu, ''), text('name') || (first?.filename ?? '')];
  about.item = text('from') || names.filter((part) => part !== '').join('/');
  // What changes something does so in one source; listings may be of all.
  if (actions.get(actionName)?.changes === true) about.source ||= sources.all[0]?.name ?? '';
  if (first !== undefined) about.files = uploads.length;
};

/** The eight steps of the protocol, in their order. */
const answerAction = async (
  dependencies: PipelineDependencies,
  request: ConnectorRequest,
  cors: CorsVerdict,
  scope: RequestScope,
  bounds: TextBounds,
): Promise<ConnectorResponse> => {
  const { settings, actions, services, stageUpload: stage, times } = dependencies;
  const { method } = request;
  const target = readTarget(dependencies, request);
  noteReader(scope, dependencies, target);

  // 1. With onlyPOST, nothing is served by GET.
  refuseGetIfOnlyPost(request, settings.onlyPOST);

  // 2. The health check needs no permission.
  if (target.action === PING && pingMethods.has(method)) return pingResponse();

  // 3. Cross-origin rules; OPTIONS ends here.
  if (cors.origin === 'failed') throw cors.failure;
  if (method === 'OPTIONS') return answerOptions(request, cors, allowedMethods(settings.onlyPOST));
  if (settings.refuseCrossSite) refuseCrossSite(request, cors);
  requireKnownMethod(request, settings.onlyPOST);
  scope.ofAction = true;

  // 4. The sources that serve this request.
  const lease = await leaseSources(dependencies, request, ownSegments(target));
  scope.lease = lease;
  const { sources } = lease;

  // 5. Who asks, and what they may do.
  const access = await authorize(dependencies, request, scope);

  // 6. What they ask for.
  const admit = createAdmission(dependencies, request, scope, lease);
  const { quotas } = services;
  const holdSources = holderOf(lease);
  const receiving = { sources, access, actions, stage, times, admit, quotas, holdSources, bounds };
  const input = await readInput(request, target, receiving, scope);

  describeInput(scope.about, input, sources, actions);
  scope.statCaches.isWide = actions.get(input.actionName ?? '')?.changes === true;

  // 7. Whether they may.
  requireAccess(access, actions, input);

  // 8. Do it.
  const action = findAction(actions, input.actionName);
  const isChange = asksForChange(action, input.parameters);
  requireMethodOf(action, request, { onlyPOST: settings.onlyPOST, isChange });
  if (settings.refuseCrossSite && isChange) refuseUnknownSender(request, cors);
  const context = createActionContext(dependencies, { access, lease, scope }, input.uploads, request);
  scope.isChange = isChange;
  return runAction(action, context, input, request, () => clientWording(request, scope));
};

/** Answers by what the URL asks for: a file itself, an upload in parts, or an action. */
const answer = async (
  dependencies: PipelineDependencies,
  request: ConnectorRequest,
  cors: CorsVerdict,
  scope: RequestScope,
  bounds: TextBounds,
): Promise<ConnectorResponse> => {
  const file = mayBeServed(request) ? await answerFile(dependencies, request, cors, scope) : undefined;
  if (file !== undefined) return file;
  const { resumable, isMounted = false } = dependencies;
  const path = resumable && findTusPath(request, isMounted);
  if (resumable === undefined || path === undefined)
    return answerAction(dependencies, request, cors, scope, bounds);
  return answerTus({ ...dependencies, resumable }, path, request, cors, scope);
};

/** Writes down what was changed, and with `logRequests` also what was only looked at. */
const logAnswer = (
  { settings, log }: PipelineDependencies,
  scope: RequestScope,
  response: ConnectorResponse,
): void => {
  if (scope.isChange) log.info('Changed.', scope.logFields(response));
  else if (settings.logRequests) log.info('Answered.', scope.logFields(response));
};

const outcomeOf = (
  { actions }: PipelineDependencies,
  { about, isFile, isTus }: RequestScope,
  { status, headers }: ConnectorResponse,
): RequestOutcome => {
  const { action } = about;
  const length = headers['content-length'];
  return {
    // Whatever stands in a request may be its action, and would be another series of measurements.
    action: action !== undefined && (isFile || isTus || actions.has(action)) ? action : undefined,
    status,
    bytes: length === undefined ? undefined : Number(length),
  };
};

/**
 * Signed links are secrets beside names that others may choose: the length of a compressed answer would tell them
 * apart (BREACH), and a copy on a disk would outlive the session.
 */
const rulesFor = (
  { compressAnswers }: PipelineDependencies['settings'],
  { method }: ConnectorRequest,
  scope: RequestScope,
): RepresentationRules => {
  const isRead = scope.ofAction && !scope.isChange && (method === 'GET' || method === 'HEAD');
  return scope.maySign
    ? { compresses: false, isKept: false }
    : { compresses: compressAnswers, isKept: isRead };
};

export const createPipeline = (dependencies: PipelineDependencies): Handle => {
  const { settings, version } = dependencies;
  const checkOrigin = createOriginCheck(settings, dependencies.isOriginAllowed, dependencies.log);
  const answerError = createErrorResponder(dependencies);
  const bounds = textBoundsOf([...dependencies.actions.values()].map(({ parameters }) => parameters));
  const always = version === undefined ? {} : { 'x-app-version': version };

  return async (request) => {
    const scope = new RequestScope(request, dependencies.log);
    const ended = dependencies.observe?.();
    const cors = await checkOrigin(request);
    let response: ConnectorResponse;
    try {
      response = await represented(
        await answer(dependencies, request, cors, scope, bounds),
        request,
        rulesFor(settings, request, scope),
      );
      logAnswer(dependencies, scope, response);
    } catch (error) {
      response = answerError(error, request, scope);
    }
    if (ended !== undefined) scope.atEnd(() => ended(outcomeOf(dependencies, scope, response)));
    await scope.endWith(response.body);
    return {
      status: response.status,
      statusText: response.statusText,
      headers: Object.assign(withCorsHeaders(response.headers, cors), scope.headers, always, {
        'x-request-id': scope.about.id,
      }),
      body: request.method === 'HEAD' ? undefined : response.body,
    };
  };
};
