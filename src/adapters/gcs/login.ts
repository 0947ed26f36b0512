import type { GoogleAuth } from 'google-auth-library';
import { loadOptional } from '../../adapter-support/optional-package.ts';
import { Refusal } from './errors.ts';
import type { GcsOptions } from './options.ts';

/** Who asks. */
export interface Login {
  /** Headers of a request to this address. */
  headers(url: URL): Promise<Readonly<Record<string, string>>>;
  /** Of the service account; undefined where the login is none. */
  email(): Promise<string | undefined>;
  /** Signs as the service account. */
  sign(text: string): Promise<Buffer>;
}

const noCredentials = (): Refusal => Object.assign(new Refusal(401, ''), { code: 'NoCredentials' });

const isOfFile = (error: unknown): boolean =>
  error instanceof Error && 'code' in error && (error.code === 'ENOENT' || error.code === 'EACCES');

/**
 * The library does not say of what kind its errors are, except of a file that cannot be read: all mean that
 * there is no login.
 */
const orRefused = async <T>(work: Promise<T>): Promise<T> =>
  work.catch((error: unknown) => {
    throw isOfFile(error) ? error : noCredentials();
  });

const loginOf = (auth: GoogleAuth): Login => ({
  headers: async (url) => {
    const headers = await orRefused(auth.getRequestHeaders(url.origin));
    return Object.fromEntries(headers);
  },
  email: async () => (await auth.getCredentials().catch(() => undefined))?.client_email ?? undefined,
  sign: async (text) => Buffer.from(await orRefused(auth.sign(text)), 'base64'),
});

const nobody: Login = {
  headers: async () => ({}),
  email: async () => undefined,
  sign: () => Promise.reject(noCredentials()),
};

/** @throws UnsupportedError where the package is not installed */
export const openLogin = async ({ anonymous, credentialsFile, projectId }: GcsOptions): Promise<Login> => {
  if (anonymous) return nobody;
  const { GoogleAuth: Auth } = await loadOptional(
    'Google Cloud storage',
    'google-auth-library',
    () => import('google-auth-library'),
  );
  const auth = new Auth({
    scopes: 'https://www.googleapis.com/auth/devstorage.read_write',
    ...(credentialsFile === undefined ? {} : { keyFilename: credentialsFile }),
    ...(projectId === undefined ? {} : { projectId }),
  });
  // Keys of service accounts sign their requests themselves, without asking for a token first.
  auth.useJWTAccessWithScope = true;
  return loginOf(auth);
};
