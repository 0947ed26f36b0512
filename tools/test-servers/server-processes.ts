import { randomInt } from 'node:crypto';
import { spawn, type ChildProcess, type SpawnOptions } from 'node:child_process';
import { once } from 'node:events';
import { createServer } from 'node:net';
import { setTimeout as delay } from 'node:timers/promises';

// Below the range of ephemeral ports, and different for each worker of a run: a port that was just found free
// stays free until its server starts.
const FIRST_PORT = 10_000;
const PORTS_OF_WORKER = 2500;
const WORKER = Number(process.env['VITEST_POOL_ID'] ?? 0) % 8;
let next = randomInt(PORTS_OF_WORKER);

/** A free port of this machine. */
export const freePort = async (): Promise<number> => {
  for (;;) {
    next = (next + 1) % PORTS_OF_WORKER;
    const port = FIRST_PORT + WORKER * PORTS_OF_WORKER + next;
    const server = createServer().listen(port, '127.0.0.1');
    const isFree = await once(server, 'listening').then(
      () => true,
      () => false,
    );
    if (!isFree) continue;
    server.close();
    await once(server, 'close');
    return port;
  }
};

/** Ends a process if it is running, and waits until it has ended. */
export const endProcess = async (child: ChildProcess, signal: NodeJS.Signals = 'SIGTERM'): Promise<void> => {
  if (child.exitCode !== null || child.signalCode !== null) return;
  const ended = once(child, 'exit');
  child.kill(signal);
  await ended;
};

const START_LIMIT = 30_000;

/**
 * Waits until `ask` resolves, with any value, which shows that the program responds; retries it at an
 * interval.
 * @throws Error when the program ends before, or does not respond within 30 s
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

/** Starts a server, and waits until `ask` succeeds. */
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
