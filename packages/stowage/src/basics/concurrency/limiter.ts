/** Runs tasks side by side, a bounded number at the same time. */
export interface Limiter {
  /**
   * Starts the task once there is room for it. Rejects with the first failure of any task before; the task is
   * then not started.
   */
  add(task: () => Promise<void>): Promise<void>;
  /** Waits until every task has ended. Rejects with the first failure. To be called on every way out. */
  drain(): Promise<void>;
}

/** A limiter that runs at most `limit` tasks at the same time. */
export const createLimiter = (limit: number): Limiter => {
  const running = new Set<Promise<void>>();
  const failures: unknown[] = [];
  const check = (): void => {
    if (failures.length > 0) throw failures[0];
  };
  return {
    add: async (task) => {
      while (running.size >= limit) await Promise.race(running);
      check();
      const run: Promise<void> = task()
        .catch((error: unknown) => void failures.push(error))
        .finally(() => running.delete(run));
      running.add(run);
    },
    drain: async () => {
      await Promise.all(running);
      check();
    },
  };
};
