import { constants } from 'node:os';
import { setTimeout as wait } from 'node:timers/promises';
import type { Worker } from 'node:worker_threads';
import { readProgramEnvironment } from '../config/environment.ts';

/**
 * Turns the process into one that exits immediately: the kernel ends its threads, also in the first process of a
 * container, which its own signals do not end. Returns where Node.js cannot: before 22.15, and on Windows.
 */
const replaceByExit = (status: number): void => {
  const execve: unknown = Reflect.get(process, 'execve');
  if (typeof execve !== 'function') return;
  try {
    const words = [process.execPath, '-e', `process.exit(${String(status)})`];
    // The new process must not start in a folder of a disk that hangs.
    process.chdir('/');
    Reflect.apply(execve, process, [process.execPath, words, readProgramEnvironment()]);
  } catch {
    // Windows, and the permission model of Node.js.
  }
};

/**
 * Ends the process as the signal does by itself: `process.exit` would wait for threads, and for one that hangs at a
 * disk as long as the disk does.
 */
export const endBy = (signal: NodeJS.Signals): never => {
  const status = 128 + constants.signals[signal];
  process.removeAllListeners(signal);
  process.kill(process.pid, signal);
  replaceByExit(status);
  return process.exit(status);
};

/** A signal within this time after another is the same one: npm passes on what the terminal has sent to both. */
const SAME_MS = 1000;

/**
 * Calls `stop` at the first SIGTERM or SIGINT; a later one ends the process immediately. Returns a function that
 * stops listening.
 */
export const onStop = (stop: (signal: NodeJS.Signals) => void): (() => void) => {
  let stoppedAt: number | undefined;
  const listen = (signal: NodeJS.Signals): void => {
    if (stoppedAt !== undefined && performance.now() - stoppedAt > SAME_MS) endBy(signal);
    if (stoppedAt !== undefined) return;
    stoppedAt = performance.now();
    stop(signal);
  };
  process.on('SIGINT', listen).on('SIGTERM', listen);
  return () => void process.off('SIGINT', listen).off('SIGTERM', listen);
};

/** Calls of the file system and of the resolver of names. */
const isInCall = (): boolean =>
  process.getActiveResourcesInfo().some((name) => /Req(?:Callback|Promise|Wrap)$/u.test(name));

/**
 * Returns a function that ends the process with a status. Where a thread still hangs after a second, and Node.js
 * cannot replace the process, it ends by SIGTERM.
 */
export const createEnd = (): ((status: number) => Promise<never>) => {
  const workers = new Set<Worker>();
  process.on('worker', (worker) => {
    workers.add(worker);
    worker.once('exit', () => workers.delete(worker));
  });
  const isHeld = (): boolean => workers.size > 0 || isInCall();
  return async (status) => {
    for (const worker of workers) void worker.terminate();
    const latest = performance.now() + 1000;
    while (isHeld() && performance.now() < latest) await wait(20);
    if (!isHeld()) return process.exit(status);
    replaceByExit(status);
    return endBy('SIGTERM');
  };
};
