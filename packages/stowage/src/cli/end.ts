import { constants } from 'node:os';
import { setTimeout as wait } from 'node:timers/promises';

/**
 * Ends the process as the signal does by itself: `process.exit` would wait for threads, and for one that hangs at a
 * disk as long as the disk does.
 */
export const endBy = (signal: NodeJS.Signals): never => {
  process.removeAllListeners(signal);
  process.kill(process.pid, signal);
  // The first process of a container is not ended by its own signals.
  return process.exit(128 + constants.signals[signal]);
};

/** Calls of the file system and of the resolver of names, and workers that were told to end and have not. */
const isHeld = (): boolean =>
  process.getActiveResourcesInfo().some((name) => /Req(?:Callback|Promise|Wrap)$|^MessagePort$/u.test(name));

/** Ends the process with a status, or by SIGTERM where a thread still hangs after a second. */
export const end = async (status: number): Promise<never> => {
  const latest = performance.now() + 1000;
  while (isHeld() && performance.now() < latest) await wait(20);
  return isHeld() ? endBy('SIGTERM') : process.exit(status);
};
