import { partsOf } from '../core/keys.ts';
import type { StoreIdentity } from '../../../storage/adapter.ts';
import type { S3Options } from './options.ts';

/** Where the root of a source lies: the service with the bucket, and the parts of the prefixes. */
export const identityOf = ({ endpoint, bucket, prefix }: S3Options, root?: string): StoreIdentity => {
  const service = endpoint === undefined ? 'aws' : new URL(endpoint).href.replace(/\/$/u, '');
  return { backend: `s3:${service}/${bucket}`, root: partsOf(prefix, root) };
};

const bucketUrl = ({ bucket, region, endpoint, forcePathStyle }: S3Options): string => {
  const host = new URL(endpoint ?? `https://s3.${region}.amazonaws.com`);
  if (endpoint !== undefined ? forcePathStyle !== false : forcePathStyle === true) {
    return `${host.origin}${host.pathname.replace(/\/$/u, '')}/${bucket}/`;
  }
  return `${host.protocol}//${bucket}.${host.host}${host.pathname}`;
};

/** The unsigned URL of a key, below `publicBaseUrl` or in the bucket. */
export const publicUrlOf = (options: S3Options, key: string): string => {
  const base = options.publicBaseUrl ?? bucketUrl(options);
  return `${base.replace(/\/?$/u, '/')}${key.split('/').map(encodeURIComponent).join('/')}`;
};
