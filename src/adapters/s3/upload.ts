import { createHash } from 'node:crypto';
import { Readable } from 'node:stream';
import { AlreadyExistsError, ChangedMeanwhileError, UnsupportedError } from '../../errors/errors.ts';
import type { OperationOptions } from '../../storage/adapter.ts';
import { spool } from '../../storage/spool.ts';
import { strongEtag, type Bucket } from './bucket.ts';
import { NOTHING, type ConditionalWrites } from './conditional-writes.ts';
import { attemptsOf } from './errors.ts';
import { contentParts, inParts, PART_BYTES } from './multipart.ts';
import type { NameLocks } from '../../storage/name-locks.ts';
import { PartReader } from './part-reader.ts';
import { putRepeatedly, putStream } from './put-stream.ts';
import { conditionOf, refused, type Task, type Upload, type Uploaded } from './upload-task.ts';

// The most that services take in one request.
const MAX_SINGLE_BYTES = 5 * 1024 ** 3;

/** What uploading works with. */
export interface UploadContext {
  readonly bucket: Bucket;
  readonly conditional: ConditionalWrites;
  readonly locks: NameLocks;
}

const isConditional = ({ createOnly, ifMatch }: Upload): boolean => createOnly || ifMatch !== undefined;

/** Looks before the write: decides where the service does not, and spares sending a large content for nothing. */
const requireFree = async (bucket: Bucket, task: Task, options: OperationOptions): Promise<void> => {
  if (task.createOnly && (await bucket.find(task.key, options)) !== undefined) throw new AlreadyExistsError();
  if (task.ifMatch !== undefined) await bucket.requireVersion(task.key, task.ifMatch, options);
};

const putBytes = async (
  bucket: Bucket,
  task: Task,
  bytes: Buffer,
  options: OperationOptions,
): Promise<Uploaded> => {
  if (task.createOnly && !task.support.create) await requireFree(bucket, task, options);
  try {
    return { size: bytes.length, etag: await bucket.put(task.key, bytes, conditionOf(task), options) };
  } catch (error) {
    if (!(error instanceof ChangedMeanwhileError)) throw error;
    const own = `"${createHash('md5').update(bytes).digest('hex')}"`;
    // A later attempt may have met what an earlier one stored, whose answer was lost.
    if (attemptsOf(error.cause) > 1 && strongEtag((await bucket.find(task.key, options))?.ETag) === own) {
      return { size: bytes.length, etag: own };
    }
    throw refused(task, error);
  }
};

const byStream = async (
  bucket: Bucket,
  task: Task,
  first: Buffer | undefined,
  options: OperationOptions,
): Promise<Uploaded> => {
  await requireFree(bucket, task, options);
  if (task.size !== undefined && task.open !== undefined)
    return putRepeatedly(bucket, task, { open: task.open, size: task.size }, options);
  if (task.size !== undefined) {
    const stream = Readable.from(task.reader.remaining(), { objectMode: false });
    return putStream(bucket, task, { stream, size: task.size }, options);
  }
  const { reader } = task;
  async function* whole(): AsyncGenerator<Uint8Array, void, undefined> {
    if (first !== undefined) yield first;
    yield* reader.remaining();
  }
  const file = await spool(Readable.from(whole(), { objectMode: false }), options);
  try {
    return await putRepeatedly(bucket, task, file, options);
  } finally {
    await file.remove();
  }
};

const byParts = async (
  bucket: Bucket,
  task: Task,
  first: Buffer | undefined,
  options: OperationOptions,
): Promise<Uploaded> => {
  const { key, reader, size, support } = task;
  const content = { reader, size, ...(first === undefined ? {} : { first }) };
  const target = {
    key,
    attributes: bucket.attributes(key),
    condition: support.complete ? conditionOf(task) : {},
    check: support.complete ? undefined : () => requireFree(bucket, task, options),
  };
  try {
    return await inParts(bucket, target, options, contentParts(bucket, content, options));
  } catch (error) {
    throw error instanceof ChangedMeanwhileError && isConditional(task) ? refused(task, error) : error;
  }
};

const large = (
  bucket: Bucket,
  task: Task,
  first: Buffer | undefined,
  options: OperationOptions,
): Promise<Uploaded> => {
  const fits = task.size === undefined || task.size <= MAX_SINGLE_BYTES;
  return isConditional(task) && !task.support.complete && fits
    ? byStream(bucket, task, first, options)
    : byParts(bucket, task, first, options);
};

/**
 * Stores a content under its key, whole or not at all. Up to 8 MB: one request, repeated when it fails. Above: parts of 8 MB, three at
 * once; a conditional write goes as one stream where the service ignores conditions on the completion of parts (up to 5 GB; beyond, and
 * where it has no conditional writes at all, the key is looked at just before), repeated when the content can be opened again.
 * @throws AlreadyExistsError, ChangedMeanwhileError, UnsupportedError (`ifMatch`)
 */
export const upload = async (
  { bucket, conditional, locks }: UploadContext,
  request: Upload,
  options: OperationOptions,
): Promise<Uploaded> => {
  const support = isConditional(request) ? await conditional.learn(options) : NOTHING;
  if (request.ifMatch !== undefined && support.match === undefined) {
    throw new UnsupportedError({ detail: 'the service has no PutObject with If-Match' });
  }
  const task: Task = { ...request, support, reader: new PartReader(request.chunks) };
  const { reader, size } = task;
  const known = size !== undefined && size > PART_BYTES;
  const first = known ? undefined : await reader.upTo(Math.min(size ?? PART_BYTES, PART_BYTES));
  const send = async (): Promise<Uploaded> =>
    first !== undefined && (await reader.isAtEnd())
      ? putBytes(bucket, task, first, options)
      : large(bucket, task, first, options);
  return request.createOnly ? locks.hold(request.key, options, send) : send();
};
