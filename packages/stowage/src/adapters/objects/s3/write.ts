import type { CompletedPart, CreateMultipartUploadCommandInput } from '@aws-sdk/client-s3';
import { randomUUID } from 'node:crypto';
import { Readable } from 'node:stream';
import * as errors from '../../../errors/errors.ts';
import type { ObjectFacts, Upload, Uploaded } from '../core/objects.ts';
import {
  seenAfter,
  Uploads,
  type LargeContent,
  type PartedUpload,
  type UploadTarget,
} from '../core/uploads.ts';
import { attemptsOf } from '../core/requests.ts';
import { strongEtag } from '../../remote/core/http.ts';
import type { OperationOptions } from '../../../storage/adapter.ts';
import { withSpooled } from '../../../storage/content.ts';
import {
  attributesIn,
  unmetCondition,
  WRITE_MARK,
  type Bucket,
  type Condition,
  type SizedContent,
} from './requests.ts';
import { NOTHING, writtenVersion, type Support } from './known-services.ts';
import type { ConditionalWrites, Free } from './conditional-writes.ts';

/** Limit of S3. */
export const MAX_PARTS = 10_000;
const PARTS_AT_ONCE = 3;
/** Limit of services for one request. */
export const MAX_SINGLE_BYTES = 5 * 1024 ** 3;

/** Target of an upload in parts: its key, attributes and conditions. */
export interface MultipartTarget {
  readonly key: string;
  readonly attributes: Omit<CreateMultipartUploadCommandInput, 'Bucket' | 'Key'>;
  /** Applied at the completion, where the service supports that. */
  readonly condition: Condition;
  /** Called just before the completion; rejects to abort the upload. Returns how to free a reserved key. */
  readonly check?: (() => Promise<Free | undefined>) | undefined;
}

export const beginMultipart = async (
  bucket: Bucket,
  { key, attributes, condition, check }: MultipartTarget,
  { signal }: OperationOptions,
) => {
  const mark = randomUUID();
  const object = { Bucket: bucket.name, Key: key };
  const input = { ...attributes, Metadata: { ...attributes.Metadata, [WRITE_MARK]: mark }, ...object };
  signal?.throwIfAborted();
  // Without the signal: the parts of an upload without a known id could not be removed.
  const begun = await bucket.requests.send(`CreateMultipartUpload ${key}`, undefined, (s3) =>
    s3.createMultipartUpload(input),
  );
  const { UploadId = '' } = begun;
  // Ceph removes the object when an upload without an id is aborted.
  if (UploadId === '') throw new errors.CorruptError({ detail: 'an upload in parts began without an id' });
  const named = { ...object, UploadId };
  const parts: CompletedPart[] = [];
  return {
    /** Identifies the upload in the requests for its parts. */
    named,
    add: (part: CompletedPart): void => void parts.push(part),
    /** Resolves with the ETag. @throws ChangedMeanwhileError */
    complete: async (): Promise<string | undefined> => {
      signal?.throwIfAborted();
      const free = await check?.();
      const Parts = parts.sort((one, other) => (one.PartNumber ?? 0) - (other.PartNumber ?? 0));
      const all = { ...condition, ...named, MultipartUpload: { Parts } };
      try {
        // Without the signal: an aborted completion could replace what others store after the key is freed.
        const output = await bucket.requests.send(`CompleteMultipartUpload ${key}`, undefined, (s3) =>
          s3.completeMultipartUpload(all),
        );
        const etag = strongEtag(output.ETag);
        if (etag !== undefined) return etag;
        // A failure after the beginning of the response may look like a success.
        const made = await bucket.findMarked(key);
        if (made?.mark === mark) return made.etag;
        throw new errors.StorageUnavailableError({ detail: 'an upload in parts ended without an ETag' });
      } catch (error) {
        const found = await seenAfter(error, () => bucket.findMarked(key));
        if (found?.mark === mark) return found.etag;
        await free?.(error);
        const isGone = error instanceof errors.NotFoundError && attemptsOf(error) > 1;
        if (!isGone) throw unmetCondition(error, condition);
        throw new errors.ChangedMeanwhileError({
          detail: 'an upload in parts vanished before its completion',
        });
      }
    },
    /** Never rejects. Without the caller's signal: an aborted upload must be removed too. */
    abort: async (): Promise<void> => {
      await bucket.requests
        .send(`AbortMultipartUpload ${key}`, undefined, (s3, http) => s3.abortMultipartUpload(named, http))
        .catch(() => undefined);
    },
  };
};

const conditionOf = ({ createOnly, ifMatch }: UploadTarget, support: Support): Condition => ({
  ...(createOnly && support.create ? { IfNoneMatch: '*' } : {}),
  ...(ifMatch === undefined ? {} : { IfMatch: writtenVersion(ifMatch, support) }),
});

/**
 * Uploads to S3 and compatible services. A large conditional write is sent as one request from a temporary
 * file, where the service supports conditions only there (up to 5 GB); beyond that size, the key is reserved
 * just before the completion, and without conditional writes it is checked then.
 */
export abstract class S3Uploads extends Uploads {
  readonly limits = { mostParts: MAX_PARTS, atOnce: PARTS_AT_ONCE };
  protected readonly bucket: Bucket;
  protected readonly conditional: ConditionalWrites;

  constructor(bucket: Bucket, conditional: ConditionalWrites) {
    super();
    this.bucket = bucket;
    this.conditional = conditional;
  }

  /** Tests the conditions before the content is read. @throws UnsupportedError (`ifMatch`) */
  override async upload(upload: Upload, options: OperationOptions): Promise<Uploaded> {
    const { match } = await this.#supportFor(upload, options);
    if (upload.ifMatch !== undefined && match === undefined)
      throw new errors.UnsupportedError({ detail: 'the service has no PutObject with If-Match' });
    return super.upload(upload, options);
  }

  find(key: string, options: OperationOptions): Promise<ObjectFacts | undefined> {
    return this.bucket.find(key, options);
  }

  async put(target: UploadTarget, bytes: Buffer, options: OperationOptions): Promise<string | undefined> {
    const support = await this.#supportFor(target, options);
    if (target.createOnly && !support.create) await this.#claim(target, options);
    return this.#put(target, bytes, options);
  }

  override async putLarge(
    upload: Upload,
    { first, reader }: LargeContent,
    options: OperationOptions,
  ): Promise<Uploaded | undefined> {
    const support = await this.#supportFor(upload, options);
    const { open, size = 0 } = upload;
    if (!support.create || support.complete || size > MAX_SINGLE_BYTES) return undefined;
    const put = async (content: SizedContent): Promise<Uploaded> => {
      options.signal?.throwIfAborted();
      // Without the signal, as for small contents.
      return { size: content.size, etag: await this.#put(upload, content, {}) };
    };
    if (open !== undefined && upload.size !== undefined) return put({ open, size });
    async function* whole(): AsyncGenerator<Uint8Array, void, undefined> {
      if (first !== undefined) yield first.bytes;
      yield* reader.remaining();
    }
    return withSpooled(Readable.from(whole(), { objectMode: false }), options, (file) => {
      first?.free();
      return put(file);
    });
  }

  async begin(target: UploadTarget, options: OperationOptions): Promise<PartedUpload> {
    const { key } = target;
    const support = await this.#supportFor(target, options);
    const upload = await beginMultipart(
      this.bucket,
      {
        key,
        attributes: {
          ...this.bucket.attributes(key),
          ...attributesIn(target.kept),
          ...this.bucket.checksumOfParts,
        },
        condition: support.complete ? conditionOf(target, support) : {},
        check: support.complete ? undefined : () => this.#claim(target, options),
      },
      options,
    );
    return {
      ...upload,
      send: async ({ number, bytes }) => {
        if (number > MAX_PARTS) throw new errors.StorageFullError({ detail: 'more parts than S3 takes' });
        const input = { ...upload.named, PartNumber: number, Body: bytes, ContentLength: bytes.length };
        const { ETag, ChecksumCRC32 } = await this.bucket.requests.send(
          `UploadPart ${key}`,
          options.signal,
          (s3, http) => s3.uploadPart(input, http),
        );
        upload.add({ PartNumber: number, ETag, ...(ChecksumCRC32 === undefined ? {} : { ChecksumCRC32 }) });
      },
    };
  }

  async #supportFor({ createOnly, ifMatch }: UploadTarget, options: OperationOptions): Promise<Support> {
    return createOnly || ifMatch !== undefined ? this.conditional.learn(options) : NOTHING;
  }

  #put(target: UploadTarget, content: Uint8Array | SizedContent, options: OperationOptions) {
    const kept = attributesIn(target.kept);
    const put = (condition: Condition) =>
      this.bucket.put(target.key, content, { ...kept, ...condition }, options);
    const condition = conditionOf(target, this.conditional.known);
    const isNew = condition.IfNoneMatch !== undefined && condition.IfMatch === undefined;
    return isNew ? this.conditional.create(target.key, options, put) : put(condition);
  }

  /** Reserves a new key, and returns how to free it; or checks the conditions, where the service does not. */
  async #claim({ key, createOnly, ifMatch }: UploadTarget, options: OperationOptions) {
    if (createOnly && this.conditional.known.reserve === true) return this.conditional.reserve(key, options);
    if (createOnly && (await this.bucket.find(key, options)) !== undefined)
      throw new errors.AlreadyExistsError();
    if (ifMatch !== undefined) await this.bucket.requireVersion(key, ifMatch, options);
    return undefined;
  }
}
