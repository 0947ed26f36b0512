import type { CompletedPart, CreateMultipartUploadCommandInput } from '@aws-sdk/client-s3';
import { ChangedMeanwhileError, NotFoundError, StorageFullError } from '../../../errors/errors.ts';
import type { Uploaded } from '../core/objects.ts';
import { sendParts, type PartedContent } from '../core/parts.ts';
import { strongEtag } from '../../remote/core/http.ts';
import type { OperationOptions } from '../../../storage/adapter.ts';
import type { Bucket, Condition } from './bucket.ts';
import { createWriteMark } from './known-services.ts';
import { attemptsOf } from './errors.ts';

/** The most that S3 takes. */
export const MAX_PARTS = 10_000;
const PARTS_AT_ONCE = 3;

/** A multipart upload that has begun. */
interface OpenUpload {
  readonly key: string;
  readonly id: string;
}

/** Where parts go, and how the object is stored. */
export interface MultipartTarget {
  readonly key: string;
  readonly attributes: Omit<CreateMultipartUploadCommandInput, 'Bucket' | 'Key'>;
  /** Obeyed by services that know it on completion. */
  readonly condition: Condition;
  /** Called just before the completion; rejects to abort the upload. */
  readonly check?: (() => Promise<void>) | undefined;
}

/** Adds the parts of one upload; resolves with the size of them all. */
export type SendParts = (upload: OpenUpload, add: (part: CompletedPart) => void) => Promise<number>;

type WriteMark = ReturnType<typeof createWriteMark>;

const complete = async (
  bucket: Bucket,
  { condition, key }: MultipartTarget,
  upload: { readonly id: string; readonly parts: readonly CompletedPart[]; readonly mark: WriteMark },
  { signal }: OperationOptions,
): Promise<string | undefined> => {
  const Parts = [...upload.parts].sort((one, other) => (one.PartNumber ?? 0) - (other.PartNumber ?? 0));
  const input = { ...condition, Bucket: bucket.name, Key: key, UploadId: upload.id };
  try {
    const answer = await bucket.connection.send(`CompleteMultipartUpload ${key}`, signal, (s3, http) =>
      s3.completeMultipartUpload({ ...input, MultipartUpload: { Parts } }, http),
    );
    return strongEtag(answer.ETag);
  } catch (error) {
    const isRefused = error instanceof NotFoundError || error instanceof ChangedMeanwhileError;
    if (!isRefused || attemptsOf(error) === 1) throw error;
    // An earlier attempt may have completed it, whose answer was lost.
    const found = await bucket.findHead(key, {});
    if (upload.mark.isOn(found)) return strongEtag(found?.ETag);
    throw new ChangedMeanwhileError({ detail: 'an upload in parts vanished before its completion' });
  }
};

/** Never rejects. Without the caller's signal: an aborted upload must be cleared away too. */
const abortUpload = async (bucket: Bucket, { key, id }: OpenUpload): Promise<void> => {
  const input = { Bucket: bucket.name, Key: key, UploadId: id };
  await bucket.connection
    .send(`AbortMultipartUpload ${key}`, undefined, (s3, http) => s3.abortMultipartUpload(input, http))
    .catch(() => undefined);
};

/** Stores an object in parts. When anything fails, the upload is aborted, and nothing remains. */
export const inParts = async (
  bucket: Bucket,
  target: MultipartTarget,
  options: OperationOptions,
  send: SendParts,
): Promise<Uploaded> => {
  const { key, attributes } = target;
  const mark = createWriteMark();
  const Metadata = { ...attributes.Metadata, ...mark.metadata };
  const input = { ...attributes, Metadata, Bucket: bucket.name, Key: key };
  const begun = await bucket.connection.send(`CreateMultipartUpload ${key}`, options.signal, (s3, http) =>
    s3.createMultipartUpload(input, http),
  );
  const upload = { key, id: begun.UploadId ?? '' };
  const parts: CompletedPart[] = [];
  try {
    const size = await send(upload, (part) => parts.push(part));
    options.signal?.throwIfAborted();
    await target.check?.();
    return { size, etag: await complete(bucket, target, { id: upload.id, parts, mark }, options) };
  } catch (error) {
    await abortUpload(bucket, upload);
    throw error;
  }
};

/** Sends a content as parts, three at a time. Memory: four parts. */
export const contentParts =
  (bucket: Bucket, content: PartedContent, { signal }: OperationOptions): SendParts =>
  ({ key, id }, add) =>
    sendParts(content, { mostParts: MAX_PARTS, atOnce: PARTS_AT_ONCE }, signal, async ({ number, bytes }) => {
      if (number > MAX_PARTS) throw new StorageFullError({ detail: 'more parts than S3 takes' });
      const part = { Bucket: bucket.name, Key: key, UploadId: id, PartNumber: number };
      const input = { ...part, Body: bytes, ContentLength: bytes.length };
      const { ETag, ChecksumCRC32 } = await bucket.connection.send(`UploadPart ${key}`, signal, (s3, http) =>
        s3.uploadPart(input, http),
      );
      add({ PartNumber: number, ETag, ...(ChecksumCRC32 === undefined ? {} : { ChecksumCRC32 }) });
    });
