/** Waits for what others wait for as well, but no longer than the signal lets. @throws the signal's reason */
export const orAborted = async <T>(shared: Promise<T>, signal: AbortSignal | undefined): Promise<T> => {
  if (signal === undefined) return shared;
  signal.throwIfAborted();
  let leave = (): void => undefined;
  const aborted = new Promise<never>((_resolve, reject) => {
    leave = () => {
      reject(signal.reason as Error);
    };
    signal.addEventListener('abort', leave, { once: true });
  });
  try {
    return await Promise.race([shared, aborted]);
  } finally {
    signal.removeEventListener('abort', leave);
  }
};
