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
