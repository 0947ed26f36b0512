import { ObjectStoreAdapter } from '../core/adapter.ts';
import { AzureObjects } from './objects.ts';
import type { AzureOptions } from './options.ts';

const endpointIn = (connectionString: string): string => {
  const value = (name: string): string | undefined =>
    new RegExp(`(?:^|;)\\s*${name}\\s*=\\s*([^;]*)`, 'iu').exec(connectionString)?.[1]?.trim();
  const suffix = value('EndpointSuffix') ?? 'core.windows.net';
  return value('BlobEndpoint') ?? `${value('AccountName') ?? ''}.blob.${suffix}`;
};

/** Identity of the container, including its account. */
const backendOf = ({ accountUrl, connectionString = '', container }: AzureOptions): string => {
  const account = (accountUrl ?? endpointIn(connectionString))
    .replace(/^https?:\/\//u, '')
    .replace(/\/+$/u, '');
  return `azure:${account}/${container}`;
};

/** A source in a container of Azure Blob Storage. */
export class AzureAdapter extends ObjectStoreAdapter {
  constructor(options: AzureOptions, root?: string) {
    super(new AzureObjects(options), { backend: backendOf(options), prefix: options.prefix, root });
  }
}
