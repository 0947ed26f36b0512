import * as z from 'zod';
import * as option from '../../support/option-fields.ts';

const seconds = option.seconds(3600);

const isHttp = (value: string): boolean => {
  const url = URL.canParse(value) ? new URL(value) : undefined;
  return url !== undefined && /^https?:$/u.test(url.protocol) && url.hostname !== '';
};
const address = option.text.refine(isHttp, 'must be an http or https URL');

const credentials = z
  .strictObject(
    {
      accessKeyId: option.filled.describe('Key id.'),
      secretAccessKey: option.filled.describe('Secret of the key.'),
      sessionToken: option.filled.optional().describe('Token of temporary credentials.'),
    },
    'must be an object',
  )
  .optional()
  .describe(
    "Key to sign with. Without it the SDK's standard chain applies: environment variables, shared files and " +
      'profile, role of the instance, task or pod.',
  );

/** Options of the s3 adapter, as configured under `sources.<name>.s3`. */
export const s3OptionsSchema = z.strictObject(
  {
    bucket: option.filled
      .refine((value) => !/[/\s]/u.test(value), 'must be the name of a bucket')
      // Its listings are unordered, and take only prefixes that end with a slash.
      .refine((value) => !value.endsWith('--x-s3'), 'must not be a directory bucket (S3 Express One Zone)')
      .describe('Name of the bucket.'),
    region: option.filled.default('us-east-1').describe('Region of the bucket.'),
    endpoint: address
      .optional()
      .describe('URL of an S3-compatible service, or of another host of Amazon S3; without it, AWS.'),
    forcePathStyle: option.flag
      .optional()
      .describe('Address objects as endpoint/bucket/key; some self-hosted services need true.'),
    prefix: option.prefix.describe(
      'Key prefix that acts as root of the source. Two sources on one bucket need different prefixes.',
    ),
    credentials,
    publicBaseUrl: address
      .optional()
      .describe(
        "Base of the adapter's public URLs. Default: the bucket's URL. Responses use `baseurl` of the source.",
      ),
    ca: option.authorities,
    connectTimeout: seconds.default(10).describe('Seconds to wait for a connection.'),
    readTimeout: option.silence,
    connections: option
      .count(1, 500)
      .default(48)
      .describe('Maximum number of connections for downloads, and the same number for all other requests.'),
    maxAttempts: option.attempts,
    serverSideEncryption: z
      .enum(['AES256', 'aws:kms', 'aws:kms:dsse'], 'must be "AES256", "aws:kms" or "aws:kms:dsse"')
      .optional()
      .describe('Encryption that every upload requests from the service.'),
    sseKmsKeyId: option.filled
      .optional()
      .describe('Key for `aws:kms`. Default: the default key of the account.'),
    storageClass: option.filled.optional().describe('Storage class of every object, such as `STANDARD_IA`.'),
    checksums: option.flag
      .optional()
      .describe(
        "Send the SDK's checksums with uploads; buckets with Object Lock need it. Default: true on AWS, false " +
          'for other services.',
      ),
    cacheControl: option.cacheControl.describe('`Cache-Control` of stored objects.'),
  },
  'must be an object',
);

export type S3Options = z.output<typeof s3OptionsSchema>;

export const parseS3Options = option.parser(s3OptionsSchema, ({ sseKmsKeyId, serverSideEncryption }) =>
  sseKmsKeyId !== undefined && serverSideEncryption?.startsWith('aws:kms') !== true
    ? ['sseKmsKeyId: needs serverSideEncryption "aws:kms" or "aws:kms:dsse"']
    : [],
);

const HOST_OF_AWS =
  /(?:^|\.)s3(?:-fips|-accelerate|-[a-z]{2}-[a-z]+-\d)?\.(?:.+\.)?amazonaws\.(?:com(?:\.cn)?|eu)$/u;

/** Whether the service is Amazon S3, perhaps at another of its hosts: dual-stack, FIPS, VPC, accelerated. */
export const isAws = ({ endpoint }: Pick<S3Options, 'endpoint'>): boolean =>
  endpoint === undefined || HOST_OF_AWS.test(new URL(endpoint).hostname);

export const sendsChecksums = (options: S3Options): boolean => options.checksums ?? isAws(options);

/** Identity of the bucket, including its service. */
export const backendOf = ({ endpoint, bucket }: S3Options): string => {
  const service = endpoint === undefined ? 'aws' : new URL(endpoint).href.replace(/\/$/u, '');
  return `s3:${service}/${bucket}`;
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
