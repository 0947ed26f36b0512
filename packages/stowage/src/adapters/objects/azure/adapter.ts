import { ObjectStoreAdapter } from '../core/adapter.ts';
import { AzureObjects } from './objects.ts';
import type { AzureOptions } from './options.ts';

const endpointIn = (connectionString: string): string => {
  const value = (name: string): string | undefined =>
    new RegExp(`(?:^|;)\\s*${name}\\s*=\\s*([^;]*)`, 'iu').exec(connectionString)?.[1]?.trim();
  const suffix = value('EndpointSuffix') ?? 'core.windows.net';
  return value('BlobEndpoint') ?? `${value('AccountName') ?? ''}.blob.${suffix}`;
};

/** The container, by its account. */
const backendOf = ({ accountUrl, connectionString = '', container }: AzureOptions): string => {
  const account = (accountUrl ?? endpointIn(connectionString))
    .replace(/^https?:\/\//u, '')
    .replace(/\/+$/u, '');
  return `azure:${account}/${container}`;
};

/** A container of Azure Blob Storage as a source. */
export class AzureAdapter extends ObjectStoreAdapter {
  constructor(options: AzureOptions, root?: string) {
    super(new AzureObjects(options), { backend: backendOf(options), prefix: options.prefix, root });
  }
}
