import { posix } from 'node:path';
import { createNameLocks, type NameLocks } from '../../../basics/concurrency/name-locks.ts';
import { PathAdapter } from '../paths/adapter.ts';
import { SourcePath } from '../../../storage/source-path.ts';
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
  const server = `${host}:${String(port)}`;
  // By the last name alone: directories may be spelled in several ways, and logins have roots of their own.
  const keyOf = ({ name }: SourcePath): string => `${server}/${name}`;
  const store = new Store(options, prefix, { locks, keyOf });
  const folders = posix
    .join('/', directory, ...prefix.segments)
    .split('/')
    .filter(Boolean);
  // Logins may begin in different folders.
  const isAbsolute = directory.startsWith('/');
  const backend = `ftp:${username}@${server}${isAbsolute ? '' : ':~'}`;
  return new PathAdapter(store, { backend, root: folders });
};
