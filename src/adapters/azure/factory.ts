import { SharedListings } from '../../remote-store/shared-listings.ts';
import type { StorageFactory } from '../../storage/registry.ts';
import { parseAzureOptions, type AzureOptions } from './options.ts';

/**
 * Makes stores in containers of Azure; `storageAdapter: "azure"`. Needs the npm package `@azure/storage-blob`
 * at the first request, and `@azure/identity` where neither a key nor a signature is given.
 */
export const createAzureFactory = (): StorageFactory<AzureOptions> => {
  const listings = new SharedListings();
  return {
    parseOptions: parseAzureOptions,
    create: async ({ options, root }) => {
      const { AzureAdapter } = await import('./adapter.ts');
      return listings.shareIn(new AzureAdapter(options, root));
    },
  };
};
