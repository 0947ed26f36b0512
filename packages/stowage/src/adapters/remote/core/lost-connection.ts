/** No answer came within the time; the connection was given up. */
export class SilenceError extends Error {
  readonly code = 'ETIMEDOUT';
}

/** The connection ended while something waited for its answer. */
export class LostConnectionError extends Error {}

/** What a promise gives, unless it takes longer. @throws SilenceError */
export const inTime = async <Value>(promise: Promise<Value>, ms: number): Promise<Value> => {
  let timer: NodeJS.Timeout | undefined;
  const silence = new Promise<never>((_, reject) => {
    timer = setTimeout(() => reject(new SilenceError('no answer in time')), ms);
  });
  try {
    return await Promise.race([promise, silence]);
  } finally {
    clearTimeout(timer);
  }
};
