import { SharedListings } from '../../remote-store/shared-listings.ts';
import type { StorageFactory } from '../../storage/registry.ts';
import { parseWebdavOptions, type WebdavOptions } from './options.ts';

/** Makes stores on WebDAV servers; `storageAdapter: "webdav"`. One factory per connector. */
export const createWebdavFactory = (): StorageFactory<WebdavOptions> => {
  const listings = new SharedListings();
  return {
    parseOptions: parseWebdavOptions,
    create: async ({ options, root }) => {
      // Its HTTP client and XML parser are a fifth of the start, which only sources of this kind wait for.
      const { openWebdavAdapter } = await import('./adapter.ts');
      return listings.shareIn(openWebdavAdapter(options, root));
    },
  };
};
