import { createHash, randomBytes } from 'node:crypto';
import type { WebdavOptions } from './options.ts';

/** Creates the `Authorization` headers of one store. */
export interface Login {
  /** The header of a request; undefined for none. */
  header(method: string, uri: string): string | undefined;
  /** Reads the challenge of a 401; returns whether the request should be retried. */
  learn(wwwAuthenticate: string, sent: string | undefined): boolean;
  /** A request must precede one with a body, because the first request will be rejected. */
  readonly asksFirst: boolean;
}

/** A challenge of HTTP Digest authentication (RFC 7616), as far as this client supports it. */
interface Challenge {
  readonly realm: string;
  readonly nonce: string;
  readonly opaque: string | undefined;
  readonly algorithm: string | undefined;
  readonly hash: 'md5' | 'sha256';
  readonly isSession: boolean;
  /** The same for all requests with a nonce: the key of a session has that of the first one (IIS). */
  readonly cnonce: string;
  /** Undefined: the old form without qop (RFC 2069). */
  readonly qop: 'auth' | undefined;
}

/** A parameter of a challenge; the first one follows the name of its scheme. */
const PARAMETER = /(?<![\w-])(?:([\w-]+)\s+)?([\w-]+)\s*=\s*(?:"((?:[^"\\]|\\.)*)"|([^\s,"]+))/gu;

type Parameters = ReadonlyMap<string, string>;

/** The parameters of each digest challenge in a `WWW-Authenticate` header, which may have other schemes too. */
const digestsIn = (header: string): readonly Parameters[] => {
  const digests: Parameters[] = [];
  let parameters = new Map<string, string>();
  for (const [, scheme, name = '', quoted, token = ''] of header.matchAll(PARAMETER)) {
    if (scheme !== undefined) parameters = new Map();
    if (scheme?.toLowerCase() === 'digest') digests.push(parameters);
    parameters.set(name.toLowerCase(), quoted?.replaceAll(/\\(.)/gu, '$1') ?? token);
  }
  return digests;
};

/** Undefined for a challenge that is not supported. */
const challengeOf = (parameters: Parameters): Challenge | undefined => {
  const [realm, nonce, algorithm] = ['realm', 'nonce', 'algorithm'].map((name) => parameters.get(name));
  const name = (algorithm ?? 'MD5').toLowerCase();
  const hash = { md5: 'md5', 'sha-256': 'sha256' } as const;
  const base = name.replace(/-sess$/u, '');
  const qops = parameters
    .get('qop')
    ?.toLowerCase()
    .split(',')
    .map((qop) => qop.trim());
  if (realm === undefined || nonce === undefined || (base !== 'md5' && base !== 'sha-256')) return undefined;
  if (qops !== undefined && !qops.includes('auth')) return undefined;
  return {
    realm,
    nonce,
    opaque: parameters.get('opaque'),
    algorithm,
    hash: hash[base],
    isSession: name.endsWith('-sess'),
    cnonce: randomBytes(12).toString('hex'),
    qop: qops === undefined ? undefined : 'auth',
  };
};

const quoted = (text: string): string => `"${text.replaceAll(/["\\]/gu, '\\$&')}"`;

/** UTF-8 with one character per byte, as in headers: realm and names are hashed as the server has them. */
const bytesOf = (text: string): string => Buffer.from(text, 'utf8').toString('latin1');

/** Digest: the server's nonce is used, also by concurrent requests, until the server sends another. */
const digestLogin = (login: { readonly username: string; readonly password: string }): Login => {
  const [username, password] = [bytesOf(login.username), bytesOf(login.password)];
  let known: Challenge | undefined;
  let count = 0;
  return {
    asksFirst: true,
    header: (method, uri) => {
      if (known === undefined) return undefined;
      count += 1;
      const { realm, nonce, cnonce, opaque, algorithm, qop, hash: kind, isSession } = known;
      const hash = (text: string): string => createHash(kind).update(text, 'latin1').digest('hex');
      const secret = hash(`${username}:${realm}:${password}`);
      const ha1 = isSession ? hash(`${secret}:${nonce}:${cnonce}`) : secret;
      const nc = count.toString(16).padStart(8, '0');
      const middle = qop === undefined ? '' : `${nc}:${cnonce}:${qop}:`;
      return [
        `Digest username=${quoted(username)}`,
        `realm=${quoted(realm)}`,
        `nonce=${quoted(nonce)}`,
        `uri=${quoted(uri)}`,
        `response="${hash(`${ha1}:${nonce}:${middle}${hash(`${method}:${uri}`)}`)}"`,
        ...(algorithm === undefined ? [] : [`algorithm=${algorithm}`]),
        ...(opaque === undefined ? [] : [`opaque=${quoted(opaque)}`]),
        ...(qop === undefined ? [] : [`qop=${qop}`, `nc=${nc}`, `cnonce="${cnonce}"`]),
      ].join(', ');
    },
    learn: (wwwAuthenticate, sent) => {
      const challenge = digestsIn(wwwAuthenticate)
        .map(challengeOf)
        .find((one) => one !== undefined);
      if (challenge === undefined) return false;
      // A login that was rejected with a valid nonce is wrong; with a stale nonce it may be right.
      const isRefused =
        sent?.includes(`nonce="${challenge.nonce}"`) === true &&
        !/stale\s*=\s*"?true/iu.test(wwwAuthenticate);
      if (known?.nonce !== challenge.nonce) [known, count] = [challenge, 0];
      return !isRefused;
    },
  };
};

const fixed = (value: string | undefined): Login => ({
  header: () => value,
  learn: () => false,
  asksFirst: false,
});

export const createLogin = ({ username, password = '', token, auth }: WebdavOptions): Login => {
  if (token !== undefined) return fixed(`Bearer ${token}`);
  if (username === undefined) return fixed(undefined);
  if (auth === 'digest') return digestLogin({ username, password });
  return fixed(`Basic ${Buffer.from(`${username}:${password}`).toString('base64')}`);
};
