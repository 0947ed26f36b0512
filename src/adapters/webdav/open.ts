import { SourcePath } from '../../storage/source-path.ts';
import { WebdavAdapter } from './adapter.ts';
import { DavClient } from './client.ts';
import type { WebdavOptions } from './options.ts';
import { Resources } from './resources.ts';
import { Store } from './store.ts';

/** Opens a store on a WebDAV server; asks the server nothing yet. `root` is a path below the collection of `url`. */
export const openWebdavAdapter = (options: WebdavOptions, root = ''): WebdavAdapter => {
  const client = new DavClient(options);
  const prefix = SourcePath.parse(root);
  const url = new URL(options.url);
  const base = new Resources(client, url, SourcePath.root);
  const resources = prefix.isRoot ? base : new Resources(client, url, prefix);
  return new WebdavAdapter(new Store(resources, base, prefix, options.timeout));
};
