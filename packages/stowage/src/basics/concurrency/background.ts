import { withOwnSignal } from './abort.ts';

/** Work that continues after the response of its request: until it ends, or the service closes. */
export class Background {
  readonly #running = new Set<Promise<void>>();
  readonly #closing = new AbortController();

  /** Aborted when the service closes. */
  get signal(): AbortSignal {
    return this.#closing.signal;
  }

  /**
   * Starts work, unless the service is closing. `hold` keeps its resources open, and returns the function
   * that releases them. Resolves when the work has ended; `onFailure` gets errors not caused by closing.
   */
  run(
    hold: () => () => void,
    work: (signal: AbortSignal) => Promise<unknown>,
    onFailure: (error: unknown) => void,
  ): Promise<void> {
    const { signal } = this;
    if (signal.aborted) return Promise.resolve();
    const release = hold();
    const running: Promise<void> = withOwnSignal(signal, work)
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

  /** Aborts all work and resolves when it has ended. */
  async close(): Promise<void> {
    this.#closing.abort();
    await Promise.all(this.#running);
  }
}
