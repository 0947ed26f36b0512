import type { HeadObjectCommandOutput } from '@aws-sdk/client-s3';
import {
  AlreadyExistsError,
  ChangedMeanwhileError,
  NotFoundError,
  UnsupportedError,
} from '../../errors/errors.ts';
import type { OperationOptions } from '../../storage/adapter.ts';
import { createLimiter } from '../../storage/limiter.ts';
import { strongEtag, type Bucket } from './bucket.ts';
import type { ConditionalWrites } from './conditional-writes.ts';
import { attemptsOf } from './errors.ts';
import { inParts, partBytes, PART_BYTES, type SendParts } from './multipart.ts';

const RANGES_AT_ONCE = 4;
const RANGE_BYTES = 2 * PART_BYTES;

/** One object that is copied inside the bucket. */
export interface Copy {
  readonly from: string;
  readonly to: string;
  /** Bytes of the source, as just seen. */
  readonly size: number;
  /** Version of the source, as just seen. */
  readonly etag: string | undefined;
  /** Refuse a taken key, as far as the service decides that for copies. */
  readonly createOnly: boolean;
}

const sourceOf = (bucket: Bucket, key: string): string =>
  `${encodeURIComponent(bucket.name)}/${key.split('/').map(encodeURIComponent).join('/')}`;

/** `Expires` as it was stored, where it is a date. */
const expiryOf = ({ ExpiresString }: HeadObjectCommandOutput): { readonly Expires?: Date } => {
  const time = Date.parse(ExpiresString ?? '');
  return Number.isNaN(time) ? {} : { Expires: new Date(time) };
};

/** Attributes of the source that parts do not take along by themselves. */
const attributesOf = (bucket: Bucket, head: HeadObjectCommandOutput) => ({
  ...(head.ContentType === undefined ? {} : { ContentType: head.ContentType }),
  ...(head.CacheControl === undefined ? {} : { CacheControl: head.CacheControl }),
  ...(head.ContentDisposition === undefined ? {} : { ContentDisposition: head.ContentDisposition }),
  ...(head.ContentEncoding === undefined ? {} : { ContentEncoding: head.ContentEncoding }),
  ...(head.ContentLanguage === undefined ? {} : { ContentLanguage: head.ContentLanguage }),
  ...expiryOf(head),
  ...(head.Metadata === undefined ? {} : { Metadata: head.Metadata }),
  ...bucket.storedAs,
});

/** Copies objects at the service, without their bytes passing through here. */
export class Copier {
  readonly #bucket: Bucket;
  readonly #conditional: ConditionalWrites;
  // Sent until a service refuses the header: some obey it, some ignore it.
  #sendsCondition = true;
  // Sent until a service refuses the version that it has itself just reported, as Swift does for what was stored in parts.
  #namesVersions = true;

  constructor(bucket: Bucket, conditional: ConditionalWrites) {
    this.#bucket = bucket;
    this.#conditional = conditional;
  }

  /** To be asked before a create-only copy: looks where the service does not decide by itself. @throws AlreadyExistsError */
  async requireFree(key: string, options: OperationOptions): Promise<void> {
    if (this.#conditional.known.copy && this.#sendsCondition) return;
    if ((await this.#bucket.find(key, options)) !== undefined) throw new AlreadyExistsError();
  }

  /**
   * Copies an object with its metadata: in one request up to 8 MB, else in parts (one request per 16 MB, and two or three more). Returns
   * the version of the copy.
   * @throws NotFoundError (the source), AlreadyExistsError
   */
  async copy(copy: Copy, options: OperationOptions): Promise<string | undefined> {
    if (copy.size > PART_BYTES) return this.#copyParts(copy, options);
    const conditional = copy.createOnly && this.#sendsCondition;
    // Whoever trusted the service to decide has not looked.
    if (copy.createOnly && !conditional && this.#conditional.known.copy)
      await this.requireFree(copy.to, options);
    try {
      return await this.#copyWhole(copy, conditional, options);
    } catch (error) {
      if (conditional && error instanceof ChangedMeanwhileError) return this.#ownCopy(copy, error, options);
      if (!conditional || !(error instanceof UnsupportedError)) throw error;
      this.#sendsCondition = false;
      return this.copy(copy, options);
    }
  }

  /** A later attempt may have met what an earlier one put there, whose answer was lost. */
  async #ownCopy(copy: Copy, refusal: ChangedMeanwhileError, options: OperationOptions): Promise<string> {
    if (attemptsOf(refusal.cause) > 1 && copy.etag !== undefined) {
      const found = await this.#bucket.find(copy.to, options);
      if (strongEtag(found?.ETag) === copy.etag) return copy.etag;
    }
    throw new AlreadyExistsError({ cause: refusal });
  }

  async #copyWhole(
    { from, to }: Copy,
    conditional: boolean,
    { signal }: OperationOptions,
  ): Promise<string | undefined> {
    const input = {
      ...this.#bucket.storedAs,
      ...(conditional ? { IfNoneMatch: '*' } : {}),
      Bucket: this.#bucket.name,
      Key: to,
      CopySource: sourceOf(this.#bucket, from),
    };
    signal?.throwIfAborted();
    try {
      // Without the signal: a copy that was given up could appear after its folder was cleared away.
      const answer = await this.#bucket.connection.send(
        `CopyObject ${from}`,
        undefined,
        ({ sdk, client, http }) => client.send(new sdk.CopyObjectCommand(input), http),
      );
      return strongEtag(answer.CopyObjectResult?.ETag);
    } catch (error) {
      const isMissing = await this.#bucket.isMissing(error, from, { signal });
      throw isMissing ? new NotFoundError({ cause: error }) : error;
    }
  }

  async #copyParts(copy: Copy, options: OperationOptions): Promise<string | undefined> {
    const head = await this.#bucket.head(copy.from, options);
    const size = head.ContentLength ?? copy.size;
    // An object that has shrunk meanwhile, down to nothing, has no ranges.
    if (size === 0) return this.copy({ ...copy, size }, options);
    const conditional = copy.createOnly && this.#conditional.known.complete;
    const etag = strongEtag(head.ETag);
    const target = {
      key: copy.to,
      attributes: attributesOf(this.#bucket, head),
      condition: conditional ? { IfNoneMatch: '*' } : {},
      check: async () => {
        if (copy.createOnly && !conditional) await this.requireFree(copy.to, options);
        if (!this.#namesVersions && etag !== undefined)
          await this.#bucket.requireVersion(copy.from, etag, options);
      },
    };
    const named = this.#namesVersions ? head.ETag : undefined;
    try {
      const ranges = this.#ranges(copy, { size, etag: named }, options);
      return (await inParts(this.#bucket, target, options, ranges)).etag;
    } catch (error) {
      if (!(error instanceof ChangedMeanwhileError)) throw error;
      // Refused is either end: a source that has changed, or a target that is taken.
      if (conditional && (await this.#bucket.find(copy.to, options)) !== undefined)
        throw new AlreadyExistsError({ cause: error });
      if (named === undefined || etag === undefined) throw error;
      await this.#bucket.requireVersion(copy.from, etag, options);
      this.#namesVersions = false;
      return this.#copyParts(copy, options);
    }
  }

  #ranges(
    copy: Copy,
    { size, etag }: { readonly size: number; readonly etag: string | undefined },
    options: OperationOptions,
  ): SendParts {
    const length = Math.max(RANGE_BYTES, partBytes(size, 0));
    const source = {
      CopySource: sourceOf(this.#bucket, copy.from),
      // All ranges are of one version.
      ...(etag === undefined ? {} : { CopySourceIfMatch: etag }),
    };
    return async ({ key, id }, add) => {
      const limiter = createLimiter(RANGES_AT_ONCE);
      try {
        for (let start = 0; start < size; start += length) {
          const PartNumber = start / length + 1;
          const CopySourceRange = `bytes=${start}-${Math.min(size, start + length) - 1}`;
          const part = { Bucket: this.#bucket.name, Key: key, UploadId: id, PartNumber, CopySourceRange };
          await limiter.add(async () => {
            const answer = await this.#bucket.connection.send(
              `UploadPartCopy ${copy.from}`,
              options.signal,
              ({ sdk, client, http }) =>
                client.send(new sdk.UploadPartCopyCommand({ ...source, ...part }), http),
            );
            add({ PartNumber, ETag: answer.CopyPartResult?.ETag });
          });
        }
      } finally {
        await limiter.drain();
      }
      return size;
    };
  }
}
