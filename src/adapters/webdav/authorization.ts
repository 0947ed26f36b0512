import { answerDigest, newCnonce, parseDigestChallenge, type DigestChallenge } from './digest.ts';
import type { WebdavOptions } from './options.ts';

/** Makes the `Authorization` headers of one store. */
export interface Authorization {
  /** The header for a request; undefined: none is sent. */
  header(method: string, uri: string): string | undefined;
  /** Learns from a 401; true when the request is worth another try. */
  learn(wwwAuthenticate: string, sent: string | undefined): boolean;
  /** The server must be asked before a body is sent, because the first request will be refused. */
  readonly asksFirst: boolean;
}

const fixed = (value: string | undefined): Authorization => ({
  header: () => value,
  learn: () => false,
  asksFirst: false,
});

/** Digest: the server's nonce is used until the server gives another; several requests may share it. */
class DigestAuthorization implements Authorization {
  readonly asksFirst = true;
  readonly #username: string;
  readonly #password: string;
  #challenge: DigestChallenge | undefined;
  #count = 0;

  constructor(username: string, password: string) {
    this.#username = username;
    this.#password = password;
  }

  header(method: string, uri: string): string | undefined {
    if (this.#challenge === undefined) return undefined;
    this.#count += 1;
    const login = { username: this.#username, password: this.#password };
    return answerDigest(this.#challenge, { method, uri, ...login, count: this.#count, cnonce: newCnonce() });
  }

  learn(wwwAuthenticate: string, sent: string | undefined): boolean {
    const challenge = parseDigestChallenge(wwwAuthenticate);
    if (challenge === undefined) return false;
    // A login that was refused with a nonce that is still good is wrong; a request without an answer, or with an old nonce, is not.
    const isRefused =
      sent?.includes(`nonce="${challenge.nonce}"`) === true && !/stale\s*=\s*"?true/iu.test(wwwAuthenticate);
    if (this.#challenge?.nonce !== challenge.nonce) {
      this.#challenge = challenge;
      this.#count = 0;
    }
    return !isRefused;
  }
}

/** The authorization that the options ask for. */
export const createAuthorization = ({
  username,
  password = '',
  token,
  auth,
}: WebdavOptions): Authorization => {
  if (token !== undefined) return fixed(`Bearer ${token}`);
  if (username === undefined) return fixed(undefined);
  if (auth === 'digest') return new DigestAuthorization(username, password);
  return fixed(`Basic ${Buffer.from(`${username}:${password}`).toString('base64')}`);
};
