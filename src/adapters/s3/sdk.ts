import { createHash } from 'node:crypto';
import type * as SdkModule from '@aws-sdk/client-s3';
import type { S3Client, S3ClientConfig } from '@aws-sdk/client-s3';
import { UnsupportedError } from '../../errors/errors.ts';
import type { S3Options } from './options.ts';

/** The optional package, as a module. */
export type Sdk = typeof SdkModule;

const isMissing = (error: unknown): boolean =>
  error instanceof Error && 'code' in error && error.code === 'ERR_MODULE_NOT_FOUND';

/** Loads the SDK, which takes some 200 ms and 24 MB: at the first use only. @throws UnsupportedError when it is not installed */
export const loadSdk = async (): Promise<Sdk> => {
  try {
    return await import('@aws-sdk/client-s3');
  } catch (error) {
    if (!isMissing(error)) throw error;
    const message = 'S3 storage needs the npm package "@aws-sdk/client-s3", which is not installed here.';
    throw new UnsupportedError({ message, cause: error });
  }
};

const bytesOf = (body: unknown): string | Uint8Array | undefined =>
  typeof body === 'string' || body instanceof Uint8Array ? body : undefined;

/**
 * DeleteObjects with the checksum that every service understands: `Content-MD5` in place of the SDK's own, which older ones refuse.
 * Before signing, as the headers are signed.
 */
const useContentMd5 = (client: S3Client): void => {
  client.middlewareStack.add(
    (next, context) => async (args) => {
      const request = args.request as { headers?: Record<string, string>; body?: unknown } | undefined;
      const body = bytesOf(request?.body);
      if (context['commandName'] === 'DeleteObjectsCommand' && request?.headers && body !== undefined) {
        for (const name of Object.keys(request.headers)) {
          if (/^x-amz-(?:checksum-|sdk-checksum)/iu.test(name)) delete request.headers[name];
        }
        request.headers['content-md5'] = createHash('md5').update(body).digest('base64');
      }
      return next(args);
    },
    { step: 'build', priority: 'low', name: 'stowageContentMd5' },
  );
};

/**
 * A client for the bucket, with its own pool of at most `sockets` connections.
 * @throws whatever the SDK finds wrong with the options
 */
export const createClient = async (sdk: Sdk, options: S3Options, sockets: number): Promise<S3Client> => {
  const agent = { keepAlive: true, maxSockets: sockets };
  const { region, endpoint, forcePathStyle, credentials, maxAttempts } = options;
  const config: S3ClientConfig = {
    region,
    maxAttempts,
    // Services other than AWS do not understand the SDK's own checksums, some store their framing as content.
    requestChecksumCalculation: 'WHEN_REQUIRED',
    responseChecksumValidation: 'WHEN_REQUIRED',
    // It would open connections outside of the pool.
    expectContinueHeader: false,
    // A variable of the environment must not lead to a service that is not AWS while its guarantees are trusted.
    ignoreConfiguredEndpointUrls: true,
    requestHandler: {
      connectionTimeout: options.connectTimeout * 1000,
      socketTimeout: options.readTimeout * 1000,
      httpAgent: agent,
      httpsAgent: agent,
    },
    ...(endpoint === undefined ? {} : { endpoint }),
    ...(forcePathStyle === undefined ? {} : { forcePathStyle }),
    ...(credentials === undefined
      ? {}
      : {
          credentials: {
            accessKeyId: credentials.accessKeyId,
            secretAccessKey: credentials.secretAccessKey,
            ...(credentials.sessionToken === undefined ? {} : { sessionToken: credentials.sessionToken }),
          },
        }),
  };
  const client = new sdk.S3Client(config);
  useContentMd5(client);
  return client;
};
