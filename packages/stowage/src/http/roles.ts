import { createPublicKey } from 'node:crypto';
import type * as Jose from 'jose';
import { Once } from '../basics/concurrency/abort.ts';
import { boundedBytes } from '../basics/content/parse-budget.ts';
import { systemCode } from '../basics/files/system-errors.ts';
import type { Logger } from '../basics/log/logger.ts';
import { possibleAlgorithms, type TokenSettings } from '../config/settings/access.ts';
import { BusyError, HttpError } from '../errors/errors.ts';
import { isInstalled } from '../errors/optional-package.ts';
import type { HookRequest, Identity } from './message.ts';
import { createPeerCheck } from './client-address.ts';

/** Tolerance for clocks that differ. */
const TOLERANCE_SECONDS = 30;
/** Time limit for fetching the key set; after it the response is 503. */
const FETCH_MS = 5000;
/** Time after which the key set is fetched again, and after a failure. */
const FRESH_MS = 600_000;
const RETRY_MS = 30_000;
/** Time for which the last key set stays in use while the login service is away. */
const KEPT_MS = 3_600_000;
/** Maximum size of a key set; usual ones have some kilobytes. */
const MAX_KEYS_BYTES = 1024 * 1024;

/** Whether tokens can be verified: the npm package `jose` is installed. */
export const canReadTokens = (): boolean => isInstalled(() => import.meta.resolve('jose'));

const fetchKeys: Jose.FetchImplementation = async (url, options) => {
  const response = await fetch(url, options);
  // A body of `fetch` in Node can be iterated.
  const body = (response.body ?? []) as AsyncIterable<Uint8Array>;
  const keys = await boundedBytes(body, MAX_KEYS_BYTES, () => new Error('the key set is larger than 1 MB'));
  return new Response(keys, { status: response.status });
};

/** Errors of the key lookup that are faults of the token, not of the key set. */
const TOKEN_FAULTS = ['ERR_JWKS_NO_MATCHING_KEY', 'ERR_JWKS_MULTIPLE_MATCHING_KEYS'];

/**
 * The published keys. They are fetched at the first token, again after ten minutes, and for an unknown key at
 * most every thirty seconds; concurrent requests share one fetch. If it fails, the last keys stay in use for
 * an hour after they were fetched: an outage of the login service does not end the sessions that it began.
 */
const publishedKeys = (
  { createRemoteJWKSet, customFetch }: typeof Jose,
  url: string,
  log: Logger,
): Jose.JWTVerifyGetKey => {
  const options = { timeoutDuration: FETCH_MS, cacheMaxAge: KEPT_MS, [customFetch]: fetchKeys };
  const keys = createRemoteJWKSet(new URL(url), options);
  let reloadAt = performance.now() + FRESH_MS;
  const reload = async (): Promise<void> => {
    // Requests of the meantime use the keys that are known.
    reloadAt = performance.now() + RETRY_MS;
    try {
      await keys.reload();
      reloadAt = performance.now() + FRESH_MS;
    } catch (error) {
      log.warn('The keys of auth.jwt.jwksUrl could not be fetched again. The last ones stay in use.', {
        error,
      });
    }
  };
  return async (header, token) => {
    if (keys.fresh && performance.now() >= reloadAt) await reload();
    try {
      return await keys(header, token);
    } catch (error) {
      if (TOKEN_FAULTS.includes(systemCode(error) ?? '')) throw error;
      throw new BusyError({ detail: 'the keys of auth.jwt.jwksUrl could not be fetched', cause: error });
    }
  };
};

const keysOf = (
  jose: typeof Jose,
  { jwksUrl, publicKey, secret }: TokenSettings,
  log: Logger,
): Jose.JWTVerifyGetKey => {
  if (jwksUrl !== undefined) return publishedKeys(jose, jwksUrl, log);
  const key = publicKey === undefined ? Buffer.from(secret ?? '') : createPublicKey(publicKey);
  return () => Promise.resolve(key);
};

const unauthenticated = (reason: string): HttpError =>
  new HttpError(401, 'Please log in.', { cause: new Error(reason) });

const cookieNamed = (name: string, header = ''): string | undefined => {
  for (const pair of header.split(';')) {
    const [key = '', ...value] = pair.split('=');
    if (key.trim() === name) return value.join('=').trim();
  }
  return undefined;
};

const tokenOf = ({ headers }: HookRequest, cookie: string | undefined): string | undefined => {
  const bearer = /^bearer +(.*)$/iu.exec(headers['authorization'] ?? '')?.[1];
  const token = bearer ?? (cookie === undefined ? undefined : cookieNamed(cookie, headers['cookie']));
  return token?.trim() === '' ? undefined : token?.trim();
};

/** The value of a claim: by its full name, which may be a URL, else by the path that its dots describe. */
const claimNamed = (payload: object, name: string): unknown => {
  if (Object.hasOwn(payload, name)) return Reflect.get(payload, name);
  return name.split('.').reduce<unknown>((inner, key) => {
    const isThere = typeof inner === 'object' && inner !== null && Object.hasOwn(inner, key);
    return isThere ? (Reflect.get(inner, key) as unknown) : undefined;
  }, payload);
};

/** @throws HttpError 401 when the role cannot be determined. */
const roleOf = (payload: object, { roleClaim, roles }: TokenSettings, defaultRole: string): string => {
  const claim = claimNamed(payload, roleClaim);
  if (claim === undefined || claim === null) return defaultRole;
  const values: readonly unknown[] = Array.isArray(claim) ? claim : [claim];
  const held = values.filter((one) => typeof one === 'string' && one !== '') as readonly string[];
  if (held.length < values.length)
    throw unauthenticated(`the claim ${roleClaim} holds something else than text`);
  if (roles !== undefined) {
    const words = new Set(held.flatMap((one) => [one, ...one.split(' ')]));
    return roles.find((role) => words.has(role)) ?? defaultRole;
  }
  if (held.length > 1)
    throw unauthenticated(`the claim ${roleClaim} holds several roles: set auth.jwt.roles`);
  return held[0] ?? defaultRole;
};

/**
 * Reads role and user of a request from a signed token. The package that verifies tokens is loaded with the
 * first one.
 * @throws HttpError 401 for a token that is not valid, and without one unless it is optional; BusyError (503)
 *   when the keys cannot be fetched.
 */
export const createTokenRole = (
  settings: TokenSettings,
  defaultRole: string,
  log: Logger,
): ((request: HookRequest) => Promise<Identity>) => {
  const { issuer, audience, subjectClaim, cookie, algorithms = possibleAlgorithms(settings) } = settings;
  const options: Jose.JWTVerifyOptions = {
    algorithms: [...algorithms],
    clockTolerance: TOLERANCE_SECONDS,
    // A token without an expiry could never be revoked.
    requiredClaims: ['exp'],
    ...(issuer === undefined ? {} : { issuer }),
    ...(audience === undefined ? {} : { audience }),
  };
  const loaded = new Once<{ readonly jose: typeof Jose; readonly keys: Jose.JWTVerifyGetKey }>();
  const load = () => import('jose').then((jose) => ({ jose, keys: keysOf(jose, settings, log) }));

  const verify = async (token: string): Promise<object> => {
    const { jose, keys } = await loaded.get(load);
    try {
      return (await jose.jwtVerify(token, keys, options)).payload;
    } catch (error) {
      // The package's own errors contain claims of the token, which do not belong in the log.
      if (error instanceof jose.errors.JOSEError) throw unauthenticated(`${error.code}: ${error.message}`);
      throw error;
    }
  };

  return async (request) => {
    const token = tokenOf(request, cookie);
    if (token === undefined) {
      if (settings.optional) return { role: defaultRole };
      throw unauthenticated('no token came');
    }
    const payload = await verify(token);
    const subject = claimNamed(payload, subjectClaim);
    return {
      role: roleOf(payload, settings, defaultRole),
      subject: typeof subject === 'string' || typeof subject === 'number' ? String(subject) : undefined,
    };
  };
};

/**
 * Reads the role of a request from the header of a trusted proxy.
 * @throws HttpError 401 for requests of other peers, and for a header that is not a single role.
 */
export const createProxyRole = (
  header: string,
  from: readonly string[],
): ((request: HookRequest) => string) => {
  const name = header.toLowerCase();
  const isTrusted = createPeerCheck(from);
  return (request) => {
    const role = request.headers[name]?.trim() ?? '';
    // A repeated header, perhaps first set by the client, is joined by a comma.
    if (!isTrusted(request) || role === '' || role.includes(',')) throw new HttpError(401, 'Please log in.');
    return role;
  };
};
