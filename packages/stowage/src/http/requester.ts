import type { Access } from '../access/access.ts';
import { InternalError } from '../errors/errors.ts';
import { seenFrom, type RequestAddress } from '../sources/own-address.ts';
import type { SourceLease } from '../sources/tenants.ts';
import { hostOf } from './cors.ts';
import { fromHook } from './error-response.ts';
import type { ConnectorRequest, Identity } from './message.ts';
import type { PipelineDependencies } from './dependencies.ts';
import type { RequestScope } from './request-scope.ts';
import { segmentsOf } from './served-path.ts';

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

/**
 * The sources that serve a request, with their addresses as it sees them. `ownSegments`: how many at the end
 * of the path are not part of a mount. The lease is the caller's.
 */
export const leaseSources = async (
  dependencies: PipelineDependencies,
  request: ConnectorRequest,
  ownSegments: number,
): Promise<SourceLease> => {
  const lease = await leaseConfigured(dependencies, request);
  const address = addressOf(dependencies, request, ownSegments);
  return { ...lease, sources: seenFrom(address, lease.sources, dependencies.settings.publicUrl) };
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
