import { createHash, randomBytes } from 'node:crypto';

/** A challenge of HTTP Digest authentication (RFC 7616), as far as this client can answer it. */
export interface DigestChallenge {
  readonly realm: string;
  readonly nonce: string;
  readonly opaque: string | undefined;
  readonly algorithm: string | undefined;
  readonly hash: 'md5' | 'sha256';
  readonly session: boolean;
  /** Undefined: the old form without qop (RFC 2069). */
  readonly qop: 'auth' | undefined;
}

const PARAMETER = /([\w-]+)\s*=\s*(?:"((?:[^"\\]|\\.)*)"|([^\s,"]+))/gu;

const parametersOf = (text: string): ReadonlyMap<string, string> =>
  new Map(
    [...text.matchAll(PARAMETER)].map(([, name = '', quoted, token]) => [
      name.toLowerCase(),
      quoted === undefined ? (token ?? '') : quoted.replaceAll(/\\(.)/gu, '$1'),
    ]),
  );

/** Reads a `WWW-Authenticate` header; undefined when it holds no digest challenge that can be answered. */
export const parseDigestChallenge = (header: string): DigestChallenge | undefined => {
  const start = /(?:^|,\s*)digest\s+/iu.exec(header);
  if (start === null) return undefined;
  const parameters = parametersOf(header.slice(start.index + start[0].length));
  const [realm, nonce] = [parameters.get('realm'), parameters.get('nonce')];
  const algorithm = parameters.get('algorithm');
  const name = (algorithm ?? 'MD5').toLowerCase();
  const hash = { md5: 'md5', 'sha-256': 'sha256' } as const;
  const base = name.replace(/-sess$/u, '');
  const qops = parameters
    .get('qop')
    ?.split(',')
    .map((text) => text.trim().toLowerCase());
  if (realm === undefined || nonce === undefined || (base !== 'md5' && base !== 'sha-256')) return undefined;
  if (qops !== undefined && !qops.includes('auth')) return undefined;
  return {
    realm,
    nonce,
    opaque: parameters.get('opaque'),
    algorithm,
    hash: hash[base],
    session: name.endsWith('-sess'),
    qop: qops === undefined ? undefined : 'auth',
  };
};

/** What a digest answer is computed from. */
export interface DigestRequest {
  readonly method: string;
  /** Path and query as in the request line. */
  readonly uri: string;
  readonly username: string;
  readonly password: string;
  /** How many requests have used the nonce, this one included. */
  readonly count: number;
  /** Random text of the client. */
  readonly cnonce: string;
}

const quoted = (text: string): string => `"${text.replaceAll(/["\\]/gu, '\\$&')}"`;

/** The `Authorization` header that answers the challenge for one request. */
export const answerDigest = (challenge: DigestChallenge, request: DigestRequest): string => {
  const { realm, nonce, opaque, algorithm, qop } = challenge;
  const { method, uri, username, password, cnonce } = request;
  const hash = (text: string): string => createHash(challenge.hash).update(text).digest('hex');
  const secret = hash(`${username}:${realm}:${password}`);
  const ha1 = challenge.session ? hash(`${secret}:${nonce}:${cnonce}`) : secret;
  const ha2 = hash(`${method}:${uri}`);
  const nc = request.count.toString(16).padStart(8, '0');
  const response =
    qop === undefined
      ? hash(`${ha1}:${nonce}:${ha2}`)
      : hash(`${ha1}:${nonce}:${nc}:${cnonce}:${qop}:${ha2}`);
  return [
    `Digest username=${quoted(username)}`,
    `realm=${quoted(realm)}`,
    `nonce=${quoted(nonce)}`,
    `uri=${quoted(uri)}`,
    `response="${response}"`,
    ...(algorithm === undefined ? [] : [`algorithm=${algorithm}`]),
    ...(opaque === undefined ? [] : [`opaque=${quoted(opaque)}`]),
    ...(qop === undefined ? [] : [`qop=${qop}`, `nc=${nc}`, `cnonce="${cnonce}"`]),
  ].join(', ');
};

/** Random text for one digest answer. */
export const newCnonce = (): string => randomBytes(12).toString('hex');
