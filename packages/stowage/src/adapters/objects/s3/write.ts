import type { CompletedPart, CreateMultipartUploadCommandInput } from '@aws-sdk/client-s3';
import { Readable } from 'node:stream';
import {
  ChangedMeanwhileError,
  NotFoundError,
  StorageFullError,
  AlreadyExistsError,
  UnsupportedError,
} from '../../../errors/errors.ts';
import { type Uploaded, PART_BYTES, type Upload } from '../core/objects.ts';
import { sendParts, type PartedContent, ContentReader, type HeldBytes } from '../core/parts.ts';
import { strongEtag } from '../../remote/core/http.ts';
import type { OperationOptions } from '../../../storage/adapter.ts';
import type { Bucket, Condition, SizedContent } from './requests.ts';
import { createWriteMark, NOTHING, writtenVersion, type Support } from './known-services.ts';
import { attemptsOf } from './errors.ts';
import { spool } from '../../../storage/content.ts';
import { createNameLocks, type NameLocks } from '../../../basics/concurrency/name-locks.ts';
import { createSlots } from '../../../basics/concurrency/slots.ts';
import type { ConditionalWrites } from './conditional-writes.ts';

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

// The most that services take in one request.
const MAX_SINGLE_BYTES = 5 * 1024 ** 3;
// Contents wait in memory, up to 8 MB each, while they are sent: together at most some 200 MB.
const BUFFERS = 24;
const MAY_WAIT = 2000;

/** An upload on its way, and what its service decides by itself. */
interface Task extends Upload {
  readonly support: Support;
  readonly reader: ContentReader;
}

const isConditional = ({ createOnly, ifMatch }: Upload): boolean => createOnly || ifMatch !== undefined;

/** What the service is to decide a write by. */
const conditionOf = ({ createOnly, ifMatch, support }: Task): Condition => ({
  ...(createOnly && support.create ? { IfNoneMatch: '*' } : {}),
  ...(ifMatch === undefined ? {} : { IfMatch: writtenVersion(ifMatch, support) }),
});

/** What a refusal of a conditional write means. */
const refusalOf = (task: Task, error: unknown): unknown => {
  if (!(error instanceof ChangedMeanwhileError) || !isConditional(task)) return error;
  return task.createOnly && task.ifMatch === undefined ? new AlreadyExistsError({ cause: error }) : error;
};

/** Stores contents under their keys, whole or not at all. */
export class Uploader {
  /** Writes and moves of one key wait for each other: most services do not decide between them. */
  readonly locks: NameLocks = createNameLocks();
  readonly #memory = createSlots(BUFFERS, MAY_WAIT);
  readonly #bucket: Bucket;
  readonly #conditional: ConditionalWrites;

  constructor(bucket: Bucket, conditional: ConditionalWrites) {
    this.#bucket = bucket;
    this.#conditional = conditional;
  }

  /**
   * Up to 8 MB: one request, repeated when it fails. Above: parts of 8 MB, three at a time. A large
   * conditional write goes as one request from a temporary file where the service decides only those (up to 5
   * GB); beyond, and where it has no conditional writes, the key is looked at just before the completion.
   * @throws AlreadyExistsError, ChangedMeanwhileError, UnsupportedError (`ifMatch`)
   */
  async upload(request: Upload, options: OperationOptions): Promise<Uploaded> {
    const support = isConditional(request) ? await this.#conditional.learn(options) : NOTHING;
    if (request.ifMatch !== undefined && support.match === undefined) {
      throw new UnsupportedError({ detail: 'the service has no PutObject with If-Match' });
    }
    const task: Task = { ...request, support, reader: new ContentReader(request.chunks) };
    const held = await this.#readFirst(task, options);
    const send = async (): Promise<Uploaded> => {
      try {
        const isWhole = held !== undefined && (await task.reader.isAtEnd());
        return isWhole
          ? await this.#putBytes(task, held.bytes, options)
          : await this.#putLarge(task, held, options);
      } catch (error) {
        throw refusalOf(task, error);
      }
    };
    try {
      return await this.locks.hold(request.key, options, send);
    } finally {
      held?.free();
    }
  }

  /** What one request could store, if the content may be so small. Waits for memory before it reads. */
  async #readFirst({ size, reader }: Task, { signal }: OperationOptions): Promise<HeldBytes | undefined> {
    if (size !== undefined && size > PART_BYTES) return undefined;
    const free = await this.#memory.take(signal);
    try {
      return { bytes: await reader.upTo(Math.min(size ?? PART_BYTES, PART_BYTES)), free };
    } catch (error) {
      free();
      throw error;
    }
  }

  /** Decides where the service does not, and avoids sending a large content for nothing. */
  async #requireFree({ key, createOnly, ifMatch }: Task, options: OperationOptions): Promise<void> {
    if (createOnly && (await this.#bucket.find(key, options)) !== undefined) throw new AlreadyExistsError();
    if (ifMatch !== undefined) await this.#bucket.requireVersion(key, ifMatch, options);
  }

  async #putBytes(task: Task, bytes: Buffer, options: OperationOptions): Promise<Uploaded> {
    if (task.createOnly && !task.support.create) await this.#requireFree(task, options);
    const etag = await this.#bucket.put(task.key, bytes, conditionOf(task), options);
    return { size: bytes.length, etag };
  }

  #putLarge(task: Task, first: HeldBytes | undefined, options: OperationOptions): Promise<Uploaded> {
    const { create, complete } = task.support;
    const fits = task.size === undefined || task.size <= MAX_SINGLE_BYTES;
    return isConditional(task) && create && !complete && fits
      ? this.#putFile(task, first, options)
      : this.#putParts(task, first, options);
  }

  async #putFile(task: Task, first: HeldBytes | undefined, options: OperationOptions): Promise<Uploaded> {
    await this.#requireFree(task, options);
    const { key, open, size, reader } = task;
    const put = async (content: SizedContent): Promise<Uploaded> => {
      const etag = await this.#bucket.put(key, content, conditionOf(task), options);
      return { size: content.size, etag };
    };
    if (open !== undefined && size !== undefined) return put({ open, size });
    async function* whole(): AsyncGenerator<Uint8Array, void, undefined> {
      if (first !== undefined) yield first.bytes;
      yield* reader.remaining();
    }
    const file = await spool(Readable.from(whole(), { objectMode: false }), options);
    first?.free();
    try {
      return await put(file);
    } finally {
      await file.remove();
    }
  }

  #putParts(task: Task, first: HeldBytes | undefined, options: OperationOptions): Promise<Uploaded> {
    const { key, reader, size, support } = task;
    const target = {
      key,
      attributes: this.#bucket.attributes(key),
      condition: support.complete ? conditionOf(task) : {},
      check: support.complete ? undefined : () => this.#requireFree(task, options),
    };
    const content = { reader, size, first, memory: this.#memory };
    return inParts(this.#bucket, target, options, contentParts(this.#bucket, content, options));
  }
}
