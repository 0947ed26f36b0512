import { once } from 'node:events';
import { createServer } from 'node:http';
import type { AddressInfo } from 'node:net';
import { exportJWK, generateKeyPair, SignJWT, UnsecuredJWT, type CryptoKey, type JWTPayload } from 'jose';

/** A service that gives out tokens, as far as others see it. */
export interface IdentityProvider {
  readonly issuer: string;
  /** A token for `files` that holds for a minute, but for what is said otherwise. */
  token(claims?: Readonly<Record<string, unknown>>): Promise<string>;
  /** The same by a key that nobody has published. */
  forged(): Promise<string>;
  unsigned(): string;
  close(): void;
}

/** Starts one with a key of its own. */
export const startProvider = async (): Promise<IdentityProvider> => {
  const [own, other] = await Promise.all([generateKeyPair('ES256'), generateKeyPair('ES256')]);
  const keys = { keys: [{ ...(await exportJWK(own.publicKey)), kid: 'one', alg: 'ES256' }] };
  const server = createServer((_request, response) => response.end(JSON.stringify(keys)));
  server.listen(0, 'localhost');
  await once(server, 'listening');
  const issuer = `http://localhost:${String((server.address() as AddressInfo).port)}`;
  const usual = (): JWTPayload => ({
    iss: issuer,
    aud: 'files',
    sub: 'ann',
    role: 'editor',
    exp: Math.floor(Date.now() / 1000) + 60,
  });
  const sign = (key: CryptoKey, claims: Readonly<Record<string, unknown>>): Promise<string> =>
    new SignJWT({ ...usual(), ...claims }).setProtectedHeader({ alg: 'ES256', kid: 'one' }).sign(key);
  return {
    issuer,
    token: (claims = {}) => sign(own.privateKey, claims),
    forged: () => sign(other.privateKey, {}),
    unsigned: () => new UnsecuredJWT(usual()).encode(),
    close: () => server.close(),
  };
};
