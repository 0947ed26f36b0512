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

/** Azure drops dots at the end of segments: `private./a` is `private/a`, but other access rules apply to it. */
const isAlias = (segment: string): boolean => segment.endsWith('.');

export class AzureAdapter extends ObjectStoreAdapter {
  constructor(options: AzureOptions, root?: string) {
    const backend = backendOf(options);
    super(new AzureObjects(options), { backend, prefix: options.prefix, root, isAlias });
  }
}
