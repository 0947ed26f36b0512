import { existsSync, mkdirSync } from 'node:fs';
import { join } from 'node:path';
import { root, run } from './process.mjs';

const folder = join(root, '.cache', 'vsftpd');

/** Path that tests use. */
const program = join(folder, 'usr/sbin/vsftpd');

/**
 * Unpacks vsftpd in a separate folder: Debian allows only one installed FTP server, and tests also use
 * another one. Returns what is skipped without it.
 */
export const unpackVsftpd = async (permitted) => {
  if (!existsSync(program) && permitted) {
    mkdirSync(folder, { recursive: true });
    const steps = 'cd "$1" && apt-get download -q vsftpd && dpkg-deb --extract vsftpd_*.deb .';
    await run('sh', ['-c', steps, 'sh', folder]);
  }
  return existsSync(program) ? [] : ['vsftpd could not be unpacked. Left out: the ftp adapter on vsftpd'];
};
