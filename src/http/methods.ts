import type { Action } from '../actions/action.ts';
import { MethodNotAllowedError } from '../errors/errors.ts';
import type { HookRequest } from './message.ts';

const refuse = (allow: string): never => {
  throw new MethodNotAllowedError({ headers: { Allow: allow } });
};

/** What `Allow` says where no action is known. */
export const allowedMethods = (onlyPOST: boolean): string =>
  onlyPOST ? 'POST, OPTIONS' : 'GET, HEAD, POST, OPTIONS';

/** The guard of `onlyPOST`. @throws StowageError METHOD_NOT_ALLOWED */
export const refuseGetIfOnlyPost = ({ method }: HookRequest, onlyPOST: boolean): void => {
  if (onlyPOST && (method === 'GET' || method === 'HEAD')) refuse(allowedMethods(onlyPOST));
};

/** Refuses methods that the service never serves. @throws StowageError METHOD_NOT_ALLOWED */
export const requireKnownMethod = ({ method }: HookRequest, onlyPOST: boolean): void => {
  if (method !== 'GET' && method !== 'POST' && method !== 'HEAD') refuse(allowedMethods(onlyPOST));
};

/**
 * Refuses methods that the action does not serve. HEAD works where GET does and nothing changes.
 * @throws StowageError METHOD_NOT_ALLOWED
 */
export const requireMethodOf = (action: Action, { method }: HookRequest, onlyPOST: boolean): void => {
  const allowed = onlyPOST ? action.methods.filter((name) => name === 'POST') : action.methods;
  const head = allowed.includes('GET') && !action.changes;
  if (allowed.some((name) => name === method) || (method === 'HEAD' && head)) return;
  const names = allowed.flatMap((name) => (name === 'GET' && head ? ['GET', 'HEAD'] : [name]));
  refuse([...names, 'OPTIONS'].join(', '));
};
