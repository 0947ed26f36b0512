import { SharedListings } from '../../remote-store/shared-listings.ts';
import type { StorageFactory } from '../../storage/registry.ts';
import { parseGcsOptions, type GcsOptions } from './options.ts';

/**
 * Makes stores in buckets of Google Cloud Storage; `storageAdapter: "gcs"`. Needs the npm package
 * `google-auth-library` at the first request, unless the source is anonymous.
 */
export const createGcsFactory = (): StorageFactory<GcsOptions> => {
  const listings = new SharedListings();
  return {
    parseOptions: parseGcsOptions,
    create: async ({ options, root }) => {
      const { GcsAdapter } = await import('./adapter.ts');
      return listings.shareIn(new GcsAdapter(options, root));
    },
  };
};
