import { setMaxListeners } from 'node:events';

/**
 * Resolves as the promise does, or rejects with the signal's reason as soon as that aborts. The promise's
 * work continues: it may be shared, or support no signal.
 */
export const orAborted = <Value>(
  promise: Promise<Value>,
  signal: AbortSignal | undefined,
): Promise<Value> => {
  if (signal === undefined) return promise;
  return new Promise((resolve, reject) => {
    const leave = (): void => reject(signal.reason as Error);
    if (signal.aborted) leave();
    signal.addEventListener('abort', leave, { once: true });
    // Also after an abort: a later rejection must not become an unhandled one.
    promise.then(resolve, reject).finally(() => signal.removeEventListener('abort', leave));
  });
};

/**
 * Runs work with a signal of its own, which aborts with any of the outer ones; all take any number of
 * listeners. For outer signals that outlive the work: each `AbortSignal.any` leaves an entry in its signals,
 * on Node 20 for as long as they live.
 */
export const withOwnSignal = async <Result>(
  outer: AbortSignal | readonly AbortSignal[],
  work: (signal: AbortSignal) => Promise<Result>,
): Promise<Result> => {
  const own = new AbortController();
  const outers = [outer].flat();
  const leave = (): void => own.abort(outers.find(({ aborted }) => aborted)?.reason);
  setMaxListeners(0, ...outers, own.signal);
  if (outers.some(({ aborted }) => aborted)) leave();
  for (const one of outers) one.addEventListener('abort', leave, { once: true });
  try {
    return await work(own.signal);
  } finally {
    for (const one of outers) one.removeEventListener('abort', leave);
  }
};

/**
 * Runs a task once, and shares its result with all callers. A failure is not cached: the next caller starts
 * the task again. `begun` is the shared promise, undefined before the first call.
 */
export class Once<Value> {
  begun: Promise<Value> | undefined;

  get(begin: () => Promise<Value>): Promise<Value> {
    if (this.begun !== undefined) return this.begun;
    const beginning = begin();
    this.begun = beginning;
    beginning.catch(() => {
      if (this.begun === beginning) this.begun = undefined;
    });
    return beginning;
  }
}

/**
 * A signal that aborts after a time, or with the caller's signal, whichever comes first; it takes any number
 * of listeners. Unlike `AbortSignal.timeout`, its timer keeps it alive: on Node 20 a timeout that only
 * `AbortSignal.any` refers to is garbage collected and never aborts. The caller disposes of it when its work
 * is done; otherwise it ends with the time.
 */
export class TimeLimit {
  readonly #controller = new AbortController();
  readonly #outer: AbortSignal | undefined;
  readonly #timer: NodeJS.Timeout;
  readonly #leave = (): void => {
    this.#controller.abort(this.#outer?.reason);
    this.dispose();
  };
  #isOver = false;

  /** @param reason of the abort after the time; default: a `TimeoutError` as the platform has it */
  constructor(
    milliseconds: number,
    outer?: AbortSignal,
    reason: () => Error = () => new DOMException('The time is over.', 'TimeoutError'),
  ) {
    this.#outer = outer;
    setMaxListeners(0, this.signal);
    this.#timer = setTimeout(() => {
      this.#isOver = true;
      this.#controller.abort(reason());
      this.dispose();
    }, milliseconds).unref();
    if (outer?.aborted === true) this.#leave();
    else outer?.addEventListener('abort', this.#leave, { once: true });
  }

  get signal(): AbortSignal {
    return this.#controller.signal;
  }

  /** Whether the signal aborted because of the time. */
  get isOver(): boolean {
    return this.#isOver;
  }

  /** Aborts the signal now, unless it is already aborted. */
  abort(reason: Error): void {
    this.#controller.abort(reason);
  }

  /** Stops the timer; the signal does not abort any more. */
  dispose(): void {
    clearTimeout(this.#timer);
    this.#outer?.removeEventListener('abort', this.#leave);
  }
}

/** Runs work with a time limit, by its signal. @throws errors of the work */
export const inTimeLimit = async <Result>(
  milliseconds: number,
  outer: AbortSignal | undefined,
  work: (signal: AbortSignal) => Promise<Result>,
  reason?: () => Error,
): Promise<Result> => {
  const limit = new TimeLimit(milliseconds, outer, reason);
  try {
    return await work(limit.signal);
  } finally {
    limit.dispose();
  }
};

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
