import { createNameLocks, type NameLocks } from '../../concurrency/name-locks.ts';
import { PathAdapter } from '../../remote-store/paths/adapter.ts';
import { SourcePath } from '../../storage/source-path.ts';
import type { FtpOptions } from './options.ts';
import type { Session } from './session.ts';
import { Store } from './store.ts';

/** A store on an FTP server. */
export type FtpAdapter = PathAdapter<Session>;

/**
 * Opens a store on an FTP server; asks the server nothing yet. `root` is a path below the directory. Stores
 * that share their `locks` let one of several writers have a new name.
 */
export const openFtpAdapter = (
  options: FtpOptions,
  root = '',
  locks: NameLocks = createNameLocks(),
): FtpAdapter => {
  const { host, port, username, directory } = options;
  const prefix = SourcePath.parse(root);
  const folders = [...directory.split('/').filter((segment) => segment !== ''), ...prefix.segments];
  const isAbsolute = directory.startsWith('/');
  const server = `${host}:${String(port)}${isAbsolute ? '' : ':~'}`;
  const store = new Store(options, prefix, { locks, prefix: [server, ...folders, ''].join('/') });
  // Logins may have roots of their own, and begin in different folders.
  return new PathAdapter(store, { backend: `ftp:${username}@${server}`, root: folders });
};
