import { execFileSync } from 'node:child_process';
import { existsSync } from 'node:fs';
import { readFile, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { openSftpAdapter, parseSftpOptions } from '../../packages/stowage/dist/internals.js';
import type { SftpAdapter } from '../../packages/stowage/dist/adapters/remote/sftp/adapter.js';
import { freePort } from './server-processes.ts';
import { makeBase, ownedByRunner, runner, startProgram, type RunningServer } from './programs.ts';

/** A real SFTP server on a free port of this machine. */
export interface SftpServer extends RunningServer {
  /** Options of a source for this server. */
  readonly options: {
    readonly host: string;
    readonly port: number;
    readonly username: string;
    readonly directory: string;
    readonly hostKey: string;
    readonly password?: string;
    readonly privateKey?: string;
  };
  /** The folder on disk. */
  readonly data: string;
  /** Folder of the keys. */
  readonly base: string;
}

export const hasSshd = existsSync('/usr/sbin/sshd') && existsSync('/usr/bin/ssh-keygen');

/** Generates a key pair; returns the path of the private key. */
export const makeKey = async (base: string, name: string, passphrase = ''): Promise<string> => {
  const path = join(base, name);
  execFileSync('ssh-keygen', ['-q', '-t', 'ed25519', '-N', passphrase, '-C', name, '-f', path]);
  await ownedByRunner(path);
  return path;
};

/**
 * OpenSSH. `denied` are unsupported requests, such as `posix-rename`; `directives` are further lines of its
 * configuration.
 */
export const startSshd = async (denied: readonly string[] = [], directives = ''): Promise<SftpServer> => {
  const { base, data } = await makeBase();
  const port = await freePort();
  const [host, login] = [await makeKey(base, 'host'), await makeKey(base, 'login')];
  await writeFile(join(base, 'authorized'), await readFile(`${login}.pub`));
  const lines = [
    `Port ${String(port)}`,
    'ListenAddress 127.0.0.1',
    `HostKey ${host}`,
    `PidFile ${base}/pid`,
    `AuthorizedKeysFile ${base}/authorized`,
    'StrictModes no',
    'UsePAM no',
    'PasswordAuthentication no',
    'KbdInteractiveAuthentication no',
    'MaxStartups 100',
    `Subsystem sftp internal-sftp${denied.length === 0 ? '' : ` -P ${denied.join(',')}`}`,
    directives,
  ];
  await writeFile(join(base, 'sshd.conf'), `${lines.join('\n')}\n`);
  const server = await startProgram(base, '/usr/sbin/sshd', ['-D', '-f', join(base, 'sshd.conf')], [port]);
  const options = {
    host: '127.0.0.1',
    port,
    username: runner.name,
    directory: data,
    hostKey: await readFile(`${host}.pub`, 'utf8'),
    privateKey: await readFile(login, 'utf8'),
  };
  return { ...server, options, data, base };
};

/** Opens a store of the built package on a server; `root` is a folder below its directory. */
export const openSftpStore = (
  server: Pick<SftpServer, 'options'>,
  options: object = {},
  root = '',
): SftpAdapter => {
  const parsed = parseSftpOptions({ ...server.options, ...options });
  if ('problems' in parsed) throw new Error(parsed.problems.join('; '));
  return openSftpAdapter(parsed.value, root);
};

export const hasRclone = existsSync('/usr/bin/rclone') && hasSshd;

/**
 * rclone: it confirms the creation of links without creating them, and cannot rename a folder onto an empty
 * one.
 */
export const startRcloneSftp = async (): Promise<SftpServer> => {
  const { base, data } = await makeBase();
  const port = await freePort();
  const [host, login] = [await makeKey(base, 'host'), await makeKey(base, 'login')];
  const address = ['--addr', `127.0.0.1:${String(port)}`];
  const keys = ['--key', host, '--authorized-keys', `${login}.pub`, '--config', join(base, 'none.conf')];
  // It can write at arbitrary positions only with a cache of writes.
  const cache = ['--cache-dir', join(base, 'cache'), '--vfs-cache-mode', 'writes', '--vfs-write-back', '0s'];
  const args = ['serve', 'sftp', data, ...address, ...keys, ...cache, '--dir-cache-time', '0s'];
  const server = await startProgram(base, '/usr/bin/rclone', args, [port]);
  const options = {
    host: '127.0.0.1',
    port,
    username: runner.name,
    directory: '/',
    hostKey: await readFile(`${host}.pub`, 'utf8'),
    privateKey: await readFile(login, 'utf8'),
  };
  return { ...server, options, data, base };
};
