import { setMaxListeners } from 'node:events';

/** Work that goes on behind the answer of the request that began it: until it ends by itself, or the service closes. */
export class Background {
  readonly #running = new Set<Promise<void>>();
  readonly #closing = new AbortController();

  constructor() {
    // All work listens to it.
    setMaxListeners(0, this.signal);
  }

  /** Aborted when the service closes. */
  get signal(): AbortSignal {
    return this.#closing.signal;
  }

  /**
   * Begins some work, unless the service closes. `hold` keeps open what the work uses, and returns the way to release
   * it. Resolves when the work has ended; `onFailure` gets what it throws, unless that comes of closing.
   */
  run(
    hold: () => () => void,
    work: (signal: AbortSignal) => Promise<unknown>,
    onFailure: (error: unknown) => void,
  ): Promise<void> {
    const { signal } = this;
    if (signal.aborted) return Promise.resolve();
    const release = hold();
    const running: Promise<void> = work(signal)
      .then(
        () => undefined,
        (error: unknown) => {
          if (!signal.aborted) onFailure(error);
        },
      )
      .finally(() => {
        this.#running.delete(running);
        release();
      });
    this.#running.add(running);
    return running;
  }

  /** Aborts what runs, and resolves when it has ended. */
  async close(): Promise<void> {
    this.#closing.abort();
    await Promise.all(this.#running);
  }
}
