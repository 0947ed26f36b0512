import { createHash, createHmac, timingSafeEqual } from 'node:crypto';

/** One accepted host key: the complete key, or its fingerprint. */
export type HostKey =
  | { readonly kind: 'key'; readonly type: string; readonly blob: string }
  | { readonly kind: 'fingerprint'; readonly sha256: string };

const KEY = /(?:^|\s)((?:ssh|ecdsa|sk)-[\w@.-]+)\s+([A-Za-z0-9+/]{40,}={0,2})(?:\s|$)/u;
const FINGERPRINT = /(?:^|\s)SHA256:([A-Za-z0-9+/]{43})=?(?:\s|$)/u;

/** Parses keys, one per line: as in `id_ed25519.pub`, from `ssh-keyscan` or from `ssh-keygen -l`. */
export const parseHostKeys = (text: string): readonly HostKey[] =>
  text.split(/\r?\n/u).flatMap((line): readonly HostKey[] => {
    if (line.trimStart().startsWith('#')) return [];
    const [, type, blob] = KEY.exec(line) ?? [];
    if (type !== undefined && blob !== undefined) return [{ kind: 'key', type, blob }];
    const [, sha256] = FINGERPRINT.exec(line) ?? [];
    return sha256 === undefined ? [] : [{ kind: 'fingerprint', sha256 }];
  });

const escaped = (text: string): string => text.replace(/[\\^$+.()|[\]{}]/gu, '\\$&');

const isHashOf = (pattern: string, name: string): boolean => {
  const [, salt, hash] = /^\|1\|([^|]+)\|([^|]+)$/u.exec(pattern) ?? [];
  if (salt === undefined || hash === undefined) return false;
  const expected = Buffer.from(hash, 'base64');
  const actual = createHmac('sha1', Buffer.from(salt, 'base64')).update(name).digest();
  return expected.length === actual.length && timingSafeEqual(expected, actual);
};

const fits = (pattern: string, name: string): boolean => {
  if (pattern.startsWith('|')) return isHashOf(pattern, name);
  const glob = escaped(pattern.toLowerCase()).replaceAll('*', '.*').replaceAll('?', '.');
  return new RegExp(`^${glob}$`, 'u').test(name);
};

/** The entries of one server in a known hosts file. */
export interface KnownHost {
  readonly accepted: readonly HostKey[];
  readonly revoked: readonly HostKey[];
}

/** Reads a file in `known_hosts` format. Ignores certificate authorities. */
export const knownHostIn = (text: string, host: string, port: number): KnownHost => {
  const name = (port === 22 ? host : `[${host}]:${String(port)}`).toLowerCase();
  const [accepted, revoked]: [HostKey[], HostKey[]] = [[], []];
  for (const line of text.split(/\r?\n/u)) {
    const fields = line.trim().split(/\s+/u);
    const marker = fields[0]?.startsWith('@') === true ? fields.shift() : undefined;
    const patterns = (fields.shift() ?? '').split(',');
    if (patterns[0] === '' || patterns[0]?.startsWith('#') === true) continue;
    const isRefused = patterns.some((one) => one.startsWith('!') && fits(one.slice(1), name));
    if (isRefused || !patterns.some((one) => fits(one, name))) continue;
    if (marker === undefined) accepted.push(...parseHostKeys(fields.join(' ')));
    if (marker === '@revoked') revoked.push(...parseHostKeys(fields.join(' ')));
  }
  return { accepted, revoked };
};

/** The fingerprint `SHA256:...` of a raw key, as `ssh-keygen -l` prints it. */
export const fingerprintOf = (key: Buffer): string =>
  `SHA256:${createHash('sha256').update(key).digest('base64').replace(/=+$/u, '')}`;

const isKey = (shown: Buffer, known: HostKey): boolean =>
  known.kind === 'key'
    ? Buffer.from(known.blob, 'base64').equals(shown)
    : fingerprintOf(shown) === `SHA256:${known.sha256}`;

/** Whether the server has presented an accepted key that is not revoked. */
export const isAccepted = (shown: Buffer, { accepted, revoked }: KnownHost): boolean =>
  accepted.some((one) => isKey(shown, one)) && !revoked.some((one) => isKey(shown, one));

/** The algorithms for these keys, so that the server presents none of its other keys; undefined: any. */
export const algorithmsFor = (keys: readonly HostKey[]): readonly string[] | undefined => {
  if (keys.some(({ kind }) => kind === 'fingerprint')) return undefined;
  const types = keys.flatMap((one) => (one.kind === 'key' ? [one.type] : []));
  return [...new Set(types)].flatMap((type) =>
    type === 'ssh-rsa' ? ['rsa-sha2-512', 'rsa-sha2-256', 'ssh-rsa'] : [type],
  );
};
