import { spawn, type ChildProcess, type SpawnOptions } from 'node:child_process';
import { once } from 'node:events';
import { createServer, type AddressInfo } from 'node:net';
import { setTimeout as delay } from 'node:timers/promises';

/** A port of this machine that nobody uses now. */
export const freePort = async (): Promise<number> => {
  const server = createServer().listen(0, '127.0.0.1');
  await once(server, 'listening');
  const { port } = server.address() as AddressInfo;
  server.close();
  await once(server, 'close');
  return port;
};

/** Ends a process, if it has not ended yet, and waits until it has. */
export const endProcess = async (child: ChildProcess, signal: NodeJS.Signals = 'SIGTERM'): Promise<void> => {
  if (child.exitCode !== null || child.signalCode !== null) return;
  const ended = once(child, 'exit');
  child.kill(signal);
  await ended;
};

const START_LIMIT = 30_000;

/**
 * Waits until `ask` resolves, whatever to: the program answers. It is asked every so many milliseconds.
 * @throws Error when the program ends before, or does not answer within 30 s
 */
export const untilAnswers = async (
  child: ChildProcess,
  ask: () => Promise<unknown>,
  everyMs = 10,
): Promise<void> => {
  const end = Date.now() + START_LIMIT;
  for (;;) {
    try {
      await ask();
      return;
    } catch (error) {
      const [program] = child.spawnargs;
      if (child.exitCode !== null || child.signalCode !== null)
        throw new Error(`${String(program)} has ended with ${String(child.exitCode ?? child.signalCode)}.`);
      if (Date.now() > end) throw new Error(`${String(program)} does not answer.`, { cause: error });
      await delay(everyMs);
    }
  }
};

/** Starts a program that serves something, and waits until it answers `ask`. */
export const startServer = async (
  [command, ...args]: readonly [string, ...string[]],
  ask: () => Promise<unknown>,
  options: SpawnOptions = {},
): Promise<ChildProcess> => {
  const child = spawn(command, args, { stdio: 'ignore', ...options });
  try {
    await untilAnswers(child, ask);
  } catch (error) {
    await endProcess(child, 'SIGKILL');
    throw error;
  }
  return child;
};
