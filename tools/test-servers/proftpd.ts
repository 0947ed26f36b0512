import { execFileSync } from 'node:child_process';
import { existsSync } from 'node:fs';
import { chmod, readFile, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { freePort } from './server-processes.ts';
import { makeBase, ownedByRunner, runner, startProgram } from './programs.ts';
import type { SftpServer } from './ssh.ts';

export const hasProftpd = existsSync('/usr/sbin/proftpd') && existsSync('/usr/lib/proftpd/mod_sftp.so');

export const login = { username: 'ann', password: 'secret' } as const;

/** ProFTPD with SFTP and, on another port, FTP with optional explicit TLS. */
export interface Proftpd extends SftpServer {
  readonly ftpPort: number;
  /** The self-signed certificate of the FTP server. */
  readonly certificate: string;
}

const keepPrivate = async (path: string, content?: string): Promise<void> => {
  if (content !== undefined) await writeFile(path, content);
  await chmod(path, 0o600);
  await ownedByRunner(path);
};

const openssl = (args: readonly string[]): string =>
  execFileSync('openssl', args, { stdio: ['ignore', 'pipe', 'ignore'] }).toString();

/** Starts it with one user of its own; `directives` are further lines for both protocols. */
export const startProftpd = async (directives = ''): Promise<Proftpd> => {
  const { base, data } = await makeBase();
  const [port, ftpPort] = [await freePort(), await freePort()];
  const hash = openssl(['passwd', '-6', login.password]).trim();
  const ids = `${String(runner.uid)}:${String(runner.gid)}`;
  await keepPrivate(join(base, 'users'), `${login.username}:${hash}:${ids}::${data}:/bin/false\n`);
  await keepPrivate(join(base, 'groups'), `users:x:${String(runner.gid)}:${login.username}\n`);
  const host = join(base, 'host');
  execFileSync('ssh-keygen', ['-q', '-t', 'rsa', '-b', '2048', '-m', 'PEM', '-N', '', '-C', '', '-f', host]);
  await keepPrivate(host);
  const [key, certificate] = [join(base, 'tls.key'), join(base, 'tls.pem')];
  openssl([
    ...['req', '-x509', '-newkey', 'rsa:2048', '-nodes', '-days', '2', '-subj', '/CN=127.0.0.1'],
    ...['-addext', 'subjectAltName=IP:127.0.0.1', '-keyout', key, '-out', certificate],
  ]);
  await keepPrivate(key);
  const users = [
    'AuthOrder mod_auth_file.c',
    `AuthUserFile ${base}/users`,
    `AuthGroupFile ${base}/groups`,
    'RequireValidShell off',
    'AllowOverwrite on',
    directives,
  ];
  const lines = [
    'ModulePath /usr/lib/proftpd',
    'LoadModule mod_tls.c',
    'LoadModule mod_sftp.c',
    'ServerName tests',
    'ServerType standalone',
    'DefaultServer on',
    `Port ${String(ftpPort)}`,
    'DefaultAddress 127.0.0.1',
    'SocketBindTight on',
    'UseIPv6 off',
    'UseReverseDNS off',
    `PidFile ${base}/pid`,
    'ScoreboardFile none',
    'AllowOverride off',
    `SystemLog ${base}/log`,
    'TransferLog none',
    'WtmpLog off',
    'DelayEngine off',
    `User ${runner.name}`,
    `Group ${runner.group}`,
    'MaxInstances 60',
    'TLSEngine on',
    `TLSRSACertificateFile ${certificate}`,
    `TLSRSACertificateKeyFile ${key}`,
    `TLSLog ${base}/tls.log`,
    ...users,
    '<VirtualHost 127.0.0.1>',
    `Port ${String(port)}`,
    'TLSEngine off',
    'SFTPEngine on',
    `SFTPHostKey ${host}`,
    'SFTPAuthMethods password',
    `SFTPLog ${base}/sftp.log`,
    ...users,
    '</VirtualHost>',
  ];
  await writeFile(join(base, 'proftpd.conf'), `${lines.join('\n')}\n`);
  const started = await startProgram(
    base,
    '/usr/sbin/proftpd',
    ['-n', '-c', join(base, 'proftpd.conf')],
    [port, ftpPort],
  );
  const options = {
    host: '127.0.0.1',
    port,
    ...login,
    directory: data,
    hostKey: await readFile(`${host}.pub`, 'utf8'),
  };
  return { ...started, options, data, base, ftpPort, certificate: await readFile(certificate, 'utf8') };
};
