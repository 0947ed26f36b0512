import { createNameLocks } from '../../concurrency/name-locks.ts';
import { SharedListings } from '../../remote-store/shared-listings.ts';
import type { StorageFactory } from '../../storage/registry.ts';
import { parseFtpOptions, type FtpOptions } from './options.ts';

/**
 * Makes stores on FTP servers; `storageAdapter: "ftp"`. Needs the npm package `basic-ftp` at the first
 * request. One factory per connector, whose stores share their locks: the server does not decide who has a
 * new name.
 */
export const createFtpFactory = (): StorageFactory<FtpOptions> => {
  const listings = new SharedListings();
  const locks = createNameLocks();
  return {
    parseOptions: parseFtpOptions,
    create: async ({ options, root }) => {
      const { openFtpAdapter } = await import('./adapter.ts');
      return listings.shareIn(openFtpAdapter(options, root, locks));
    },
  };
};
