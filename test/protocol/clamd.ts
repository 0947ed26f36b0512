import type { ChildProcess } from 'node:child_process';
import { once } from 'node:events';
import { existsSync } from 'node:fs';
import { mkdir, mkdtemp, rm, writeFile } from 'node:fs/promises';
import { connect, createServer, type AddressInfo, type Socket } from 'node:net';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { onTestFinished } from 'vitest';
import { endProcess, freePort, startServer } from '../../tools/test-servers/server-processes.ts';

const CLAMD = '/usr/sbin/clamd';

/** Whether this machine has clamd; `needsClamd` goes into the title of what needs it. */
export const hasClamd = existsSync(CLAMD);
export const needsClamd = hasClamd ? '' : ' [left out: install the Debian package clamav-daemon]';

/** The text by which scanners are tried, in two halves: none of them shall find it in this file. */
export const EICAR = ['X5O!P%@AP[4\\PZX54(P^)7CC)7}', '$EICAR-STANDARD-ANTIVIRUS-TEST-FILE!$H+H*'].join('');
/** As clamd calls it by the signature that the tests give it. */
export const EICAR_NAME = 'Test.Eicar.UNOFFICIAL';

/** The largest stream that the clamd of the tests takes. */
export const MOST_STREAMED = 1024 ** 2;

export interface RunningClamd {
  /** `unix:…` and `tcp://…`. */
  readonly unix: string;
  readonly tcp: string;
  readonly child: ChildProcess;
  stop(): Promise<void>;
}

/** Starts clamd with a database of one signature. It answers within a moment. */
export const startClamd = async (): Promise<RunningClamd> => {
  const folder = await mkdtemp(join(tmpdir(), 'stowage-clamd-'));
  const [database, path, file] = [join(folder, 'db'), join(folder, 'clamd.sock'), join(folder, 'clamd.conf')];
  const port = await freePort();
  await mkdir(database);
  await writeFile(join(database, 'test.ndb'), `Test.Eicar:0:*:${Buffer.from(EICAR).toString('hex')}\n`);
  const lines = ['Foreground yes', `DatabaseDirectory ${database}`, `LocalSocket ${path}`];
  lines.push(`TCPSocket ${String(port)}`, 'TCPAddr 127.0.0.1', `StreamMaxLength ${String(MOST_STREAMED)}`);
  await writeFile(file, lines.join('\n'));
  const child = await startServer([CLAMD, '-c', file], async () => {
    const socket = connect(path);
    await once(socket, 'connect');
    socket.destroy();
  });
  const stop = async (): Promise<void> => {
    await endProcess(child, 'SIGKILL');
    await rm(folder, { recursive: true, force: true });
  };
  return { unix: `unix:${path}`, tcp: `tcp://127.0.0.1:${String(port)}`, child, stop };
};

/** Something that listens in place of clamd, until the test ends. Resolves `asked` at the first connection. */
export const startFalseClamd = async (
  talk: (socket: Socket) => void,
): Promise<{ readonly address: string; readonly asked: Promise<Socket> }> => {
  const sockets = new Set<Socket>();
  let tell: (socket: Socket) => void = () => undefined;
  const asked = new Promise<Socket>((resolve) => {
    tell = resolve;
  });
  const server = createServer((socket) => {
    sockets.add(socket);
    socket.on('error', () => undefined);
    tell(socket);
    talk(socket);
  }).listen(0, '127.0.0.1');
  await once(server, 'listening');
  onTestFinished(() => {
    for (const socket of sockets) socket.destroy();
    server.close();
  });
  return { address: `tcp://127.0.0.1:${String((server.address() as AddressInfo).port)}`, asked };
};
