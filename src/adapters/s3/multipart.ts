import type { CompletedPart, CreateMultipartUploadCommandInput } from '@aws-sdk/client-s3';
import { ChangedMeanwhileError, NotFoundError, StorageFullError, StowageError } from '../../errors/errors.ts';
import type { OperationOptions } from '../../storage/adapter.ts';
import { createLimiter } from '../../storage/limiter.ts';
import { strongEtag, type Bucket, type Condition } from './bucket.ts';
import { attemptsOf, statusOf } from './errors.ts';
import { giveUp, giveUpLost, type LostBeginning } from './lost-uploads.ts';
import type { PartReader } from './part-reader.ts';

const MB = 1024 * 1024;
/** Up to here one request stores or copies an object; larger ones go in parts. */
export const PART_BYTES = 8 * MB;
const MAX_PARTS = 10_000;
const PARTS_AT_ONCE = 3;
// A content of unknown length: parts double after so many of them, so that 10,000 reach far beyond what services take.
const PARTS_OF_ONE_SIZE = 2000;

/** A multipart upload that has begun. */
export interface OpenUpload {
  readonly key: string;
  readonly id: string;
}

/** Where parts go, and how the object is stored. */
export interface MultipartTarget {
  readonly key: string;
  readonly attributes: Omit<CreateMultipartUploadCommandInput, 'Bucket' | 'Key'>;
  /** Obeyed by services that know it on completion. */
  readonly condition: Condition;
  /** Asked just before the completion; rejects to give the upload up. */
  readonly check?: (() => Promise<void>) | undefined;
}

/** Adds the parts of one upload; resolves with the size of them all. */
export type SendParts = (upload: OpenUpload, add: (part: CompletedPart) => void) => Promise<number>;

/** Bytes of a part, by the size of the whole, as far as known, and the number of parts before. */
export const partBytes = (size: number | undefined, before: number): number =>
  size === undefined
    ? PART_BYTES * 2 ** Math.floor(before / PARTS_OF_ONE_SIZE)
    : Math.max(PART_BYTES, Math.ceil(size / MAX_PARTS / MB) * MB);

interface Begun extends OpenUpload {
  /** What an attempt may have begun besides, whose answer was lost. */
  readonly lost: LostBeginning | undefined;
}

const begin = async (
  bucket: Bucket,
  { key, attributes }: MultipartTarget,
  { signal }: OperationOptions,
): Promise<Begun> => {
  const from = Date.now();
  const lost = (id?: string): LostBeginning => ({ key, id, from, to: Date.now() });
  try {
    const answer = await bucket.connection.send(
      `CreateMultipartUpload ${key}`,
      signal,
      ({ sdk, client, http }) =>
        client.send(
          new sdk.CreateMultipartUploadCommand({ ...attributes, Bucket: bucket.name, Key: key }),
          http,
        ),
    );
    const id = answer.UploadId ?? '';
    return { key, id, lost: (answer.$metadata.attempts ?? 1) > 1 ? lost(id) : undefined };
  } catch (error) {
    const status = error instanceof StowageError ? statusOf(error.cause) : undefined;
    if (status === undefined || status >= 500) await giveUpLost(bucket, lost());
    throw error;
  }
};

/** The version of an object that was completed although the answer got lost, so that the next attempt found the upload gone. */
const completedBefore = async (bucket: Bucket, key: string, size: number, parts: number): Promise<string> => {
  const found = await bucket.find(key, {});
  const etag = strongEtag(found?.ETag);
  if (found?.ContentLength === size && etag?.endsWith(`-${parts}"`) === true) return etag;
  throw new ChangedMeanwhileError({ detail: 'a multipart upload vanished before its completion' });
};

const complete = async (
  bucket: Bucket,
  target: MultipartTarget,
  upload: { readonly id: string; readonly parts: readonly CompletedPart[]; readonly size: number },
  { signal }: OperationOptions,
): Promise<string | undefined> => {
  const { id, parts, size } = upload;
  const Parts = [...parts].sort((one, other) => (one.PartNumber ?? 0) - (other.PartNumber ?? 0));
  const input = { ...target.condition, Bucket: bucket.name, Key: target.key, UploadId: id };
  try {
    const answer = await bucket.connection.send(
      `CompleteMultipartUpload ${target.key}`,
      signal,
      ({ sdk, client, http }) =>
        client.send(new sdk.CompleteMultipartUploadCommand({ ...input, MultipartUpload: { Parts } }), http),
    );
    return strongEtag(answer.ETag);
  } catch (error) {
    const vanished = error instanceof NotFoundError || error instanceof ChangedMeanwhileError;
    if (vanished && attemptsOf(error.cause) > 1) {
      return completedBefore(bucket, target.key, size, parts.length);
    }
    throw error;
  }
};

/** Stores an object in parts. Whatever fails, the upload is given up after its last part has ended, and nothing remains. */
export const inParts = async (
  bucket: Bucket,
  target: MultipartTarget,
  options: OperationOptions,
  send: SendParts,
): Promise<{ readonly size: number; readonly etag: string | undefined }> => {
  const upload = await begin(bucket, target, options);
  const parts: CompletedPart[] = [];
  bucket.runningUploads.add(upload.id);
  try {
    const size = await send(upload, (part) => parts.push(part));
    options.signal?.throwIfAborted();
    await target.check?.();
    return { size, etag: await complete(bucket, target, { id: upload.id, parts, size }, options) };
  } catch (error) {
    await giveUp(bucket, upload.key, upload.id);
    throw error;
  } finally {
    bucket.runningUploads.delete(upload.id);
    if (upload.lost !== undefined) await giveUpLost(bucket, upload.lost);
  }
};

const sendPart = async (
  bucket: Bucket,
  { key, id }: OpenUpload,
  PartNumber: number,
  Body: Buffer,
  { signal }: OperationOptions,
): Promise<CompletedPart> => {
  const input = { Bucket: bucket.name, Key: key, UploadId: id, PartNumber, Body };
  const { ETag } = await bucket.connection.send(`UploadPart ${key}`, signal, ({ sdk, client, http }) =>
    client.send(new sdk.UploadPartCommand({ ...input, ContentLength: Body.length }), http),
  );
  return { PartNumber, ETag };
};

/** Sends a content as parts, three at once. Memory: four parts, used over and over. */
export const contentParts =
  (
    bucket: Bucket,
    content: { readonly reader: PartReader; readonly size: number | undefined; readonly first?: Buffer },
    options: OperationOptions,
  ): SendParts =>
  async (upload, add) => {
    const { reader, size } = content;
    const limiter = createLimiter(PARTS_AT_ONCE);
    const spare: Buffer[] = [];
    let sent = 0;
    let count = 0;
    const enqueue = async (body: Buffer, whole?: Buffer): Promise<void> => {
      sent += body.length;
      count += 1;
      const number = count;
      if (number > MAX_PARTS) throw new StorageFullError({ detail: 'more parts than S3 takes' });
      await limiter.add(async () => {
        add(await sendPart(bucket, upload, number, body, options));
        if (whole !== undefined) spare.push(whole);
      });
    };
    try {
      if (content.first !== undefined) await enqueue(content.first);
      while (!(await reader.isAtEnd())) {
        const length = partBytes(size, count);
        const reused = spare.pop();
        const buffer = reused?.length === length ? reused : Buffer.allocUnsafe(length);
        await enqueue(buffer.subarray(0, await reader.fill(buffer)), buffer);
      }
    } finally {
      // Also after a failure: a part that lands after the upload was given up would stay.
      await limiter.drain();
    }
    return sent;
  };
