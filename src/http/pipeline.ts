import { setMaxListeners } from 'node:events';
import { type ActionContext, asksForChange } from '../actions/action.ts';
import {
  answerOptions,
  type CorsVerdict,
  createOriginCheck,
  refuseCrossSite,
  refuseUnknownSender,
  withCorsHeaders,
} from './cors.ts';
import type { PipelineDependencies } from './dependencies.ts';
import { pingResponse } from './envelope.ts';
import { createErrorResponder, toldFailure } from './error-response.ts';
import type { ConnectorRequest, ConnectorResponse, Handle, RequestOutcome } from './message.ts';
import { readInput, type RequestInput } from './read-input.ts';
import { type RequestFacts, RequestScope } from './request-scope.ts';
import { findAction, requireAccess, runAction } from './run-action.ts';
import { authorize, leaseSources } from './requester.ts';
import type { Admit } from './upload-receiver.ts';
import { answerFile } from './served-file.ts';
import {
  allowedMethods,
  parseTarget,
  refuseGetIfOnlyPost,
  requireKnownMethod,
  requireMethodOf,
  type Target,
  withinMount,
} from './target.ts';

export type { PipelineDependencies } from './dependencies.ts';

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

/** Notes for the log what the request is about, as far as its parameters say. */
const describeInput = (about: RequestFacts, { actionName, parameters }: RequestInput): void => {
  const text = (name: string): string => {
    const value = parameters[name];
    return typeof value === 'string' ? value.slice(0, 300) : '';
  };
  if (actionName !== undefined) about.action = actionName.slice(0, 100);
  about.source = text('source');
  about.item = text('from') || [text('path'), text('name')].filter((part) => part !== '').join('/');
};

/** Counts a request once, as soon as it is known which action it asks for. @see Admit */
const createAdmission = (
  { actions, rateLimits }: PipelineDependencies,
  request: ConnectorRequest,
  { about }: RequestScope,
): Admit => {
  let counted: Promise<void> | undefined;
  return async (actionName = '') => {
    const load = rateLimits && actions.get(actionName)?.load;
    if (load !== undefined) await (counted ??= rateLimits?.count(load, request, about.subject));
  };
};

/** The eight steps of the protocol, in their order. */
const answer = async (
  dependencies: PipelineDependencies,
  request: ConnectorRequest,
  cors: CorsVerdict,
  scope: RequestScope,
): Promise<ConnectorResponse> => {
  const { settings, actions, services, log, stageUpload: stage, times } = dependencies;
  const { method } = request;
  const target = readTarget(dependencies, request);

  // 1. With onlyPOST, nothing is served by GET.
  refuseGetIfOnlyPost(request, settings.onlyPOST);

  // 2. The health check needs nobody's permission.
  if (target.action === PING && pingMethods.has(method)) return pingResponse();

  // 3. Cross-origin rules; OPTIONS ends here.
  if (cors.origin === 'failed') throw cors.failure;
  if (method === 'OPTIONS') return answerOptions(request, cors, allowedMethods(settings.onlyPOST));
  if (settings.refuseCrossSite) refuseCrossSite(request, cors);
  requireKnownMethod(request, settings.onlyPOST);
  scope.ofAction = true;

  // 4. The sources that serve this request.
  const lease = await leaseSources(dependencies, request, target);
  scope.holdLease(lease);
  const { sources } = lease;

  // 5. Who asks, and what they may do.
  const access = await authorize(dependencies, request, scope);

  // 6. What they ask for.
  const admit = createAdmission(dependencies, request, scope);
  const holdSources = (): (() => void) => {
    const longer = lease.extend();
    return () => longer.release();
  };
  const { quotas } = services;
  const receiving = { sources, access, actions, stage, times, admit, quotas, holdSources };
  const input = await readInput(request, target, receiving, scope);

  describeInput(scope.about, input);

  // 7. Whether they may.
  requireAccess(access, actions, input);

  // 8. Do it.
  const action = findAction(actions, input.actionName);
  const isChange = asksForChange(action, input.parameters);
  requireMethodOf(action, request, { onlyPOST: settings.onlyPOST, isChange });
  if (settings.refuseCrossSite && isChange) refuseUnknownSender(request, cors);
  const context: ActionContext = {
    sources,
    access,
    requester: { requestId: scope.about.id, role: access.role, subject: scope.about.subject },
    uploads: input.uploads,
    services,
    log,
    holdSources,
    atEnd: (work) => scope.atEnd(work),
    // Made when somebody asks for it: signals are expensive, and many actions have no use for one.
    get signal() {
      const { signal } = request;
      // Copies of a folder and files of a form listen to it: more than Node's warning expects, each with a
      // bound.
      setMaxListeners(0, signal);
      return signal;
    },
  };
  scope.isChange = isChange;
  return runAction(action, context, input, request, (error) => toldFailure(error, request, scope));
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
  { about, isFile }: RequestScope,
  { status, headers }: ConnectorResponse,
): RequestOutcome => {
  const { action } = about;
  const length = headers['content-length'];
  return {
    // Whatever stands in a request may be its action, and would be another series of measurements.
    action: action !== undefined && (isFile || actions.has(action)) ? action : undefined,
    status,
    bytes: length === undefined ? undefined : Number(length),
  };
};

/** Builds the core of a connector out of its parts. */
export const createPipeline = (dependencies: PipelineDependencies): Handle => {
  const { settings, version } = dependencies;
  const checkOrigin = createOriginCheck(settings, dependencies.isOriginAllowed, dependencies.log);
  const answerError = createErrorResponder(dependencies);
  const always = version === undefined ? {} : { 'x-app-version': version };

  return async (request) => {
    const scope = new RequestScope(request, dependencies.log);
    const ended = dependencies.observe?.();
    const cors = await checkOrigin(request);
    let response: ConnectorResponse;
    try {
      response =
        (await answerFile(dependencies, request, cors, scope)) ??
        (await answer(dependencies, request, cors, scope));
      logAnswer(dependencies, scope, response);
    } catch (error) {
      response = answerError(error, request, scope);
    }
    if (ended !== undefined) scope.atEnd(() => ended(outcomeOf(dependencies, scope, response)));
    await scope.endWith(response.body);
    return {
      status: response.status,
      statusText: response.statusText,
      headers: Object.assign(withCorsHeaders(response.headers, cors), always, {
        'x-request-id': scope.about.id,
      }),
      body: request.method === 'HEAD' ? undefined : response.body,
    };
  };
};
