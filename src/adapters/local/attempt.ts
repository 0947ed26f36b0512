import type { OperationOptions } from '../../storage/adapter.ts';
import { fromSystemError } from '../../adapter-support/system-errors.ts';

/**
 * Runs an operation on the file system: not at all when its signal is aborted, and so that every error is one of ours or the signal's
 * reason.
 * @param name for the log
 */
export const attempt = async <T>(
  name: string,
  options: OperationOptions,
  work: () => Promise<T>,
): Promise<T> => {
  options.signal?.throwIfAborted();
  try {
    return await work();
  } catch (error) {
    options.signal?.throwIfAborted();
    throw fromSystemError(error, name);
  }
};
