import { createHash } from 'node:crypto';
import type { GoogleAuth } from 'google-auth-library';
import { importOptional } from '../../../errors/optional-package.ts';
import type { TemporaryUrlOptions } from '../../../storage/adapter.ts';
import { inTime } from '../../remote/core/connections.ts';
import { Refusal } from './errors.ts';
import type { GcsOptions } from './options.ts';

export interface Login {
  headers(url: URL): Promise<Readonly<Record<string, string>>>;
  /** Email of the service account; undefined for other logins. */
  email(): Promise<string | undefined>;
  sign(text: string): Promise<Buffer>;
  /** Reads the login again for later requests: another program may have replaced the key in its file. */
  renew(): void;
}

const noCredentials = (): Refusal => Object.assign(new Refusal(401, ''), { code: 'NoCredentials' });

interface LibraryError {
  readonly status?: unknown;
  readonly code?: unknown;
}

/**
 * Classifies an error of the library: the token issuer may be temporarily unavailable, or a file unreadable.
 * All other errors count as missing credentials, because the library does not classify them.
 */
const reasonOf = (error: unknown): Error => {
  const { status, code } = error instanceof Error ? (error as LibraryError) : {};
  if (typeof status === 'number' && (status === 429 || status >= 500)) return new Refusal(status, '');
  return error instanceof Error && typeof code === 'string' && /^E[A-Z_]+$/u.test(code)
    ? error
    : noCredentials();
};

/** Adds a time limit, which the library lacks for some logins, and converts errors. */
const orRefused = <T>(work: Promise<T>, ms: number): Promise<T> =>
  inTime(work, ms).catch((error: unknown) => {
    throw reasonOf(error);
  });

const loginOf = (open: () => GoogleAuth, ms: number): Login => {
  let auth = open();
  return {
    headers: async (url) => Object.fromEntries(await orRefused(auth.getRequestHeaders(url.origin), ms)),
    email: async () =>
      (await orRefused(auth.getCredentials(), ms).catch(() => undefined))?.client_email ?? undefined,
    sign: async (text) => Buffer.from(await orRefused(auth.sign(text), ms), 'base64'),
    renew: () => {
      auth = open();
    },
  };
};

const anonymousLogin: Login = {
  headers: async () => ({}),
  email: async () => undefined,
  sign: () => Promise.reject(noCredentials()),
  renew: () => undefined,
};

/** @throws UnsupportedError when the package is not installed */
export const openLogin = async (options: GcsOptions): Promise<Login> => {
  const { anonymous, credentialsFile, projectId, timeout } = options;
  if (anonymous) return anonymousLogin;
  const { GoogleAuth: Auth } = await importOptional(
    'Google Cloud storage',
    'google-auth-library',
    () => import('google-auth-library'),
  );
  const open = (): GoogleAuth => {
    const auth = new Auth({
      // Roles decide what a login may do. The service rejects some narrower scopes in tokens that service
      // accounts sign themselves, and signing URLs needs more than the scopes of storage.
      scopes: 'https://www.googleapis.com/auth/cloud-platform',
      ...(credentialsFile === undefined ? {} : { keyFilename: credentialsFile }),
      ...(projectId === undefined ? {} : { projectId }),
    });
    // Keys of service accounts sign requests themselves, without requesting a token.
    auth.useJWTAccessWithScope = true;
    return auth;
  };
  return loginOf(open, timeout * 1000);
};

const encoded = (text: string): string =>
  encodeURIComponent(text).replace(/[!'()*]/gu, (one) => `%${one.charCodeAt(0).toString(16).toUpperCase()}`);

/**
 * A temporary URL for reading the object (V4 signature). Undefined where the login cannot sign. With the key
 * of a service account it costs no request; other service accounts sign through the service. @throws as
 * `Login.sign`
 */
export const signedUrlOf = async (
  login: Login,
  { endpoint, bucket, userProject }: GcsOptions,
  key: string,
  { lifetime, contentType, disposition }: TemporaryUrlOptions,
): Promise<string | undefined> => {
  const email = await login.email();
  if (email === undefined) return undefined;
  const { host, origin, pathname } = new URL(endpoint);
  const path = `${pathname.replace(/\/$/u, '')}/${[bucket, ...key.split('/')].map(encoded).join('/')}`;
  const time = new Date().toISOString().replace(/[-:]|\.\d+/gu, '');
  const scope = `${time.slice(0, 8)}/auto/storage/goog4_request`;
  const query = Object.entries({
    'X-Goog-Algorithm': 'GOOG4-RSA-SHA256',
    'X-Goog-Credential': `${email}/${scope}`,
    'X-Goog-Date': time,
    'X-Goog-Expires': String(lifetime),
    'X-Goog-SignedHeaders': 'host',
    'response-content-disposition': disposition,
    'response-content-type': contentType,
    ...(userProject === undefined ? {} : { userProject }),
  })
    .map(([name, value]) => `${encoded(name)}=${encoded(value)}`)
    .sort()
    .join('&');
  const canonical = ['GET', path, query, `host:${host}`, '', 'host', 'UNSIGNED-PAYLOAD'].join('\n');
  const digest = createHash('sha256').update(canonical).digest('hex');
  const signature = await login.sign(['GOOG4-RSA-SHA256', time, scope, digest].join('\n'));
  return `${origin}${path}?${query}&X-Goog-Signature=${signature.toString('hex')}`;
};
