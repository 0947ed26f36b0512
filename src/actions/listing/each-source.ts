import { setMaxListeners } from 'node:events';
import type { Source } from '../../sources/source.ts';

/** Sources that are read at the same time. */
const AT_ONCE = 4;

/**
 * Does the work for every source, a few at a time, and gives the results in the order of the sources. The first failure rejects and
 * aborts the others.
 */
export const forEachSource = async <Result>(
  sources: readonly Source[],
  signal: AbortSignal,
  work: (source: Source, signal: AbortSignal) => Promise<Result>,
): Promise<readonly Result[]> => {
  const failed = new AbortController();
  const either = AbortSignal.any([signal, failed.signal]);
  // Every thumbnail that a listing waits for listens to it; their number has a bound of its own.
  setMaxListeners(0, either);
  const results: Result[] = [];
  const waiting = sources.entries();
  const takeTurns = async (): Promise<void> => {
    for (const [index, source] of waiting) {
      either.throwIfAborted();
      results[index] = await work(source, either);
    }
  };
  try {
    await Promise.all(Array.from({ length: Math.min(AT_ONCE, sources.length) }, takeTurns));
  } catch (error) {
    failed.abort(error);
    throw error;
  }
  return results;
};
