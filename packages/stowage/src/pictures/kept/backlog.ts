/** Work that goes on after answers: one piece at a time, each key once. */
export interface Backlog {
  /**
   * Takes a piece of work, which begins when nothing new has come for a moment, so that requests go first.
   * `release` is called when it has ended, or immediately when it is not taken: because the key waits
   * already, or because too much waits.
   */
  add(key: string, work: (signal: AbortSignal) => Promise<void>, release: () => void): void;
  /** Gives up what waits, aborts what runs, and resolves when it has ended. */
  close(): Promise<void>;
}

/** Waiting pieces; each is a folder. */
const MAX_WAITING = 100;
/** The client that lists a folder goes on to its next page, or asks for its pictures. */
const QUIET_MS = 2000;

interface Piece {
  readonly work: (signal: AbortSignal) => Promise<void>;
  readonly release: () => void;
}

/** Makes an empty backlog. Its timer does not keep the process alive. */
export const createBacklog = (quietMs = QUIET_MS): Backlog => {
  const waiting = new Map<string, Piece>();
  const closing = new AbortController();
  let timer: NodeJS.Timeout | undefined;
  let running: Promise<void> | undefined;

  const runAll = async (): Promise<void> => {
    for (const [key, { work, release }] of waiting) {
      try {
        await work(closing.signal);
      } catch {
        // It reports its own failures; what is left is that it was aborted.
      } finally {
        waiting.delete(key);
        release();
      }
      if (closing.signal.aborted) return;
    }
    running = undefined;
  };

  return {
    add: (key, work, release) => {
      if (closing.signal.aborted || waiting.has(key) || waiting.size >= MAX_WAITING) return release();
      waiting.set(key, { work, release });
      clearTimeout(timer);
      timer = setTimeout(() => {
        running ??= runAll();
      }, quietMs).unref();
    },
    close: async () => {
      clearTimeout(timer);
      closing.abort();
      await running;
      for (const { release } of waiting.values()) release();
      waiting.clear();
    },
  };
};
