import { setMaxListeners } from 'node:events';
import type { Access } from '../access/access.ts';
import type { Action, ActionContext, ActionServices } from '../actions/action.ts';
import type { Settings } from '../config/settings.ts';
import { InternalError } from '../errors/errors.ts';
import type { Logger } from '../log/logger.ts';
import type { SourceLease } from '../sources/tenants.ts';
import type { BodyTimes } from './body/pour.ts';
import {
  answerOptions,
  type CorsVerdict,
  createOriginCheck,
  type OriginHook,
  refuseCrossSite,
  refuseUnknownSender,
} from './cors.ts';
import { pingResponse } from './envelope.ts';
import { createErrorResponder, fromHook } from './error-response.ts';
import type { ConnectorRequest, ConnectorResponse, Handle, HookRequest } from './message.ts';
import { readInput, type RequestInput } from './read-input.ts';
import { type RequestFacts, RequestScope } from './request-scope.ts';
import { findAction, requireAccess, runAction } from './run-action.ts';
import {
  allowedMethods,
  parseTarget,
  refuseGetIfOnlyPost,
  requireKnownMethod,
  requireMethodOf,
  type Target,
  withinMount,
} from './target.ts';
import type { StageUpload } from './upload-receiver.ts';

/**
 * All that the edge needs of the rest of the service. Functions that call hooks may throw whatever the hooks
 * throw.
 */
export interface PipelineDependencies {
  /** The global settings. */
  readonly settings: Settings;
  readonly actions: ReadonlyMap<string, Action>;
  readonly services: ActionServices;
  readonly log: Logger;
  /** Sent with every answer as `X-App-Version`: standalone instances only. */
  readonly version?: string | undefined;
  /** Whether URLs may still carry the prefix of a mount: not every framework cuts it. */
  readonly isMounted?: boolean | undefined;
  /** The sources for a request; the edge gives them back when the request has ended. */
  readonly resolveSources: (request: HookRequest) => Promise<SourceLease>;
  /** The request's role. */
  readonly authenticate: (request: HookRequest) => unknown;
  readonly accessFor: (role: string, request: HookRequest) => Access | Promise<Access>;
  /** The hook `allowedOrigins`. */
  readonly isOriginAllowed?: OriginHook | undefined;
  readonly stageUpload: StageUpload;
  /** How long bodies may take; else as long as `bodyTimes` says. */
  readonly times?: BodyTimes | undefined;
}

const PING = 'ping';
const pingMethods: ReadonlySet<string> = new Set(['GET', 'HEAD', 'POST']);

const roleFrom = (result: unknown): string => {
  if (typeof result === 'string') return result;
  throw new InternalError({ detail: `checkAuthentication returned ${typeof result}, not a role` });
};

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
  const lease = await fromHook('resolveSources', () => dependencies.resolveSources(request));
  scope.holdLease(lease);
  const { sources } = lease;

  // 5. Who asks, and what they may do.
  const role = roleFrom(await fromHook('checkAuthentication', () => dependencies.authenticate(request)));
  scope.about.role = role;
  const access = await fromHook('accessControl', () => dependencies.accessFor(role, request));

  // 6. What they ask for.
  const input = await readInput(request, target, { sources, access, actions, stage, times }, scope);

  describeInput(scope.about, input);

  // 7. Whether they may.
  requireAccess(access, actions, input);

  // 8. Do it.
  const action = findAction(actions, input.actionName);
  requireMethodOf(action, request, settings.onlyPOST);
  if (settings.refuseCrossSite && action.changes) refuseUnknownSender(request, cors);
  const context: ActionContext = {
    sources,
    access,
    uploads: input.uploads,
    services,
    log,
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
  const response = await runAction(action, context, input, request);
  if (action.changes) log.info('Changed.', { ...scope.about });
  return response;
};

/** Builds the core of a connector out of its parts. */
export const createPipeline = (dependencies: PipelineDependencies): Handle => {
  const { settings, version } = dependencies;
  const checkOrigin = createOriginCheck(settings, dependencies.isOriginAllowed);
  const answerError = createErrorResponder(dependencies);
  const always = version === undefined ? {} : { 'x-app-version': version };

  return async (request) => {
    const scope = new RequestScope(request, dependencies.log);
    const cors = await checkOrigin(request);
    let response: ConnectorResponse;
    try {
      response = await answer(dependencies, request, cors, scope);
    } catch (error) {
      response = answerError(error, request, scope);
    }
    await scope.endWith(response.body);
    return {
      status: response.status,
      statusText: response.statusText,
      headers: { ...response.headers, ...cors.headers, ...always },
      body: request.method === 'HEAD' ? undefined : response.body,
    };
  };
};
