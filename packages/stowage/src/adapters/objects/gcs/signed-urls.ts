import { createHash } from 'node:crypto';
import type { TemporaryUrlOptions } from '../../../storage/adapter.ts';
import type { GcsClient } from './client.ts';
import type { GcsOptions } from './options.ts';

const encoded = (text: string): string =>
  encodeURIComponent(text).replace(/[!'()*]/gu, (one) => `%${one.charCodeAt(0).toString(16).toUpperCase()}`);

/**
 * A URL by which anybody reads the object for a while (V4 of the service's signatures). Undefined where the
 * login cannot sign. With the key of a service account it costs no request; other service accounts are asked
 * to sign, which needs the right to it.
 */
export const signedUrlOf = async (
  client: GcsClient,
  { endpoint, bucket, userProject }: GcsOptions,
  key: string,
  { lifetime, contentType, disposition }: TemporaryUrlOptions,
): Promise<string | undefined> => {
  const login = await client.login();
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
