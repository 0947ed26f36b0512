import { setTimeout } from 'node:timers/promises';

/** Pauses that double with every attempt. */
export interface Backoff {
  readonly firstMs: number;
  readonly longestMs: number;
}

/**
 * Waits before a request is sent again: longer with every attempt, and partly at random, so that clients that
 * failed together do not come back together.
 * @param attempt how often the request has been sent, from 1
 * @throws the signal's reason
 */
export const pause = async (
  attempt: number,
  { firstMs, longestMs }: Backoff,
  signal: AbortSignal | undefined,
): Promise<void> => {
  signal?.throwIfAborted();
  const most = Math.min(longestMs, firstMs * 2 ** (attempt - 1));
  const wait = most * (0.5 + Math.random() / 2);
  await setTimeout(wait, undefined, signal === undefined ? {} : { signal }).catch((error: unknown) => {
    signal?.throwIfAborted();
    throw error;
  });
};
