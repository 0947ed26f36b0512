import type { StorageFactory } from '../../storage/registry.ts';
import { parseWebdavOptions, type WebdavOptions } from './options.ts';

/** Makes stores on WebDAV servers; `storageAdapter: "webdav"`. */
export const webdavFactory: StorageFactory<WebdavOptions> = {
  parseOptions: parseWebdavOptions,
  create: async ({ options, root }) => {
    // Its HTTP client and XML parser are a fifth of the start, which only sources of this kind wait for.
    const { openWebdavAdapter } = await import('./adapter.ts');
    return openWebdavAdapter(options, root);
  },
};
