import type { StorageFactory } from '../../storage/registry.ts';
import { parseWebdavOptions, type WebdavOptions } from './options.ts';

/** Makes stores on WebDAV servers; `storageAdapter: "webdav"`. */
export const webdavFactory: StorageFactory = {
  parseOptions: parseWebdavOptions,
  create: async ({ options, root }) => {
    // Its HTTP client and XML parser are a fifth of the start, which only sources of this kind wait for.
    const { openWebdavAdapter } = await import('./adapter.ts');
    // What `parseOptions` has returned.
    return openWebdavAdapter(options as WebdavOptions, root);
  },
};
