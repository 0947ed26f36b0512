import { createHash } from 'node:crypto';
import type { Readable } from 'node:stream';
import { setTimeout } from 'node:timers/promises';
import { AlreadyExistsError, BusyError, ChangedMeanwhileError, StowageError } from '../../errors/errors.ts';
import type { OperationOptions } from '../../storage/adapter.ts';
import { strongEtag, type Bucket } from './bucket.ts';
import { statusOf } from './errors.ts';
import { conditionOf, refused, type Task, type Uploaded } from './upload-task.ts';

const FIRST_PAUSE_MS = 100;
const LONGEST_PAUSE_MS = 20_000;
const PASSING: ReadonlySet<number | undefined> = new Set([429, 500, 502, 503, 504]);

/** One request for any size: it is the only one that every service decides conditions on. Sent once, never held in memory. */
export const putStream = async (
  bucket: Bucket,
  task: Task,
  content: { readonly stream: Readable; readonly size: number },
  options: OperationOptions,
): Promise<Uploaded> => {
  const end = new AbortController();
  content.stream.once('error', (error) => end.abort(error));
  const signals = [end.signal, ...(options.signal === undefined ? [] : [options.signal])];
  try {
    const etag = await bucket.put(task.key, content, conditionOf(task), { signal: AbortSignal.any(signals) });
    return { size: content.size, etag };
  } catch (error) {
    // A request that was answered before its end must not keep its connection.
    end.abort();
    throw error instanceof ChangedMeanwhileError ? refused(task, error) : error;
  } finally {
    content.stream.destroy();
  }
};

const isRefused = (error: unknown): boolean =>
  error instanceof AlreadyExistsError || error instanceof ChangedMeanwhileError;

/** What is stored under the key, if it is this content: an earlier attempt has put it there, whatever its answer said. */
const ownVersion = async (
  bucket: Bucket,
  { key }: Task,
  { open, size }: { readonly open: () => Readable; readonly size: number },
  options: OperationOptions,
): Promise<Uploaded | undefined> => {
  const found = await bucket.find(key, options);
  if (found?.ContentLength !== size) return undefined;
  const hash = createHash('md5');
  for await (const chunk of open() as AsyncIterable<Buffer>) hash.update(chunk);
  const etag = `"${hash.digest('hex')}"`;
  return strongEtag(found.ETag) === etag ? { size, etag } : undefined;
};

/** Whether the service has answered that it cannot at the moment. */
const isPassing = (error: unknown): boolean =>
  error instanceof BusyError || (error instanceof StowageError && PASSING.has(statusOf(error.cause)));

/** Longer with every attempt, and at random, as between the SDK's own attempts. @throws the signal's reason */
const pause = async (attempt: number, { signal }: OperationOptions): Promise<void> => {
  const most = Math.min(LONGEST_PAUSE_MS, FIRST_PAUSE_MS * 2 ** attempt);
  await setTimeout(Math.random() * most, undefined, { signal }).catch((error: unknown) => {
    signal?.throwIfAborted();
    throw error;
  });
};

/**
 * As `putStream`, as often as attempts are allowed while the service answers that it cannot at the moment. What is lost on the way without
 * an answer is not sent again.
 */
export const putRepeatedly = async (
  bucket: Bucket,
  task: Task,
  content: { readonly open: () => Readable; readonly size: number },
  options: OperationOptions,
): Promise<Uploaded> => {
  const { open, size } = content;
  for (let attempt = 1; ; attempt += 1) {
    try {
      return await putStream(bucket, task, { stream: open(), size }, options);
    } catch (error) {
      const own =
        attempt > 1 && isRefused(error) ? await ownVersion(bucket, task, content, options) : undefined;
      if (own !== undefined) return own;
      if (attempt >= bucket.attempts || !isPassing(error)) throw error;
    }
    await pause(attempt, options);
  }
};
