import { execFileSync } from 'node:child_process';
import { existsSync } from 'node:fs';
import { writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { openFtpAdapter, parseFtpOptions } from '../../packages/stowage/dist/internals.js';
import type { FtpAdapter } from '../../packages/stowage/dist/adapters/remote/ftp/adapter.js';
import { freePort } from './server-processes.ts';
import { login, startProftpd } from './proftpd.ts';
import { makeBase, ownedByRunner, runner, startProgram, type RunningServer } from './programs.ts';

/** A real FTP server on a free port of this machine. */
export interface FtpServer extends RunningServer {
  /** Options of a source for this server. */
  readonly options: {
    readonly host: string;
    readonly port: number;
    readonly username: string;
    readonly password: string;
    readonly directory?: string;
    readonly tls?: boolean;
    readonly ca?: string;
  };
  /** The folder on disk. */
  readonly data: string;
}

/** ProFTPD over FTP, or over FTPS with a self-signed certificate. */
export const startFtp = async (tls = false, directives = ''): Promise<FtpServer> => {
  const { ftpPort, certificate, data, ...server } = await startProftpd(directives);
  const options = { host: '127.0.0.1', port: ftpPort, ...login, directory: data };
  return { ...server, data, options: tls ? { ...options, tls, ca: certificate } : options };
};

const PYTHON = '/usr/bin/python3';
export const hasPyftpdlib = existsSync('/usr/lib/python3/dist-packages/pyftpdlib');

const PROGRAM = `
import sys
from pyftpdlib.authorizers import DummyAuthorizer
from pyftpdlib.handlers import FTPHandler
from pyftpdlib.servers import FTPServer
port, folder, username, password = sys.argv[1:]
FTPHandler.authorizer = DummyAuthorizer()
FTPHandler.authorizer.add_user(username, password, folder, perm='elradfmwMT')
FTPServer(('127.0.0.1', int(port)), FTPHandler).serve_forever()
`;

/** pyftpdlib, which lists links like their targets. */
export const startPyftpdlib = async (): Promise<FtpServer> => {
  const { base, data } = await makeBase();
  const port = await freePort();
  const program = join(base, 'server.py');
  await writeFile(program, PROGRAM);
  const args = [program, String(port), data, login.username, login.password];
  const server = await startProgram(base, PYTHON, args, [port]);
  return { ...server, data, options: { host: '127.0.0.1', port, ...login } };
};

const VSFTPD = fileURLToPath(new URL('../../.cache/vsftpd/usr/sbin/vsftpd', import.meta.url));

const runs = (program: string): boolean =>
  existsSync(program) && !execFileSync('ldd', [program]).toString().includes('not found');

/** vsftpd does not support MLSD, MLST and STAT with a path. */
export const hasVsftpd = runs(VSFTPD);

/** vsftpd without root: then it checks no passwords. */
export const startVsftpd = async (): Promise<FtpServer> => {
  const { base, data } = await makeBase();
  const port = await freePort();
  const settings = {
    listen: 'YES',
    listen_address: '127.0.0.1',
    listen_port: String(port),
    background: 'NO',
    run_as_launching_user: 'YES',
    anonymous_enable: 'YES',
    no_anon_password: 'NO',
    anon_root: data,
    ftp_username: runner.name,
    write_enable: 'YES',
    anon_upload_enable: 'YES',
    anon_mkdir_write_enable: 'YES',
    anon_other_write_enable: 'YES',
    anon_world_readable_only: 'NO',
    allow_writeable_chroot: 'YES',
    seccomp_sandbox: 'NO',
    isolate: 'NO',
    isolate_network: 'NO',
    xferlog_enable: 'NO',
    secure_chroot_dir: base,
  };
  const file = join(base, 'vsftpd.conf');
  const lines = Object.entries(settings).map(([name, value]) => `${name}=${value}\n`);
  await writeFile(file, lines.join(''));
  await ownedByRunner(file);
  const server = await startProgram(base, VSFTPD, [file], [port]);
  const options = { host: '127.0.0.1', port, username: 'anonymous', password: 'a@test', directory: data };
  return { ...server, data, options };
};

/** Opens a store of the built package on a server; `root` is a folder below its directory. */
export const openFtpStore = (
  { options: given }: Pick<FtpServer, 'options'>,
  options: object = {},
  root = '',
): FtpAdapter => {
  const parsed = parseFtpOptions({ ...given, ...options });
  if ('problems' in parsed) throw new Error(parsed.problems.join('; '));
  return openFtpAdapter(parsed.value, root);
};
