import { execFileSync, spawn, type ChildProcess } from 'node:child_process';
import { mkdtemp, rm } from 'node:fs/promises';
import { connect, createServer, type AddressInfo, type Socket } from 'node:net';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { pipeline } from 'node:stream';
import { Redis } from 'ioredis';
import { onTestFinished } from 'vitest';
import { endProcess, freePort } from '../../tools/test-servers/server-processes.ts';

/** Why no Redis can be started here; undefined: it can. */
export const redisMissing = ((): string | undefined => {
  try {
    execFileSync('redis-server', ['--version'], { stdio: 'ignore' });
    return undefined;
  } catch {
    return 'redis-server is not installed';
  }
})();

/** A Redis of its own that keeps what it was told, for one test. */
export interface RedisServer {
  readonly url: string;
  /** What lies in it, past the service. */
  readonly client: Redis;
  stop(): Promise<void>;
  start(): Promise<void>;
  /** Keeps its connections, and answers nothing more. */
  fallSilent(): void;
}

/** An address that leads to one Redis, and to another one for whoever comes after `leadTo`. */
export interface MovingAddress {
  readonly url: string;
  leadTo(redis: RedisServer): void;
  /** Loses what comes on the connections that are there, and closes none, as where a host or a NAT is gone. */
  forgetConnections(): void;
}

/** Starts one, which ends with the test. What is connected stays with the Redis that it has reached. */
export const startMovingAddress = async (first: RedisServer): Promise<MovingAddress> => {
  let target = Number(new URL(first.url).port);
  const sockets = new Set<Socket>();
  const server = createServer((socket) => {
    const onward = connect(target, '127.0.0.1');
    for (const one of [socket, onward]) {
      sockets.add(one);
      one.on('close', () => sockets.delete(one));
    }
    // Either end may go first.
    pipeline(socket, onward, socket, () => undefined);
  });
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve));
  onTestFinished(() => {
    server.close();
    for (const socket of sockets) socket.destroy();
  });
  return {
    url: `redis://127.0.0.1:${String((server.address() as AddressInfo).port)}`,
    leadTo: ({ url }) => {
      target = Number(new URL(url).port);
    },
    forgetConnections: () => {
      for (const socket of sockets) socket.pause();
    },
  };
};

/** Starts one, which ends with the test. */
export const startRedis = async (): Promise<RedisServer> => {
  const folder = await mkdtemp(join(tmpdir(), 'stowage-redis-'));
  const port = await freePort();
  const words = ['--port', String(port), '--bind', '127.0.0.1', '--save', ''];
  words.push('--appendonly', 'yes', '--appendfsync', 'always', '--repl-diskless-sync-delay', '0');
  let child: ChildProcess | undefined;
  const start = async (): Promise<void> => {
    const started = spawn('redis-server', words, { cwd: folder, stdio: ['ignore', 'pipe', 'ignore'] });
    child = started;
    await new Promise<void>((resolve, reject) => {
      let said = '';
      started.stdout.setEncoding('utf8').on('data', (text: string) => {
        said += text;
        if (said.includes('Ready to accept connections')) resolve();
      });
      started.on('exit', () => reject(new Error(`redis-server has ended: ${said}`)));
    });
  };
  const stop = async (): Promise<void> => {
    if (child !== undefined) await endProcess(child, 'SIGKILL');
  };
  await start();
  const url = `redis://127.0.0.1:${String(port)}`;
  const client = new Redis(url);
  client.on('error', () => undefined);
  onTestFinished(async () => {
    client.disconnect();
    await stop();
    await rm(folder, { recursive: true, force: true });
  });
  const fallSilent = (): void => void child?.kill('SIGSTOP');
  return { url, client, start, stop, fallSilent };
};
