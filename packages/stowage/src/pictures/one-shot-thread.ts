import { Worker } from 'node:worker_threads';
import { threadEnvironment } from '../basics/concurrency/thread-environment.ts';
import { inTimeLimit, orAborted } from '../basics/concurrency/abort.ts';
import { BrokenImageError } from '../errors/errors.ts';

const resultOf = <Result>(worker: Worker): Promise<Result> =>
  new Promise((resolve, reject) => {
    worker.once('message', resolve);
    worker.once('error', reject);
    worker.once('exit', () => reject(new Error('The thread ended.')));
  });

/**
 * Runs one job in its own thread, which ends with it: there is no other way to interrupt a library or parser,
 * or to free its memory. Resolves with the thread's only message. The job is copied.
 * @throws BrokenImageError when it fails or takes longer than `seconds`; the signal's reason
 */
export const runInThread = async <Result>(
  program: URL,
  job: unknown,
  { signal, seconds }: { readonly signal?: AbortSignal | undefined; readonly seconds: number },
): Promise<Result> => {
  signal?.throwIfAborted();
  const worker = new Worker(program, {
    workerData: job,
    env: threadEnvironment(),
    // Captures warnings of libraries about the file.
    stdout: true,
    stderr: true,
  });
  const result = resultOf<Result>(worker);
  const late = (): Error => new BrokenImageError({ message: 'The image takes too long to decode.' });
  try {
    return await inTimeLimit(seconds * 1000, signal, (limit) => orAborted(result, limit), late);
  } catch (error) {
    signal?.throwIfAborted();
    throw error instanceof BrokenImageError ? error : new BrokenImageError({ cause: error });
  } finally {
    await worker.terminate();
  }
};
