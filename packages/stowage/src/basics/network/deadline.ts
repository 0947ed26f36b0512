/** A signal that aborts when the time is over or the caller gives up. */
export interface Deadline {
  readonly signal: AbortSignal;
  /** As `raceSignal` with this signal. */
  race<Value>(work: Promise<Value>): Promise<Value>;
  /** Aborts the signal now, unless it is aborted already. */
  abort(reason: Error): void;
  /** Stops the clock. To be called on every way out. */
  end(): void;
}

/** Rejects with the signal's reason as soon as it aborts; the work itself goes on unheard. */
export const raceSignal = <Value>(signal: AbortSignal, work: Promise<Value>): Promise<Value> =>
  new Promise((resolve, reject) => {
    const give = (): void => reject(signal.reason as Error);
    if (signal.aborted) give();
    signal.addEventListener('abort', give, { once: true });
    work.then(resolve, reject).finally(() => signal.removeEventListener('abort', give));
  });

/**
 * Starts a clock. Its signal's reason is what `late` makes, or the reason of `outer` when that aborts first.
 */
export const startDeadline = (
  timeoutMs: number,
  outer: AbortSignal | undefined,
  late: () => Error,
): Deadline => {
  const controller = new AbortController();
  const timer = setTimeout(() => controller.abort(late()), timeoutMs);
  const follow = (): void => controller.abort(outer?.reason);
  if (outer?.aborted === true) follow();
  else outer?.addEventListener('abort', follow, { once: true });
  const { signal } = controller;
  return {
    signal,
    race: (work) => raceSignal(signal, work),
    abort: (reason) => controller.abort(reason),
    end: () => {
      clearTimeout(timer);
      outer?.removeEventListener('abort', follow);
    },
  };
};
