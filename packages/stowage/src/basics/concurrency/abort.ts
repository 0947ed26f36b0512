/**
 * What a promise gives, or the signal's reason as soon as that aborts. The work of the promise goes on,
 * for others or unheard: it may be shared, or know no signal.
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
    // Also after an abort: a caller that has left must not make its failure an unhandled one.
    promise.then(resolve, reject).finally(() => signal.removeEventListener('abort', leave));
  });
};

/**
 * Does something once for all who ask: they share its result. A failure is not kept, and the next one who asks
 * begins again. `begun` is what they share, undefined before the first has asked.
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
 * A signal that aborts when a time is over, or with the signal of the caller; whichever comes first. Unlike
 * `AbortSignal.timeout`, it is held by its timer: on Node 20 a timeout that only `AbortSignal.any` refers to is
 * collected as garbage and never aborts. The caller disposes of it when its work is done; else it ends with the
 * time.
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

  /** @param reason of the abort when the time is over; default: a `TimeoutError` as the platform has it */
  constructor(
    milliseconds: number,
    outer?: AbortSignal,
    reason: () => Error = () => new DOMException('The time is over.', 'TimeoutError'),
  ) {
    this.#outer = outer;
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

  /** Whether the signal has aborted because of the time. */
  get isOver(): boolean {
    return this.#isOver;
  }

  /** Aborts the signal now, unless it is aborted already. */
  abort(reason: Error): void {
    this.#controller.abort(reason);
  }

  /** Ends the timer; the signal does not abort any more. */
  dispose(): void {
    clearTimeout(this.#timer);
    this.#outer?.removeEventListener('abort', this.#leave);
  }
}

/** Does something that has to end in a time, by its signal. @throws what the work throws */
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
