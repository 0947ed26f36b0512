import { createHash } from 'node:crypto';
import type { HeadObjectCommandOutput, StorageClass } from '@aws-sdk/client-s3';
import { createLimiter } from '../../../basics/concurrency/queues.ts';
import * as errors from '../../../errors/errors.ts';
import { PART_BYTES, type Copy } from '../core/objects.ts';
import { partBytes } from '../core/parts.ts';
import { firstKey } from '../core/lookup.ts';
import { strongEtag, timeOf } from '../../remote/core/http.ts';
import { passBody } from '../../remote/core/body.ts';
import type { OperationOptions } from '../../../storage/adapter.ts';
import { attemptsOf, failedRequest } from '../core/requests.ts';
import { sourceOf, WRITE_MARK, type Bucket } from './requests.ts';
import { isUnknownCondition, type ConditionalWrites } from './conditional-writes.ts';
import { beginMultipart, MAX_PARTS, MAX_SINGLE_BYTES, type MultipartTarget } from './write.ts';

const NOT_ASCII = /[^ -~]/u;
const RANGES_AT_ONCE = 4;
const RANGE_BYTES = 2 * PART_BYTES;

const storedAs = ({ storedAs: configured }: Bucket, storageClass: string | undefined) => {
  const kept = storageClass === 'STANDARD' ? undefined : (storageClass as StorageClass | undefined);
  return { ...configured, StorageClass: configured.StorageClass ?? kept };
};

/** Attributes of the source that a copy in parts does not keep by itself. */
const attributesOf = (bucket: Bucket, head: HeadObjectCommandOutput, storageClass?: string) => {
  const { ContentType, ContentDisposition, ContentEncoding, ContentLanguage, CacheControl, Metadata } = head;
  const kept = { ContentType, ContentDisposition, ContentEncoding, ContentLanguage, CacheControl, Metadata };
  const expiresAt = timeOf(head.ExpiresString);
  const Expires = expiresAt === undefined ? undefined : new Date(expiresAt);
  return { ...kept, Expires, ...storedAs(bucket, storageClass) };
};

type Found = readonly [key: string, head: HeadObjectCommandOutput];

/** Copies objects at the service, without passing bytes through this process. */
export class Copier {
  readonly #bucket: Bucket;
  readonly #conditional: ConditionalWrites;
  // Sent until the service rejects the header: some services support it, some ignore it.
  #sendsCondition = true;
  // Sent until the service rejects it: Swift does for objects stored in parts, others always.
  #namesVersions = true;
  // Until the service turns out to lack it (GCS).
  #copiesParts = true;

  constructor(bucket: Bucket, conditional: ConditionalWrites) {
    this.#bucket = bucket;
    this.#conditional = conditional;
  }

  /** Whether the service itself rejects a taken key, for the copy or for a reservation. */
  get isDecided(): boolean {
    const { copy, reserve = false } = this.#conditional.known;
    return (copy && this.#sendsCondition) || reserve;
  }

  /**
   * Copies an object with its metadata: in one request up to 8 MB, or 5 GB where the metadata are not in ASCII;
   * else in parts (one request per 16 MB, and two or three more). Returns the ETag of the copy.
   * @throws NotFoundError (the source), AlreadyExistsError
   */
  async copy(copy: Copy, options: OperationOptions): Promise<string | undefined> {
    if (copy.createOnly) await this.#conditional.learn(options);
    const isLarge = copy.size > PART_BYTES && this.#copiesParts;
    try {
      return await (isLarge ? this.#copyParts(copy, options) : this.#copyAtOnce(copy, options));
    } catch (error) {
      if (copy.storageClass === undefined || failedRequest(error)?.code !== 'InvalidStorageClass')
        throw error;
      // MinIO and Scality report the tier that an object was moved to, and reject it for a new one.
      return this.copy({ ...copy, storageClass: undefined }, options);
    }
  }

  async #copyAtOnce(copy: Copy, options: OperationOptions): Promise<string | undefined> {
    const { known } = this.#conditional;
    const conditional = copy.createOnly && this.#sendsCondition && (known.copy || known.reserve !== true);
    const free = copy.createOnly && !conditional ? await this.#claim(copy, options) : undefined;
    try {
      return await this.#copyWhole(copy, conditional, options);
    } catch (error) {
      await free?.(error);
      if (conditional && error instanceof errors.ChangedMeanwhileError)
        return this.#ownCopy(copy, error, options);
      if (!conditional || !isUnknownCondition(error)) throw error;
      // AWS calls other things an invalid argument.
      if (known.copy && !(error instanceof errors.UnsupportedError)) throw error;
      this.#sendsCondition = false;
      return this.#copyAtOnce(copy, options);
    }
  }

  /**
   * Reserves a key, and returns how to free it; or checks that it is free. One wrong response must not cost an
   * object, so a listing is checked as well. @throws AlreadyExistsError
   */
  async #claim({ to: key, isCheckedFree }: Pick<Copy, 'to' | 'isCheckedFree'>, options: OperationOptions) {
    if (this.#conditional.known.reserve === true) return this.#conditional.reserve(key, options);
    if (isCheckedFree) return undefined;
    const asked = [this.#bucket.find(key, options), firstKey(this.#bucket, key, options)] as const;
    const [found, first] = await Promise.all(asked);
    if (found !== undefined || first === key) throw new errors.AlreadyExistsError();
    return undefined;
  }

  /**
   * The ETag of a copy that an earlier attempt with a lost response has made.
   * @throws AlreadyExistsError
   */
  async #ownCopy(copy: Copy, refusal: errors.ChangedMeanwhileError, options: OperationOptions) {
    const made = attemptsOf(refusal) > 1 ? await this.#findCopy(copy, options) : undefined;
    if (made === undefined) throw new errors.AlreadyExistsError({ cause: refusal });
    return made.etag;
  }

  /** The ETag of the target, where it is a copy of the source. */
  async #findCopy({ from, to }: Copy, options: OperationOptions) {
    const [source, target] = await Promise.all([from, to].map((key) => this.#bucket.findHead(key, options)));
    if (source === undefined || target === undefined || source.ContentLength !== target.ContentLength)
      return undefined;
    const etag = strongEtag(target.ETag);
    // A copied object keeps its mark.
    const mark = source.Metadata?.[WRITE_MARK];
    const isSame =
      (etag !== undefined && etag === strongEtag(source.ETag)) ||
      (mark !== undefined && mark === target.Metadata?.[WRITE_MARK]) ||
      (await this.#haveSameContent([from, source], [to, target], options));
    return isSame ? { etag } : undefined;
  }

  /**
   * Compares the contents of both, up to 8 MB, where neither ETags nor marks decide: with KMS encryption every
   * object has another ETag, and other tools set no mark.
   */
  async #haveSameContent(one: Found, other: Found, options: OperationOptions): Promise<boolean> {
    if ((one[1].ContentLength ?? 0) > PART_BYTES) return false;
    const [mine, theirs] = await Promise.all([one, other].map((found) => this.#digestOf(found, options)));
    return mine === theirs;
  }

  async #digestOf([key, { ETag }]: Found, { signal }: OperationOptions): Promise<string> {
    const hash = createHash('sha256');
    const { body, ...output } = await this.#bucket.get(key, { signal, ifMatch: ETag });
    for await (const chunk of passBody(body, { ...output, signal }) as AsyncIterable<Uint8Array>)
      hash.update(chunk);
    return hash.digest('base64');
  }

  async #copyWhole(copy: Copy, conditional: boolean, { signal }: OperationOptions) {
    const { from, to, storageClass } = copy;
    const input = {
      ...storedAs(this.#bucket, storageClass),
      ...(conditional ? { IfNoneMatch: '*' } : {}),
      Bucket: this.#bucket.name,
      Key: to,
      CopySource: sourceOf(this.#bucket, from),
    };
    signal?.throwIfAborted();
    try {
      // Without the signal: an aborted copy could appear after its folder was removed.
      const output = await this.#bucket.requests.send(`CopyObject ${from}`, undefined, (s3) =>
        s3.copyObject(input),
      );
      const etag = strongEtag(output.CopyObjectResult?.ETag);
      if (etag !== undefined) return etag;
      // Ceph reports a copy that failed after its beginning as a success without an ETag.
      const made = await this.#findCopy(copy, {});
      if (made === undefined)
        throw new errors.StorageUnavailableError({ detail: 'a copy ended without an ETag' });
      return made.etag;
    } catch (error) {
      const isMissing = await this.#bucket.isMissing(error, from, { signal });
      throw isMissing ? new errors.NotFoundError({ cause: error }) : error;
    }
  }

  async #copyParts(copy: Copy, options: OperationOptions): Promise<string | undefined> {
    const head = await this.#bucket.head(copy.from, options);
    const size = head.ContentLength ?? copy.size;
    const attributes = attributesOf(this.#bucket, head, copy.storageClass);
    // An object that has been emptied in the meantime has no ranges. The SDK signs other letters than those of
    // ASCII wrongly, and metadata that fit into no header are missing: only the service can copy these.
    const isSendable = head.MissingMeta === undefined && !NOT_ASCII.test(JSON.stringify(attributes));
    if (size === 0 || (!isSendable && size <= MAX_SINGLE_BYTES))
      return this.#copyAtOnce({ ...copy, size }, options);
    const conditional = copy.createOnly && this.#conditional.known.complete;
    const etag = strongEtag(head.ETag);
    // A proxy may have made it weak, and the service would not find it equal to its own.
    const named = this.#namesVersions ? head.ETag?.replace(/^W\//u, '') : undefined;
    const target = {
      key: copy.to,
      attributes,
      condition: conditional ? { IfNoneMatch: '*' } : {},
      check: async () => {
        if (named === undefined && etag !== undefined)
          await this.#bucket.requireVersion(copy.from, etag, options);
        if (!copy.createOnly || conditional) return undefined;
        return this.#claim({ to: copy.to, isCheckedFree: false }, options);
      },
    };
    try {
      return await this.#copyRanges(copy, target, { size, etag: named }, options);
    } catch (error) {
      await this.#learnFrom(error, { copy, conditional, named, etag }, options);
      return this.copy(copy, options);
    }
  }

  /** Changes how further copies in parts are sent, by a limitation of the service. @throws other errors */
  async #learnFrom(
    error: unknown,
    sent: {
      readonly copy: Copy;
      readonly conditional: boolean;
      readonly named: string | undefined;
      readonly etag: string | undefined;
    },
    options: OperationOptions,
  ): Promise<void> {
    const { copy, conditional, named, etag } = sent;
    if (error instanceof errors.UnsupportedError) {
      // Either the condition or the request is unsupported: the next attempt shows which.
      if (named === undefined) this.#copiesParts = false;
      this.#namesVersions = false;
      return;
    }
    if (!(error instanceof errors.ChangedMeanwhileError)) throw error;
    // Either the source has changed, or the target is taken.
    if (conditional && (await this.#bucket.find(copy.to, options)) !== undefined)
      throw new errors.AlreadyExistsError({ cause: error });
    if (named === undefined || etag === undefined) throw error;
    await this.#bucket.requireVersion(copy.from, etag, options);
    this.#namesVersions = false;
  }

  async #copyRanges(
    { from }: Copy,
    target: MultipartTarget,
    { size, etag }: { readonly size: number; readonly etag: string | undefined },
    options: OperationOptions,
  ): Promise<string | undefined> {
    const length = Math.max(RANGE_BYTES, partBytes(size, 0, MAX_PARTS));
    // All ranges must be of the same version.
    const condition = etag === undefined ? {} : { CopySourceIfMatch: etag };
    const source = { CopySource: sourceOf(this.#bucket, from), ...condition };
    const upload = await beginMultipart(this.#bucket, target, options);
    const limiter = createLimiter(RANGES_AT_ONCE);
    try {
      for (let start = 0; start < size; start += length) {
        const PartNumber = start / length + 1;
        const CopySourceRange = `bytes=${start}-${Math.min(size, start + length) - 1}`;
        const part = { ...upload.named, PartNumber, CopySourceRange };
        await limiter.add(async () => {
          const { CopyPartResult } = await this.#bucket.requests.send(
            `UploadPartCopy ${from}`,
            options.signal,
            (s3, http) => s3.uploadPartCopy({ ...source, ...part }, http),
          );
          upload.add({ PartNumber, ETag: CopyPartResult?.ETag });
        });
      }
      await limiter.drain();
      return await upload.complete();
    } catch (error) {
      // A part that arrives after the upload was aborted would remain.
      await limiter.drain().catch(() => undefined);
      await upload.abort();
      throw error;
    }
  }
}
