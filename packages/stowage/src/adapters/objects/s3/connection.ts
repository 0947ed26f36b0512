import { createHash } from 'node:crypto';
import type * as SdkModule from '@aws-sdk/client-s3';
import type { GetObjectCommandInput, S3, S3ClientConfig } from '@aws-sdk/client-s3';
import { importOptional } from '../../../errors/optional-package.ts';
import type { KnownServices, SharedAgents } from './known-services.ts';
import { isAws, sendsChecksums, type S3Options } from './options.ts';
import { Requests } from '../core/requests.ts';
import { isOfOldKeys, regionIn, s3Failures } from './errors.ts';

/** Loads the SDK on first use, since it takes some 200 ms and 24 MB. */
const loadSdk = (): Promise<typeof SdkModule> =>
  importOptional('S3 storage', '@aws-sdk/client-s3', () => import('@aws-sdk/client-s3'));

/**
 * Sends DeleteObjects with `Content-MD5`, which every service supports, instead of the SDK's own checksums,
 * which services other than AWS may reject; and the condition of a copy also by the header that R2 has for it.
 * Runs before signing, as the headers are signed.
 */
const useOtherHeaders = (client: S3): void => {
  client.middlewareStack.add(
    (next, context) => async (args) => {
      const request = args.request as { headers?: Record<string, string>; body?: unknown } | undefined;
      const body = request?.body;
      const isKnown = typeof body === 'string' || body instanceof Uint8Array;
      if (context['commandName'] === 'DeleteObjectsCommand' && request?.headers && isKnown) {
        for (const name of Object.keys(request.headers)) {
          if (/^x-amz-(?:checksum-|sdk-checksum)/iu.test(name)) delete request.headers[name];
        }
        request.headers['content-md5'] = createHash('md5').update(body).digest('base64');
      }
      const condition = context['commandName'] === 'CopyObjectCommand' && request?.headers?.['if-none-match'];
      if (condition && request?.headers) request.headers['cf-copy-destination-if-none-match'] = condition;
      return next(args);
    },
    { step: 'build', priority: 'low', name: 'stowageOtherHeaders' },
  );
};

/** Rewrites dates that the SDK would reject: Wasabi sends ISO 8601. `x-amz-abort-date` is not used. */
const acceptDates = (client: S3): void => {
  client.middlewareStack.add(
    (next) => async (args) => {
      const result = await next(args);
      const { headers } = result.response as { readonly headers: Record<string, string> };
      const time = Date.parse(headers['last-modified'] ?? '');
      for (const name of ['x-amz-abort-date', 'last-modified']) delete headers[name];
      if (!Number.isNaN(time)) headers['last-modified'] = new Date(time).toUTCString();
      return result;
    },
    { step: 'deserialize', priority: 'low', name: 'stowageDates' },
  );
};

/** Region that requests are sent to and signed for: the configured one, until AWS names another. */
interface Located {
  region: string;
}

/**
 * Sends a request again to the region that AWS names for the bucket, and later ones only there; signed URLs
 * too. The SDK itself would be redirected with every request, and sign URLs for the configured region.
 */
const followRegion = (client: S3, located: Located): void => {
  client.middlewareStack.add(
    (next) => async (args) => {
      const region = await client.config.region();
      try {
        return await next(args);
      } catch (error) {
        const named = regionIn(error);
        if (named === undefined || named === region) throw error;
        located.region = named;
        return next(args);
      }
    },
    { step: 'initialize', name: 'stowageRegion' },
  );
};

const silent = (): void => undefined;

const configOf = (
  options: S3Options,
  located: Located,
  services: KnownServices,
  agents: SharedAgents,
): S3ClientConfig => {
  const { endpoint, forcePathStyle } = options;
  // The SDK modifies the object that it is given.
  const credentials = options.credentials === undefined ? services.credentials : { ...options.credentials };
  return {
    region: () => Promise.resolve(located.region),
    // `Requests` does the retries.
    maxAttempts: 1,
    // Services other than AWS may not support the SDK's checksums; some store their framing as content.
    requestChecksumCalculation: sendsChecksums(options) ? 'WHEN_SUPPORTED' : 'WHEN_REQUIRED',
    responseChecksumValidation: 'WHEN_REQUIRED',
    // It would open connections outside of the pool.
    expectContinueHeader: false,
    // An environment variable must not redirect to a service other than AWS, whose guarantees are assumed.
    ignoreConfiguredEndpointUrls: true,
    // The SDK's logger writes to the console.
    logger: { debug: silent, info: silent, warn: silent, error: silent },
    requestHandler: {
      connectionTimeout: options.connectTimeout * 1000,
      socketTimeout: options.readTimeout * 1000,
      httpAgent: agents.http,
      httpsAgent: agents.https,
    },
    // Reads the shared credential files again; this happens only when credentials are refreshed.
    ...{ ignoreCache: true },
    ...(endpoint === undefined ? {} : { endpoint }),
    ...(forcePathStyle === undefined ? {} : { forcePathStyle }),
    ...(credentials === undefined
      ? {}
      : { credentials: credentials as S3ClientConfig['credentials'] & object }),
  };
};

/**
 * Creates a client for the bucket. Stores without their own keys share one credential chain, so that many
 * tenants do not each request the role of the machine.
 * @throws UnsupportedError when the SDK is not installed, and errors of the SDK for invalid options
 */
const createClient = async (options: S3Options, services: KnownServices, agents: SharedAgents) => {
  const sdk = await loadSdk();
  const located: Located = { region: options.region };
  const client = new sdk.S3(configOf(options, located, services, agents));
  // AWS has an address for each region, and needs no MD5, which Node.js in FIPS mode lacks.
  if (isAws(options)) followRegion(client, located);
  else {
    useOtherHeaders(client);
    acceptDates(client);
  }
  if (options.credentials === undefined) services.credentials ??= client.config.credentials;
  return client;
};

/** The time by the clock of the service, as its responses have shown it. */
export const serviceTime = ({ config }: S3): number => Date.now() + config.systemClockOffset;

/** A URL for reading the object within some seconds; sends no request. @throws UnsupportedError */
export const signedUrlOf = async (
  client: S3,
  input: GetObjectCommandInput,
  lifetime: number,
): Promise<string> => {
  const { GetObjectCommand } = await loadSdk();
  const { getSignedUrl } = await importOptional(
    'A redirect to S3',
    '@aws-sdk/s3-request-presigner',
    () => import('@aws-sdk/s3-request-presigner'),
  );
  // As requests are.
  const signingDate = new Date(serviceTime(client));
  return getSignedUrl(client, new GetObjectCommand(input), { expiresIn: lifetime, signingDate });
};

export const openRequests = (options: S3Options, services: KnownServices): Requests<S3> => {
  const { connections, maxAttempts, readTimeout, connectTimeout } = options;
  const agents = services.takeAgents(options.ca);
  return new Requests({
    connect: () => createClient(options, services, agents),
    // Not by the client, which would also close the connections of other stores.
    disconnect: agents.release,
    connections,
    // Longer than a download keeps its connection while its reader pauses.
    waitMs: (readTimeout + connectTimeout) * 1000,
    maxAttempts,
    ...s3Failures,
    mayRepeat: async (error) => {
      if (s3Failures.mayRepeat(error)) return true;
      if (options.credentials !== undefined || !isOfOldKeys(error)) return false;
      await services.renewCredentials();
      return true;
    },
  });
};
