import * as z from 'zod';
import * as option from '../../support/option-fields.ts';

/** Options of the gcs adapter, as configured under `sources.<name>.gcs`. */
export const gcsOptionsSchema = z.strictObject(
  {
    bucket: option.filled
      .regex(/^[a-z\d][\w.-]{1,220}[a-z\d]$/u, 'must be the name of a bucket')
      .describe('Name of the bucket.'),
    projectId: option.filled
      .optional()
      .describe('Project of the login. Needed only if the login does not name it.'),
    userProject: option.filled
      .optional()
      .describe(
        'Project that pays for requests, for "requester pays" buckets. The login needs the right to use it.',
      ),
    credentialsFile: option.file
      .optional()
      .describe(
        'File with the key of a service account (JSON), or with another login of Google Cloud. Without it the ' +
          'default login applies: GOOGLE_APPLICATION_CREDENTIALS, gcloud, the machine.',
      ),
    anonymous: option.flag
      .default(false)
      .describe('Send no login: for emulators, and for public buckets, which are then read-only.'),
    endpoint: option.text
      .refine(option.isServiceUrl, 'must be an http or https URL without a query')
      .transform((text) => text.replace(/\/+$/u, ''))
      .default('https://storage.googleapis.com')
      .describe('Address of the service.'),
    prefix: option.prefix.describe(
      'Prefix of names that acts as root of the source. Two sources on one bucket need different prefixes.',
    ),
    ca: option.authorities,
    timeout: option.silence,
    maxAttempts: option.attempts,
    storageClass: option.text
      .regex(/^[A-Z][A-Z_]+$/u, 'must be the name of a storage class in capitals, such as NEARLINE')
      .optional()
      .describe('Storage class of every object, such as `NEARLINE`. Default: that of the bucket.'),
    cacheControl: option.cacheControl.describe('`Cache-Control` of stored objects.'),
  },
  'must be an object',
);

export type GcsOptions = z.output<typeof gcsOptionsSchema>;

export const parseGcsOptions = option.parser(gcsOptionsSchema, ({ anonymous, credentialsFile }) =>
  anonymous && credentialsFile !== undefined
    ? ['anonymous: must not be used together with credentialsFile']
    : [],
);
