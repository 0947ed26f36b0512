import { existsSync } from 'node:fs';
import { writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { openFtpAdapter, parseFtpOptions } from '../../../dist/internals.js';
import type { FtpAdapter } from '../../../dist/adapters/ftp/adapter.js';
import { freePort } from '../../server-processes.ts';
import { login, startProftpd } from './proftpd.ts';
import { makeBase, startProgram, type RunningServer } from './programs.ts';

/** A real FTP server on a free port of this machine. */
export interface FtpServer extends RunningServer {
  /** What a source needs to reach it. */
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

/** ProFTPD by FTP, or by FTPS with the certificate that it has signed itself. */
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

/** pyftpdlib, which shows links as what they lead to. */
export const startPyftpdlib = async (): Promise<FtpServer> => {
  const { base, data } = await makeBase();
  const port = await freePort();
  const program = join(base, 'server.py');
  await writeFile(program, PROGRAM);
  const args = [program, String(port), data, login.username, login.password];
  const server = await startProgram(base, PYTHON, args, [port]);
  return { ...server, data, options: { host: '127.0.0.1', port, ...login } };
};

/** A store of the built package on a server; `root` is a folder below its directory. */
export const openFtpStore = (
  { options: given }: Pick<FtpServer, 'options'>,
  options: object = {},
  root = '',
): FtpAdapter => {
  const parsed = parseFtpOptions({ ...given, ...options });
  if ('problems' in parsed) throw new Error(parsed.problems.join('; '));
  return openFtpAdapter(parsed.value, root);
};
