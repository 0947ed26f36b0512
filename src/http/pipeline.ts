import { setMaxListeners } from 'node:events';
import type { Access } from '../access/access.ts';
import { serveFile } from '../actions/serving/serve-file.ts';
import type { Action, ActionContext, ActionServices } from '../actions/action.ts';
import type { Settings } from '../config/settings.ts';
import { InternalError } from '../errors/errors.ts';
import type { Logger } from '../log/logger.ts';
import { seenFrom, type RequestAddress } from '../sources/own-address.ts';
import type { SourceLease } from '../sources/tenants.ts';
import type { BodyTimes } from './body/pour.ts';
import {
  answerOptions,
  type CorsVerdict,
  createOriginCheck,
  hostOf,
  type OriginHook,
  refuseCrossSite,
  refuseUnknownSender,
  withCorsHeaders,
} from './cors.ts';
import { pingResponse } from './envelope.ts';
import { createErrorResponder, fromHook } from './error-response.ts';
import type {
  ConnectorRequest,
  ConnectorResponse,
  Handle,
  HookRequest,
  Identity,
  RequestObserver,
  RequestOutcome,
} from './message.ts';
import { readInput, type RequestInput } from './read-input.ts';
import { type RequestFacts, RequestScope } from './request-scope.ts';
import { answerWhole, findAction, requireAccess, runAction } from './run-action.ts';
import { findServedPath, mayBeServed, segmentsOf } from './served-path.ts';
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
  readonly observe?: RequestObserver | undefined;
  /** Whether URLs may still carry the prefix of a mount: not every framework cuts it. */
  readonly isMounted?: boolean | undefined;
  /** The sources for a request; the edge gives them back when the request has ended. */
  readonly resolveSources: (request: HookRequest) => Promise<SourceLease>;
  /** The request's role. */
  readonly authenticate: (request: HookRequest) => unknown;
  readonly accessFor: (identity: Identity, request: HookRequest) => Access | Promise<Access>;
  /** The hook `allowedOrigins`. */
  readonly isOriginAllowed?: OriginHook | undefined;
  readonly stageUpload: StageUpload;
  /** How long bodies may take; else as long as `bodyTimes` says. */
  readonly times?: BodyTimes | undefined;
}

const PING = 'ping';
const pingMethods: ReadonlySet<string> = new Set(['GET', 'HEAD', 'POST']);

const identityFrom = (result: unknown): Identity => {
  if (typeof result === 'string') return { role: result };
  if (typeof result === 'object' && result !== null && 'role' in result) {
    const { role, subject }: { role: unknown; subject?: unknown } = result;
    if (typeof role === 'string' && (subject === undefined || typeof subject === 'string'))
      return { role, subject };
  }
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

/** Where the request has come to: what was cut from its URL, and what a mount has left in it. */
const addressOf = (
  { isMounted = false }: PipelineDependencies,
  { mount = '', url, headers, isExact = false }: ConnectorRequest,
  { action, prefix }: Target,
): RequestAddress => {
  const segments = isMounted && !isExact ? segmentsOf(url).filter((segment) => segment !== '') : [];
  const left = action === undefined || prefix !== undefined ? segments : segments.slice(0, -1);
  const hosts = [
    headers['host'] ?? headers[':authority'],
    hostOf(headers['origin']),
    hostOf(headers['referer']),
  ];
  return {
    mount: mount + left.map((segment) => `/${segment}`).join(''),
    hosts: [...new Set(hosts.filter((host) => host !== undefined))],
  };
};

/** The sources that serve a request, as it sees them. The lease is the caller's. */
const leaseSources = async (
  dependencies: PipelineDependencies,
  request: ConnectorRequest,
  target: Target,
): Promise<SourceLease> => {
  const lease = await fromHook('resolveSources', () => dependencies.resolveSources(request));
  const address = addressOf(dependencies, request, target);
  return { ...lease, sources: seenFrom(address, lease.sources, dependencies.settings.publicUrl) };
};

/** Who asks, and what they may do. */
const authorize = async (
  dependencies: PipelineDependencies,
  request: ConnectorRequest,
  scope: RequestScope,
): Promise<Access> => {
  const identity = identityFrom(
    await fromHook('checkAuthentication', () => dependencies.authenticate(request)),
  );
  scope.about.role = identity.role;
  if (identity.subject !== undefined) scope.about.subject = identity.subject;
  return fromHook('accessControl', () => dependencies.accessFor(identity, request));
};

/**
 * A file itself, in place of the eight steps: no action, no parameters, and only protected sources ask who it is. Undefined: no source
 * serves files under this URL.
 */
const answerFile = async (
  dependencies: PipelineDependencies,
  request: ConnectorRequest,
  cors: CorsVerdict,
  scope: RequestScope,
): Promise<ConnectorResponse | undefined> => {
  if (!mayBeServed(request)) return undefined;
  if (cors.origin === 'failed') throw cors.failure;
  const lease = await leaseSources(dependencies, request, readTarget(dependencies, request));
  const served = findServedPath(request, dependencies.isMounted ?? false, lease.sources);
  if (served === undefined) {
    lease.release();
    return undefined;
  }
  scope.holdLease(lease);
  scope.isFile = true;
  const { source, segments } = served;
  Object.assign(scope.about, { action: 'file', source: source.name, item: segments.join('/').slice(0, 300) });
  const { signal, url } = request;
  const query = url.includes('?') ? url.slice(url.indexOf('?') + 1) : '';
  const access = (): Promise<Access> => authorize(dependencies, request, scope);
  return answerWhole(
    () => serveFile(dependencies.services, { source, segments, query, signal, access }),
    request,
  );
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
    holdSources: () => {
      const longer = lease.extend();
      return () => longer.release();
    },
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
  if (action.changes) log.info('Changed.', scope.logFields(response));
  else if (settings.debug) log.debug('Answered.', scope.logFields(response));
  return response;
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
  const checkOrigin = createOriginCheck(settings, dependencies.isOriginAllowed);
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
    } catch (error) {
      response = answerError(error, request, scope);
    }
    if (ended !== undefined) scope.atEnd(() => ended(outcomeOf(dependencies, scope, response)));
    await scope.endWith(response.body);
    return {
      status: response.status,
      statusText: response.statusText,
      headers: {
        ...withCorsHeaders(response.headers, cors),
        ...always,
        'x-request-id': scope.about.id,
      },
      body: request.method === 'HEAD' ? undefined : response.body,
    };
  };
};
