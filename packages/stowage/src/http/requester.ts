import { setMaxListeners } from 'node:events';
import type { Access } from '../access/access.ts';
import { InternalError } from '../errors/errors.ts';
import { seenFrom, type RequestAddress } from '../sources/source-group.ts';
import type { SourceSet } from '../sources/source.ts';
import type { SourceLease } from '../sources/tenants.ts';
import { hostOf } from './cors.ts';
import type { ConnectorRequest, HookRequest, Identity } from './message.ts';
import { fromHook, type PipelineDependencies, type RequestScope } from './request-scope.ts';
import { segmentsOf } from './target.ts';
import type { ActionContext, Load } from '../actions/action.ts';
import type { UploadedFile } from '../changes/uploaded-file.ts';
import { SourceViews } from '../view/source-views.ts';
import type { Admit } from './upload-receiver.ts';

const identityFrom = (result: unknown): Identity => {
  const given = typeof result === 'object' && result !== null && 'role' in result ? result : { role: result };
  const { role, subject }: { role: unknown; subject?: unknown } = given;
  // The empty text is what a host has of users who are not logged in.
  const isRole = typeof role === 'string' && role.trim() !== '';
  if (isRole && (subject === undefined || typeof subject === 'string')) return { role, subject };
  const what = role === '' ? 'an empty text' : typeof result;
  throw new InternalError({ detail: `checkAuthentication returned ${what}, not a role` });
};

/** Where the request has come to: what was cut from its URL, and what a mount has left in it. */
const addressOf = (
  { isMounted = false }: PipelineDependencies,
  { mount = '', url, headers, isExact = false }: ConnectorRequest,
  ownSegments: number,
): RequestAddress => {
  const segments = isMounted && !isExact ? segmentsOf(url).filter((segment) => segment !== '') : [];
  const left = segments.slice(0, Math.max(0, segments.length - ownSegments));
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

/** The sources that serve a request, as they are configured. The lease is the caller's. */
export const leaseConfigured = (
  { resolveSources }: PipelineDependencies,
  request: ConnectorRequest,
): Promise<SourceLease> => fromHook('resolveSources', () => resolveSources(request));

/** Sources with their addresses as a request sees them. `ownSegments`: how many at the end of its path are no mount. */
export const seenBy = (
  dependencies: PipelineDependencies,
  request: ConnectorRequest,
  ownSegments: number,
  sources: SourceSet,
): SourceSet =>
  seenFrom(addressOf(dependencies, request, ownSegments), sources, dependencies.settings.publicUrl);

/** The sources that serve a request, as it sees them: `seenBy`. The lease is the caller's. */
export const leaseSources = async (
  dependencies: PipelineDependencies,
  request: ConnectorRequest,
  ownSegments: number,
): Promise<SourceLease> => {
  const lease = await leaseConfigured(dependencies, request);
  return { ...lease, sources: seenBy(dependencies, request, ownSegments, lease.sources) };
};

/** Who asks, and what they may do. */
export const authorize = async (
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

/** What a request is answered with, when it is known who asks. */
export interface Granted {
  readonly access: Access;
  readonly lease: SourceLease;
  readonly scope: RequestScope;
}

/** Keeps the sources of a lease open beyond the request; returns the way to give them back. */
export const holderOf = (lease: SourceLease) => (): (() => void) => {
  const longer = lease.extend();
  return () => longer.release();
};

/** All that an action is to know of its request, whose files are `uploads`. */
export const createActionContext = (
  { services, log }: PipelineDependencies,
  { access, lease, scope }: Granted,
  uploads: readonly UploadedFile[],
  request: Pick<HookRequest, 'signal' | 'method'>,
  keptRoom?: string,
): ActionContext => {
  // Made at its first use: signals are expensive, and many actions have no use for one.
  const life = {
    get signal() {
      const { signal } = request;
      // Copies of a folder and files of a form listen to it: more than Node's warning expects, each with a
      // bound.
      setMaxListeners(0, signal);
      return signal;
    },
  };
  return {
    views: new SourceViews(lease.sources, access, life, scope.looks),
    requester: { requestId: scope.about.id, role: access.role, subject: scope.about.subject },
    uploads,
    services,
    keptRoom,
    isHead: request.method === 'HEAD',
    otherField: scope.form.otherField,
    log,
    holdSources: holderOf(lease),
    atEnd: (work) => scope.atEnd(work),
    get signal() {
      return life.signal;
    },
  };
};

/** The tenant whose sources serve a request. */
export const tenantOf = ({ sources }: SourceLease): string | undefined =>
  sources.all.find(({ tenant }) => tenant !== undefined)?.tenant;

/**
 * Counts a request once for each kind of load, as soon as it is known which action it asks for: a form may
 * hold files before it names another action than an upload. @see Admit
 */
export const createAdmission = (
  { actions, rateLimits, clientOf }: PipelineDependencies,
  request: ConnectorRequest,
  { about }: RequestScope,
  lease: SourceLease,
): Admit => {
  const counted = new Map<Load, Promise<void>>();
  return async (actionName = '', parameters) => {
    const load = rateLimits && actions.get(actionName)?.load;
    const known = typeof load === 'function' ? parameters && load(parameters) : load;
    if (rateLimits === undefined || known === undefined) return;
    let counting = counted.get(known);
    if (counting === undefined) {
      counting = rateLimits.count(known, clientOf(request, about.subject, tenantOf(lease)));
      counted.set(known, counting);
    }
    await counting;
  };
};
