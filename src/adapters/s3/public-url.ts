import type { S3Options } from './options.ts';

const encoded = (key: string): string => key.split('/').map(encodeURIComponent).join('/');

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
  return `${base.endsWith('/') ? base : `${base}/`}${encoded(key)}`;
};
