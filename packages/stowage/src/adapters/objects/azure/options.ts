import * as z from 'zod';
import * as option from '../../support/option-fields.ts';

const seconds = option.seconds(3600);

/** Tiers whose blobs can be read immediately. Reading from Archive takes hours. */
const TIERS = ['Hot', 'Cool', 'Cold'] as const;

const isConnectionString = (text: string): boolean =>
  /(?:^|;)\s*UseDevelopmentStorage\s*=\s*true/iu.test(text) ||
  (/(?:^|;)\s*(?:AccountName|BlobEndpoint)\s*=/iu.test(text) &&
    /(?:^|;)\s*(?:AccountKey|SharedAccessSignature)\s*=\s*[^;\s]/iu.test(text));

/** Options of the azure adapter, as configured under `sources.<name>.azure`. */
export const azureOptionsSchema = z.strictObject(
  {
    container: option.filled
      .regex(/^(?:\$root|\$web|[a-z\d](?:-?[a-z\d]){2,62})$/u, 'must be the name of a container')
      .describe('Name of the container.'),
    accountUrl: option.text
      .refine(option.isServiceUrl, 'must be the http or https URL of an account, without a query')
      .optional()
      .describe(
        'Address of the blob service: `https://ACCOUNT.blob.core.windows.net`, or that of a sovereign cloud or ' +
          'emulator.',
      ),
    connectionString: option.text
      .refine(
        isConnectionString,
        'must be a connection string of a storage account, with its key or a signature',
      )
      .optional()
      .describe('Address and key in one text, as shown in the portal. Instead of accountUrl.'),
    accountKey: option.filled
      .regex(/^[\w+/-]+={0,2}$/u, 'must be a key in Base64')
      .optional()
      .describe('Key of the account.'),
    sasToken: option.filled
      .refine((text) => /[?&]?sig=/u.test(text), 'must be a shared access signature (sv=...&sig=...)')
      .transform((text) => text.trim().replace(/^\?/u, ''))
      .optional()
      .describe(
        'Shared access signature for the container, with or without `?`. Without accountKey and sasToken the ' +
          'default chain of `@azure/identity` applies: environment, workload identity, managed identity.',
      ),
    // Azure drops these dots: uploads would be stored below another prefix, and not be found.
    prefix: option.prefix
      .refine((text) => !/\.(?:\/|$)/u.test(text), 'must not hold a part that ends with a dot')
      .describe(
        'Prefix of names that acts as root of the source. Two sources on one container need different prefixes.',
      ),
    ca: option.authorities,
    connectTimeout: seconds.default(10).describe('Seconds to wait for a connection.'),
    readTimeout: option.silence,
    maxAttempts: option.attempts,
    maxConcurrency: option
      .count(1, 16)
      .default(4)
      .describe('Blocks of one upload that are sent at the same time.'),
    accessTier: z
      .enum(TIERS, `must be one of ${TIERS.join(', ')}: objects in other tiers cannot be read immediately`)
      .optional()
      .describe('Access tier of every blob. Default: that of the account.'),
    cacheControl: option.cacheControl.describe('`Cache-Control` of stored blobs.'),
  },
  'must be an object',
);

export type AzureOptions = z.output<typeof azureOptionsSchema>;

/** The account in an address: its first label, or with an emulator its path. */
export const accountOf = (address: string): string | undefined => {
  const { hostname, pathname } = new URL(address);
  if (/^[^.]+\.(?:[^.]+\.)?blob\./u.test(hostname)) return hostname.split('.')[0];
  return /^\/([^/]+)\/?$/u.exec(pathname)?.[1];
};

const problemsOfLogin = ({ accountUrl, connectionString, accountKey, sasToken }: AzureOptions) => {
  if ((accountUrl === undefined) === (connectionString === undefined))
    return ['accountUrl: one of accountUrl and connectionString is needed'];
  if (accountKey !== undefined && sasToken !== undefined)
    return ['sasToken: only one of accountKey and sasToken can be used'];
  if (accountUrl === undefined)
    return accountKey === undefined && sasToken === undefined
      ? []
      : ['connectionString: holds the key itself, so accountKey and sasToken must be absent'];
  return accountKey !== undefined && accountOf(accountUrl) === undefined
    ? ['accountKey: the address does not name the account; use connectionString']
    : [];
};

export const parseAzureOptions = option.parser(azureOptionsSchema, problemsOfLogin);
