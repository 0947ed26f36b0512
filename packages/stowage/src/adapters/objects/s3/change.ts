import { createHash } from 'node:crypto';
import type { HeadObjectCommandOutput, StorageClass } from '@aws-sdk/client-s3';
import { createLimiter } from '../../../basics/concurrency/queues.ts';
import {
  AlreadyExistsError,
  ChangedMeanwhileError,
  NotFoundError,
  UnsupportedError,
} from '../../../errors/errors.ts';
import { PART_BYTES, type Copy } from '../core/objects.ts';
import { partBytes } from '../core/parts.ts';
import { firstKey } from '../core/lookup.ts';
import { strongEtag } from '../../remote/core/http.ts';
import { passBody } from '../../remote/core/body.ts';
import type { OperationOptions } from '../../../storage/adapter.ts';
import { attemptsOf } from '../core/requests.ts';
import { WRITE_MARK, type Bucket } from './requests.ts';
import { isUnknownCondition, type ConditionalWrites } from './conditional-writes.ts';
import { beginMultipart, MAX_PARTS, type MultipartTarget } from './write.ts';

const RANGES_AT_ONCE = 4;
const RANGE_BYTES = 2 * PART_BYTES;

const sourceOf = (bucket: Bucket, key: string): string =>
  `${encodeURIComponent(bucket.name)}/${key.split('/').map(encodeURIComponent).join('/')}`;

const storedAs = (bucket: Bucket, storageClass: string | undefined) => ({
  ...(storageClass === undefined || storageClass === 'STANDARD'
    ? {}
    : { StorageClass: storageClass as StorageClass }),
  ...bucket.storedAs,
});

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
  ...storedAs(bucket, head.StorageClass),
});

/** An object as it was found. */
type Found = readonly [key: string, head: HeadObjectCommandOutput];

/** Copies objects at the service, without their bytes passing through here. */
export class Copier {
  readonly #bucket: Bucket;
  readonly #conditional: ConditionalWrites;
  // Sent until a service refuses the header: some obey it, some ignore it.
  #sendsCondition = true;
  // Sent until a service refuses it: Swift for what was stored in parts, others the header as such.
  #namesVersions = true;
  // Until a service turns out not to have them (GCS).
  #copiesParts = true;

  constructor(bucket: Bucket, conditional: ConditionalWrites) {
    this.#bucket = bucket;
    this.#conditional = conditional;
  }

  /** Whether the service refuses a taken key by itself. */
  get isDecided(): boolean {
    return this.#conditional.known.copy && this.#sendsCondition;
  }

  /**
   * Copies an object with its metadata: in one request up to 8 MB, else in parts (one request per 16 MB, and
   * two or three more). Returns the version of the copy.
   * @throws NotFoundError (the source), AlreadyExistsError
   */
  async copy(copy: Copy, options: OperationOptions): Promise<string | undefined> {
    if (copy.size > PART_BYTES && this.#copiesParts) return this.#copyParts(copy, options);
    const conditional = copy.createOnly && this.#sendsCondition;
    if (copy.createOnly && !conditional && !copy.isCheckedFree) await this.#requireFree(copy.to, options);
    try {
      return await this.#copyWhole(copy, conditional, options);
    } catch (error) {
      if (conditional && error instanceof ChangedMeanwhileError) return this.#ownCopy(copy, error, options);
      if (!conditional || !isUnknownCondition(error)) throw error;
      this.#sendsCondition = false;
      return this.copy(copy, options);
    }
  }

  /**
   * Looks where the service does not decide by itself. One wrong answer must not cost an object, so a listing
   * is asked as well. @throws AlreadyExistsError
   */
  async #requireFree(key: string, options: OperationOptions): Promise<void> {
    if (this.isDecided) return;
    const asked = [this.#bucket.find(key, options), firstKey(this.#bucket, key, options)] as const;
    const [found, first] = await Promise.all(asked);
    if (found !== undefined || first === key) throw new AlreadyExistsError();
  }

  /**
   * The version of a copy that an earlier attempt has made, whose answer was lost.
   * @throws AlreadyExistsError
   */
  async #ownCopy(
    { from, to }: Copy,
    refusal: ChangedMeanwhileError,
    options: OperationOptions,
  ): Promise<string | undefined> {
    if (attemptsOf(refusal) > 1) {
      const [source, target] = await Promise.all(
        [from, to].map((key) => this.#bucket.findHead(key, options)),
      );
      if (source !== undefined && target !== undefined && source.ContentLength === target.ContentLength) {
        const [etag, copied] = [strongEtag(source.ETag), strongEtag(target.ETag)];
        // An object keeps its mark when it is copied.
        const mark = source.Metadata?.[WRITE_MARK];
        const haveSameMark = mark !== undefined && mark === target.Metadata?.[WRITE_MARK];
        if ((etag !== undefined && etag === copied) || haveSameMark) return copied;
        if (await this.#haveSameContent([from, source], [to, target], options)) return copied;
      }
    }
    throw new AlreadyExistsError({ cause: refusal });
  }

  /**
   * Reads both, as neither ETags nor marks tell: under a key of a key service every object has another ETag,
   * and other tools leave no mark. Copies in one request have up to 8 MB.
   */
  async #haveSameContent(one: Found, other: Found, options: OperationOptions): Promise<boolean> {
    if ((one[1].ContentLength ?? 0) > PART_BYTES) return false;
    const [mine, theirs] = await Promise.all([one, other].map((found) => this.#digestOf(found, options)));
    return mine === theirs;
  }

  async #digestOf([key, { ETag }]: Found, { signal }: OperationOptions): Promise<string> {
    const hash = createHash('sha256');
    const { body, ...answer } = await this.#bucket.get(key, { signal, ifMatch: ETag });
    for await (const chunk of passBody(body, { ...answer, signal }) as AsyncIterable<Uint8Array>)
      hash.update(chunk);
    return hash.digest('base64');
  }

  async #copyWhole(
    { from, to, storageClass }: Copy,
    conditional: boolean,
    { signal }: OperationOptions,
  ): Promise<string | undefined> {
    const input = {
      ...storedAs(this.#bucket, storageClass),
      ...(conditional ? { IfNoneMatch: '*' } : {}),
      Bucket: this.#bucket.name,
      Key: to,
      CopySource: sourceOf(this.#bucket, from),
    };
    signal?.throwIfAborted();
    try {
      // Without the signal: an aborted copy could appear after its folder was cleared away.
      const answer = await this.#bucket.requests.send(`CopyObject ${from}`, undefined, (s3) =>
        s3.copyObject(input),
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
    const named = this.#namesVersions ? head.ETag : undefined;
    const target = {
      key: copy.to,
      attributes: attributesOf(this.#bucket, head),
      condition: conditional ? { IfNoneMatch: '*' } : {},
      check: async () => {
        if (copy.createOnly && !conditional) await this.#requireFree(copy.to, options);
        if (named === undefined && etag !== undefined)
          await this.#bucket.requireVersion(copy.from, etag, options);
      },
    };
    try {
      return await this.#copyRanges(copy, target, { size, etag: named }, options);
    } catch (error) {
      await this.#learnFrom(error, { copy, conditional, named, etag }, options);
      return this.copy(copy, options);
    }
  }

  /**
   * Changes how copies in parts are sent from now on, where their refusal says something about the service.
   * @throws the error elsewhere
   */
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
    if (error instanceof UnsupportedError) {
      // The condition or the request: without the condition it shows.
      if (named === undefined) this.#copiesParts = false;
      this.#namesVersions = false;
      return;
    }
    if (!(error instanceof ChangedMeanwhileError)) throw error;
    // Refused is a source that has changed, or a target that is taken.
    if (conditional && (await this.#bucket.find(copy.to, options)) !== undefined)
      throw new AlreadyExistsError({ cause: error });
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
    // All ranges are of one version.
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
      // A part that lands after the upload was aborted would stay.
      await limiter.drain().catch(() => undefined);
      await upload.abort();
      throw error;
    }
  }
}
