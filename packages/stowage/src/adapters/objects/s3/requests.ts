import type { Readable } from 'node:stream';
import type {
  CreateMultipartUploadCommandInput,
  HeadObjectCommandOutput,
  ListObjectsV2CommandOutput,
  PutObjectCommandInput,
  PutObjectCommandOutput,
  S3,
} from '@aws-sdk/client-s3';
import {
  ChangedMeanwhileError,
  CorruptError,
  NotFoundError,
  orUndefined,
  StorageDeniedError,
  StowageError,
  UnsupportedError,
} from '../../../errors/errors.ts';
import { contentTypeOf } from '../core/keys.ts';
import { firstKey } from '../core/lookup.ts';
import {
  pagesOf,
  type Download,
  type Listing,
  type ObjectFacts,
  type ObjectPage,
  type PageOptions,
} from '../core/objects.ts';
import type { Http, Requests } from '../core/requests.ts';
import { markedWrite, type MarkedObject } from '../core/uploads.ts';
import { strongEtag, wholeSize } from '../../remote/core/http.ts';
import type { OperationOptions, ReadOptions } from '../../../storage/adapter.ts';
import { reservedOf, type KnownServices } from './known-services.ts';
import { openRequests, serviceTime } from './connection.ts';
import { sendsChecksums, type S3Options } from './options.ts';

/** Metadata by which a write recognises its own object after a lost response. */
export const WRITE_MARK = 'stowage-write';

/** The condition of a write, decided by the service, and how to cache the object instead of as configured. */
export type Condition = Pick<PutObjectCommandInput, 'IfNoneMatch' | 'IfMatch' | 'CacheControl'>;

/** The error of a conditional write: AWS calls an object that must have one version, and is gone, not found. */
export const unmetCondition = (error: unknown, { IfMatch }: Condition): unknown =>
  IfMatch !== undefined && error instanceof NotFoundError
    ? new ChangedMeanwhileError({ cause: error.cause })
    : error;

/** Configured attributes of all new objects of the source. */
type StoredAs = Pick<PutObjectCommandInput, 'ServerSideEncryption' | 'SSEKMSKeyId' | 'StorageClass'>;

/** Content that can be opened again for every attempt. */
export interface SizedContent {
  readonly size: number;
  open(): Readable;
}

/** Decodes a key. Some services declare an encoding that they have not applied. */
const decoded = (text: string, encoding: string | undefined): string =>
  encoding === 'url' ? (orUndefined(() => decodeURIComponent(text.replaceAll('+', ' '))) ?? text) : text;

/** Rejects a response that is not a listing, which would look like an empty one. @throws CorruptError */
const requireListing = (output: ListObjectsV2CommandOutput): void => {
  const { Name, MaxKeys, KeyCount, IsTruncated, Contents, CommonPrefixes } = output;
  if ([Name, MaxKeys, KeyCount, IsTruncated, Contents, CommonPrefixes].every((part) => part === undefined))
    throw new CorruptError({ detail: 'no listing came back: is endpoint the address of an S3 service?' });
};

/** @throws CorruptError for a listing that ends early */
const listingIn = (output: ListObjectsV2CommandOutput, now: number): Listing => {
  requireListing(output);
  const { IsTruncated, NextContinuationToken, EncodingType, Contents = [], CommonPrefixes = [] } = output;
  if (IsTruncated === true && NextContinuationToken === undefined)
    throw new CorruptError({ detail: 'the service does not report how the listing continues' });
  return {
    objects: Contents.flatMap((object) =>
      object.Key === undefined
        ? []
        : { key: decoded(object.Key, EncodingType), ...factsOf(object, object.Size, now) },
    ),
    prefixes: CommonPrefixes.flatMap(({ Prefix }) =>
      Prefix === undefined ? [] : decoded(Prefix, EncodingType),
    ),
    next: IsTruncated === true ? NextContinuationToken : undefined,
  };
};

/** `now`: by the clock of the service. */
export const factsOf = (
  head: Partial<
    Pick<HeadObjectCommandOutput, 'LastModified' | 'ETag'> & { StorageClass: string | undefined }
  >,
  size: number | undefined,
  now = 0,
): ObjectFacts => {
  const etag = strongEtag(head.ETag);
  const modifiedAt = head.LastModified?.getTime();
  const reserved = reservedOf(etag, now - (modifiedAt ?? now));
  return { size, modifiedAt, etag, storageClass: head.StorageClass, reserved };
};

/** An object as the source of a copy. */
export const sourceOf = ({ name }: Bucket, key: string): string =>
  [name, ...key.split('/')].map(encodeURIComponent).join('/');

/** Requests for single objects and listings. 412 is ChangedMeanwhileError, 501 UnsupportedError. */
export class Bucket {
  readonly requests: Requests<S3>;
  readonly name: string;
  readonly storedAs: StoredAs;
  /** Announced before any part is sent: AWS rejects parts with an unannounced checksum. */
  readonly checksumOfParts: Pick<CreateMultipartUploadCommandInput, 'ChecksumAlgorithm'>;
  readonly #cacheControl: string | undefined;

  constructor(options: S3Options, services: KnownServices) {
    this.requests = openRequests(options, services);
    this.name = options.bucket;
    this.#cacheControl = options.cacheControl;
    this.checksumOfParts = sendsChecksums(options) ? { ChecksumAlgorithm: 'CRC32' } : {};
    this.storedAs = {
      ServerSideEncryption: options.serverSideEncryption,
      SSEKMSKeyId: options.sseKmsKeyId,
      StorageClass: options.storageClass as StoredAs['StorageClass'],
    };
  }

  /** Attributes of a new object, by its key. Never an ACL: the bucket decides who may read. */
  attributes(key: string): StoredAs & Pick<PutObjectCommandInput, 'ContentType' | 'CacheControl'> {
    return { ...this.storedAs, CacheControl: this.#cacheControl, ContentType: contentTypeOf(key) };
  }

  /** @throws NotFoundError */
  head(key: string, { signal }: OperationOptions): Promise<HeadObjectCommandOutput> {
    return this.requests.send(`HeadObject ${key}`, signal, (s3, http) =>
      s3.headObject({ Bucket: this.name, Key: key }, http),
    );
  }

  /** Properties of an object; undefined when no file has the key, also for a reservation. */
  async find(key: string, options: OperationOptions): Promise<ObjectFacts | undefined> {
    const head = await this.findHead(key, options);
    const facts = head && factsOf(head, head.ContentLength);
    return facts?.reserved === undefined ? facts : undefined;
  }

  /** As `head`; undefined when no object has the key. */
  async findHead(key: string, options: OperationOptions): Promise<HeadObjectCommandOutput | undefined> {
    try {
      return await this.head(key, options);
    } catch (error) {
      if (error instanceof NotFoundError || (await this.isMissing(error, key, options))) return undefined;
      throw error;
    }
  }

  /** Properties by which a write recognises its own object. */
  async findMarked(key: string): Promise<MarkedObject | undefined> {
    const head = await this.findHead(key, {});
    return head && { mark: head.Metadata?.[WRITE_MARK], etag: strongEtag(head.ETag) };
  }

  /**
   * Whether a denied request only hides that no object has the key: a login that may list only below a prefix
   * (a policy condition) gets 403 for missing objects. Costs one listing.
   */
  async isMissing(refusal: unknown, key: string, options: OperationOptions): Promise<boolean> {
    if (!(refusal instanceof StorageDeniedError)) return false;
    try {
      return (await firstKey(this, key, options)) !== key;
    } catch (error) {
      if (error instanceof StowageError) return false;
      throw error;
    }
  }

  /** @see Objects.get */
  async get(key: string, { signal, range, ifMatch }: ReadOptions): Promise<Download> {
    const Range = range === undefined ? undefined : `bytes=${range.start}-${range.end}`;
    const input = { Bucket: this.name, Key: key, Range, IfMatch: ifMatch };
    try {
      return await this.requests.download(`GetObject ${key}`, signal, async (s3, http) => {
        const output = await s3.getObject(input, http);
        const body = output.Body as Readable | undefined;
        if (body === undefined) throw new CorruptError({ detail: 'a response to GetObject has no body' });
        const length = output.ContentLength;
        const facts = factsOf(output, wholeSize(output.ContentRange) ?? length);
        if (facts.reserved === undefined) return { facts, length, body };
        body.destroy();
        throw new NotFoundError({ detail: 'the object only reserves its key' });
      });
    } catch (error) {
      throw (await this.isMissing(error, key, { signal })) ? new NotFoundError({ cause: error }) : error;
    }
  }

  /** @see Objects.pages */
  pages(
    prefix: string,
    { signal }: OperationOptions,
    { delimiter, size = 1000, after }: PageOptions = {},
  ): AsyncIterable<ObjectPage> {
    return pagesOf(async (token) => {
      const asked = { Bucket: this.name, Prefix: prefix, Delimiter: delimiter, MaxKeys: size };
      const start = token === undefined ? { StartAfter: after } : { ContinuationToken: token };
      const input = { ...asked, ...start, EncodingType: 'url' as const };
      return this.requests.send(`ListObjectsV2 ${prefix}`, signal, async (s3, http) =>
        listingIn(await s3.listObjectsV2(input, http), serviceTime(s3)),
      );
    });
  }

  /**
   * Stores an object in one request. After a lost response, a conditional write recognises its own object.
   * Returns its ETag.
   * @throws ChangedMeanwhileError when the condition fails
   */
  async put(
    key: string,
    content: Uint8Array | SizedContent,
    condition: Condition,
    options: OperationOptions,
  ): Promise<string | undefined> {
    const { IfNoneMatch, IfMatch } = condition;
    const write = async (mark: string | undefined): Promise<string | undefined> => {
      const marked = mark === undefined ? {} : { Metadata: { [WRITE_MARK]: mark } };
      const input = { ...this.attributes(key), ...condition, ...marked, Bucket: this.name, Key: key };
      return strongEtag(await this.#put(input, content, options));
    };
    const target = { createOnly: IfNoneMatch !== undefined, ifMatch: IfMatch };
    return markedWrite(target, write, () => this.findMarked(key), options);
  }

  /**
   * @param etag removes only this version; for services that support that
   * @throws ChangedMeanwhileError for another version; NotFoundError for a missing object, only on AWS and
   * with a condition
   */
  async remove(key: string, options: OperationOptions, etag?: string): Promise<void> {
    const input = { Bucket: this.name, Key: key, IfMatch: etag };
    try {
      await this.requests.send(`DeleteObject ${key}`, options.signal, (s3, http) =>
        s3.deleteObject(input, http),
      );
    } catch (error) {
      // A region of AWS without conditional removal.
      if (etag === undefined || !(error instanceof UnsupportedError)) throw error;
      await this.remove(key, options);
    }
  }

  /** @throws ChangedMeanwhileError when the key has no object of this version */
  async requireVersion(key: string, etag: string, options: OperationOptions): Promise<void> {
    const found = await this.find(key, options);
    if (found === undefined || found.etag !== etag) throw new ChangedMeanwhileError();
  }

  /** The content of a file is opened again for each attempt. */
  async #put(
    input: PutObjectCommandInput,
    content: Uint8Array | SizedContent,
    { signal }: OperationOptions,
  ): Promise<string | undefined> {
    try {
      const output = await this.requests.send(`PutObject ${String(input.Key)}`, signal, (s3, http) =>
        content instanceof Uint8Array
          ? s3.putObject({ ...input, Body: content, ContentLength: content.byteLength }, http)
          : putStream(s3, input, content, http),
      );
      return output.ETag;
    } catch (error) {
      throw unmetCondition(error, input);
    }
  }
}

const putStream = async (
  s3: S3,
  input: PutObjectCommandInput,
  content: SizedContent,
  { abortSignal }: Http,
): Promise<PutObjectCommandOutput> => {
  const Body = content.open();
  const end = new AbortController();
  Body.once('error', (error) => end.abort(error));
  const signals = abortSignal === undefined ? [end.signal] : [end.signal, abortSignal];
  try {
    const http = { abortSignal: AbortSignal.any(signals) };
    return await s3.putObject({ ...input, Body, ContentLength: content.size }, http);
  } finally {
    // A request whose response came before its end must release its connection.
    end.abort();
    Body.destroy();
  }
};
