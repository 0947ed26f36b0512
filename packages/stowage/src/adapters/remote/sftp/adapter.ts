import { PathAdapter } from '../paths/adapter.ts';
import { SourcePath } from '../../../storage/source-path.ts';
import type { SftpOptions } from './options.ts';
import type { Session } from './session.ts';
import { Store } from './store.ts';

/** A store on an SFTP server. */
export type SftpAdapter = PathAdapter<Session>;

/** Opens a store on an SFTP server; asks the server nothing yet. `root` is a path below the directory. */
export const openSftpAdapter = (options: SftpOptions, root = ''): SftpAdapter => {
  const { host, port, username, directory } = options;
  const prefix = SourcePath.parse(root);
  const isAbsolute = directory.startsWith('/');
  return new PathAdapter(new Store(options, prefix), {
    // Logins may have roots of their own, and begin in different folders.
    backend: `sftp:${username}@${host}:${String(port)}${isAbsolute ? '' : ':~'}`,
    root: [...directory.split('/').filter((segment) => segment !== ''), ...prefix.segments],
  });
};
