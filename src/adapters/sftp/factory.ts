import { SharedListings } from '../../remote-store/shared-listings.ts';
import type { StorageFactory } from '../../storage/registry.ts';
import { parseSftpOptions, type SftpOptions } from './options.ts';

/**
 * Makes stores on SFTP servers; `storageAdapter: "sftp"`. Needs the npm package `ssh2` at the first request.
 * One factory per connector.
 */
export const createSftpFactory = (): StorageFactory<SftpOptions> => {
  const listings = new SharedListings();
  return {
    parseOptions: parseSftpOptions,
    create: async ({ options, root }) => {
      const { openSftpAdapter } = await import('./adapter.ts');
      return listings.shareIn(openSftpAdapter(options, root));
    },
  };
};
