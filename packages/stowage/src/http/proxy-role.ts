import { HttpError } from '../errors/errors.ts';
import { createPeerCheck } from './client-address.ts';
import type { HookRequest } from './message.ts';

/**
 * Takes the role of a request from the header of a trusted proxy.
 * @throws HttpError 401 for requests of others, and for those whose header is not one role.
 */
export const createProxyRole = (
  header: string,
  from: readonly string[],
): ((request: HookRequest) => string) => {
  const name = header.toLowerCase();
  const isTrusted = createPeerCheck(from);
  return (request) => {
    const role = request.headers[name]?.trim() ?? '';
    // A header that came twice, once perhaps from the client, is joined by a comma.
    if (!isTrusted(request) || role === '' || role.includes(',')) throw new HttpError(401, 'Please log in.');
    return role;
  };
};
