import { SharedListings } from '../../remote-store/shared-listings.ts';
import type { StorageFactory } from '../../storage/registry.ts';
import { KnownServices } from './known-services.ts';
import { parseS3Options, type S3Options } from './options.ts';

/**
 * Makes stores in buckets; `storageAdapter: "s3"`. Needs the npm package `@aws-sdk/client-s3` at the first
 * request. The stores share what they learn of services: one factory per connector.
 */
export const createS3Factory = (): StorageFactory<S3Options> => {
  const services = new KnownServices();
  const listings = new SharedListings();
  return {
    parseOptions: parseS3Options,
    create: async ({ options, root }) => {
      const { S3Adapter } = await import('./adapter.ts');
      return listings.shareIn(new S3Adapter(options, root, services));
    },
  };
};
