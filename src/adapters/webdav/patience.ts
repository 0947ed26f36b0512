import { setTimeout } from 'node:timers/promises';

const ATTEMPTS = 8;
const LONGEST_PAUSE_MS = 250;

/** Longer with every attempt, and at random, so that racers part. @throws the signal's reason */
export const pause = async (attempt: number, signal: AbortSignal | undefined): Promise<void> => {
  const most = Math.min(LONGEST_PAUSE_MS, 15 * 2 ** attempt);
  const wait = most * (0.5 + Math.random() / 2);
  await setTimeout(wait, undefined, signal === undefined ? {} : { signal }).catch((error: unknown) => {
    signal?.throwIfAborted();
    throw error;
  });
};

/** How long a refusal is taken for a passing one. */
export interface Patience {
  /** Whether a status may be another one in a moment. */
  readonly isPassing: (status: number) => boolean;
  /** Asked before each repetition; false: it makes no sense any more, and the refusal stands. */
  readonly again?: (() => Promise<boolean>) | undefined;
  readonly signal: AbortSignal | undefined;
}

/**
 * Sends until the status is no passing refusal: eight times at most, within about a second and the server's own time.
 * @throws the signal's reason, and what `send` and `again` throw
 */
export const patiently = async (
  send: () => Promise<number>,
  { isPassing, again, signal }: Patience,
): Promise<number> => {
  let status = await send();
  for (let attempt = 1; attempt < ATTEMPTS && isPassing(status); attempt += 1) {
    await pause(attempt, signal);
    if (again !== undefined && !(await again())) return status;
    status = await send();
  }
  return status;
};
