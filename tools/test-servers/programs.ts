import { execFileSync, spawn, type ChildProcess } from 'node:child_process';
import { existsSync, readFileSync } from 'node:fs';
import { chmod, chown, mkdir, mkdtemp, rm } from 'node:fs/promises';
import { connect } from 'node:net';
import { tmpdir } from 'node:os';
import { join } from 'node:path';

const isRoot = process.getuid?.() === 0;

const idOf = (flag: string, user = 'www-data'): number => Number(execFileSync('id', [flag, user]).toString());

/** The user that runs test servers: an unprivileged one, also when root starts them. */
export const runner = isRoot
  ? { name: 'www-data', group: 'www-data', uid: idOf('-u'), gid: idOf('-g') }
  : {
      name: execFileSync('id', ['-un']).toString().trim(),
      group: execFileSync('id', ['-gn']).toString().trim(),
      uid: process.getuid?.() ?? 0,
      gid: process.getgid?.() ?? 0,
    };

/** Changes the owner of a file or folder to the user of the servers. */
export const ownedByRunner = async (path: string): Promise<void> => {
  if (isRoot) await chown(path, runner.uid, runner.gid);
};

/** Creates a folder for a server, with `data` in it, owned by the server's user. */
export const makeBase = async (): Promise<{ readonly base: string; readonly data: string }> => {
  // In memory, because flushing to disk would dominate the time of the tests.
  const memory = existsSync('/dev/shm') ? '/dev/shm' : tmpdir();
  const base = await mkdtemp(join(memory, 'stowage-server-'));
  const data = join(base, 'data');
  await mkdir(data);
  await chmod(base, 0o755);
  for (const path of [base, data]) await ownedByRunner(path);
  return { base, data };
};

const answers = (port: number): Promise<boolean> =>
  new Promise((resolve) => {
    const socket = connect(port, '127.0.0.1');
    socket.once('connect', () => resolve(true)).once('error', () => resolve(false));
    socket.once('connect', () => socket.destroy());
  });

/** A server process that listens on its ports. */
export interface RunningServer {
  /** Kills it and its descendants immediately. */
  kill(): Promise<void>;
  /** The same, and removes its folder. */
  stop(): Promise<void>;
}

/** Child processes; empty if the process has just ended. */
const childrenOf = (pid: number): readonly number[] => {
  try {
    const listed = readFileSync(`/proc/${String(pid)}/task/${String(pid)}/children`, 'utf8');
    return listed.split(' ').filter(Boolean).map(Number);
  } catch {
    return [];
  }
};

/** A process and all its descendants: servers put sessions into their own groups. */
const withDescendants = (pid: number): readonly number[] => [
  pid,
  ...childrenOf(pid).flatMap(withDescendants),
];

const endAll = ({ pid }: ChildProcess): void => {
  for (const one of pid === undefined ? [] : withDescendants(pid)) {
    try {
      process.kill(one, 'SIGKILL');
    } catch {
      // It has ended.
    }
  }
};

/** Starts a program as `runner`, and waits until it listens on its ports. */
export const startProgram = async (
  base: string,
  command: string,
  args: readonly string[],
  ports: readonly number[],
): Promise<RunningServer> => {
  const child = spawn(command, args, {
    stdio: 'ignore',
    // A folder that it may enter; the current one may be private.
    cwd: base,
    ...(isRoot ? { uid: runner.uid, gid: runner.gid } : {}),
  });
  const ended = new Promise<void>((resolve) => child.once('exit', () => resolve()));
  for (const port of ports) {
    for (let attempt = 0; !(await answers(port)); attempt += 1) {
      if (child.exitCode !== null || attempt === 400) throw new Error(`${command} did not start`);
      await new Promise((resolve) => setTimeout(resolve, 10));
    }
  }
  const kill = async (): Promise<void> => {
    endAll(child);
    await ended;
  };
  return {
    kill,
    stop: async () => {
      await kill();
      // Processes of connections may end a moment later.
      await rm(base, { recursive: true, force: true, maxRetries: 5, retryDelay: 100 });
    },
  };
};
