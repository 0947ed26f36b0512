import type { StorageFactory } from '../../storage/registry.ts';
import { parseWebdavOptions, type WebdavOptions } from './options.ts';

/** Makes stores on WebDAV servers; `storageAdapter: "webdav"`. */
export const webdavFactory: StorageFactory = {
  parseOptions: parseWebdavOptions,
  create: async ({ options, root }) => {
    // Its HTTP client and XML parser are a fifth of the start: only those wait for them who use them.
    const { openWebdavAdapter } = await import('./open.ts');
    // What `parseOptions` has returned.
    return openWebdavAdapter(options as WebdavOptions, root);
  },
};
