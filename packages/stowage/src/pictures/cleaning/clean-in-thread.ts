import { BrokenImageError } from '../../errors/errors.ts';
import { runInThread } from '../one-shot-thread.ts';
import type { CleaningAnswer, CleaningJob } from './messages.ts';

/** A file of the largest size takes some. */
const MAX_SECONDS = 30;

/**
 * Cleans a file in a thread of its own: what takes a tenth of a second or more must not hold up other requests.
 * @throws BrokenImageError as the cleaning itself; the signal's reason
 */
export const cleanInThread = async (
  job: CleaningJob,
  signal?: AbortSignal,
): Promise<Exclude<CleaningAnswer, { result: 'broken' }>> => {
  const program = new URL('./cleaning-thread.js', import.meta.url);
  const answer = await runInThread<CleaningAnswer>(program, job, { signal, seconds: MAX_SECONDS });
  if (answer.result !== 'broken') return answer;
  throw new BrokenImageError({ messages: answer.messages, detail: answer.detail });
};
