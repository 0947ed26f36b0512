import type * as Sdk from '@azure/storage-blob';
import type { ContainerClient, RequestPolicy, RequestPolicyFactory } from '@azure/storage-blob';
import { importOptional } from '../../../errors/optional-package.ts';
import { type Agents, createLimitedAgents } from '../../remote/core/http.ts';
import { inTime } from '../../remote/core/connections.ts';
import { inTimeLimit } from '../../../basics/concurrency/abort.ts';
import { accountOf, type AzureOptions } from './options.ts';
import { Requests } from '../core/requests.ts';
import { azureFailures } from './errors.ts';

export interface AzureClient {
  readonly sdk: typeof Sdk;
  readonly service: Sdk.BlobServiceClient;
  readonly container: ContainerClient;
}

/** Loads the SDK on first use. @throws UnsupportedError when it is not installed */
const loadSdk = (): Promise<typeof Sdk> =>
  importOptional('Azure storage', '@azure/storage-blob', () => import('@azure/storage-blob'));

/** Time before the end of a token when another one is requested. */
const RENEWED_BEFORE_MS = 300_000;

/**
 * The default login, with a time limit: the library itself has none for some logins. It also starts the
 * command line of Azure for every token, and removing many blobs in one request takes a token for each.
 */
const defaultCredential = async (ms: number): Promise<TokenCredential> => {
  const { DefaultAzureCredential } = await importOptional(
    'Azure storage without accountKey, sasToken or connectionString',
    '@azure/identity',
    () => import('@azure/identity'),
  );
  const credential = new DefaultAzureCredential();
  let kept: Awaited<ReturnType<TokenCredential['getToken']>> = null;
  return {
    getToken: async (scopes, options) => {
      // The service may ask for a token of another tenant, or with other claims.
      const isUsual = options?.claims === undefined && options?.tenantId === undefined;
      if (isUsual && kept !== null && kept.expiresOnTimestamp > Date.now() + RENEWED_BEFORE_MS) return kept;
      // All waiting requests share one token, so the first request's abort must not end it.
      const token = await inTimeLimit(ms, undefined, (abortSignal) =>
        inTime(credential.getToken(scopes, { ...options, abortSignal }), ms),
      );
      if (isUsual) kept = token;
      return token;
    },
  };
};

type Login = Sdk.BlobServiceClient['credential'];
type TokenCredential = Exclude<Login, Sdk.AnonymousCredential | Sdk.StorageSharedKeyCredential>;

/** URL of the service, with the shared access signature if there is one, and the credential. */
const addressOf = async (
  sdk: typeof Sdk,
  { accountUrl = '', connectionString, accountKey, sasToken, connectTimeout, readTimeout }: AzureOptions,
): Promise<{ readonly url: string; readonly login: Login }> => {
  if (connectionString !== undefined) {
    const { url, credential } = sdk.BlobServiceClient.fromConnectionString(connectionString);
    return { url, login: credential };
  }
  if (sasToken !== undefined)
    return { url: `${accountUrl}?${sasToken}`, login: new sdk.AnonymousCredential() };
  if (accountKey === undefined)
    return { url: accountUrl, login: await defaultCredential((connectTimeout + readTimeout) * 1000) };
  const login = new sdk.StorageSharedKeyCredential(accountOf(accountUrl) ?? '', accountKey);
  return { url: accountUrl, login };
};

/** Makes every request use the store's own connections, which have time limits. */
const through = (agents: Agents): RequestPolicyFactory => ({
  create: (next: RequestPolicy): RequestPolicy => ({
    sendRequest: (request) => {
      request.agent = agents.of(request.url);
      return next.sendRequest(request);
    },
  }),
});

/**
 * Creates a client for the container. It sends each request once: `Requests` does the retries.
 * @throws UnsupportedError when a package is not installed; errors of the SDK for invalid options
 */
const createClient = async (options: AzureOptions, agents: Agents): Promise<AzureClient> => {
  const sdk = await loadSdk();
  const { url, login } = await addressOf(sdk, options);
  const pipeline = sdk.newPipeline(login, {
    retryOptions: { maxTries: 1 },
    userAgentOptions: { userAgentPrefix: 'stowage' },
  });
  pipeline.factories.push(through(agents));
  const service = new sdk.BlobServiceClient(url, pipeline);
  return { sdk, service, container: service.getContainerClient(options.container) };
};

export const openRequests = (options: AzureOptions): Requests<AzureClient> => {
  const { connectTimeout, readTimeout, maxAttempts, ca } = options;
  const silence = { connectMs: connectTimeout * 1000, readMs: readTimeout * 1000 };
  const agents = createLimitedAgents(silence, ca);
  return new Requests({
    connect: () => createClient(options, agents),
    disconnect: () => agents.destroy(),
    // Longer than a download keeps its connection while its reader pauses.
    waitMs: silence.connectMs + silence.readMs,
    maxAttempts,
    ...azureFailures,
  });
};
