import type * as Sdk from '@azure/storage-blob';
import type { ContainerClient, RequestPolicy, RequestPolicyFactory } from '@azure/storage-blob';
import { importOptional } from '../../../errors/optional-package.ts';
import { type Agents, createAgents } from '../../remote/core/http.ts';
import { inTime } from '../../remote/core/connections.ts';
import { inTimeLimit } from '../../../basics/concurrency/abort.ts';
import { accountOf, type AzureOptions } from './options.ts';
import { Requests } from '../core/requests.ts';
import { azureFailures } from './errors.ts';

/** The client of a container, and the service that it belongs to. */
export interface AzureClient {
  readonly sdk: typeof Sdk;
  readonly service: Sdk.BlobServiceClient;
  readonly container: ContainerClient;
}

/** Loads the SDK at the first use. @throws UnsupportedError when it is not installed */
const loadSdk = (): Promise<typeof Sdk> =>
  importOptional('Azure storage', '@azure/storage-blob', () => import('@azure/storage-blob'));

/** The library waits for some logins as long as they take. */
const defaultCredential = async (ms: number): Promise<TokenCredential> => {
  const { DefaultAzureCredential } = await importOptional(
    'Azure storage without accountKey, sasToken or connectionString',
    '@azure/identity',
    () => import('@azure/identity'),
  );
  const credential = new DefaultAzureCredential();
  return {
    // One token is for all who wait for it: it does not end with the request of the first.
    getToken: (scopes, options) =>
      inTimeLimit(ms, undefined, (abortSignal) =>
        inTime(credential.getToken(scopes, { ...options, abortSignal }), ms),
      ),
  };
};

type Login = Sdk.BlobServiceClient['credential'];
type TokenCredential = Exclude<Login, Sdk.AnonymousCredential | Sdk.StorageSharedKeyCredential>;

/** Where the service is, with the signature if there is one, and who signs. */
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

/** Has every request use our connections, whose silence has a limit. */
const through = (agents: Agents): RequestPolicyFactory => ({
  create: (next: RequestPolicy): RequestPolicy => ({
    sendRequest: (request) => {
      request.agent = agents.of(request.url);
      return next.sendRequest(request);
    },
  }),
});

/**
 * A client for the container. It sends each request once: attempts are ours.
 * @throws UnsupportedError where a package is not installed, and what the SDK finds wrong with the options
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

/** The requests of one store. */
export const openRequests = (options: AzureOptions): Requests<AzureClient> => {
  const { connectTimeout, readTimeout, maxAttempts, ca } = options;
  const silence = { connectMs: connectTimeout * 1000, readMs: readTimeout * 1000 };
  const agents = createAgents(silence, ca);
  return new Requests({
    connect: () => createClient(options, agents),
    disconnect: () => agents.destroy(),
    // Longer than a download keeps its connection while its reader pauses.
    waitMs: silence.connectMs + silence.readMs,
    maxAttempts,
    ...azureFailures,
  });
};
