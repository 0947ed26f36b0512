import type { ChildProcess } from 'node:child_process';
import { existsSync } from 'node:fs';
import { writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { startServer } from '../../tools/test-servers/server-processes.ts';

const NGINX = '/usr/sbin/nginx';

/** Whether this machine has nginx; `needsNginx` goes into the title of what needs it. */
export const hasNginx = existsSync(NGINX);
export const needsNginx = hasNginx ? '' : ' [left out: install the Debian package nginx]';

/** Starts nginx, with all of its files in the folder, and waits until it answers. `http` is what its block `http` holds. */
export const startNginx = async (
  folder: string,
  http: string,
  ask: () => Promise<unknown>,
): Promise<ChildProcess> => {
  const kinds = ['client_body', 'proxy', 'fastcgi', 'uwsgi', 'scgi'];
  const directories = kinds.map((kind) => `${kind}_temp_path ${join(folder, kind)};`).join('\n');
  const file = join(folder, 'nginx.conf');
  await writeFile(
    file,
    `${process.getuid?.() === 0 ? 'user root;' : ''}
    daemon off; worker_processes 1; pid ${join(folder, 'pid')}; error_log ${join(folder, 'error.log')} warn;
    events {}
    http { access_log off; ${directories} ${http} }`,
  );
  return startServer([NGINX, '-p', folder, '-c', file], ask);
};
