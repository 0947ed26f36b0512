import type { Readable } from 'node:stream';
import type {
  GetObjectCommandOutput,
  HeadObjectCommandOutput,
  ListObjectsV2CommandOutput,
  PutObjectCommandInput,
} from '@aws-sdk/client-s3';
import {
  ChangedMeanwhileError,
  CorruptError,
  NotFoundError,
  StorageDeniedError,
  StowageError,
  UnsupportedError,
} from '../../../errors/errors.ts';
import { contentTypeOf } from '../core/keys.ts';
import { firstKey } from '../core/lookup.ts';
import { listingFailure, type ObjectFacts, type ObjectPage, type PageOptions } from '../core/objects.ts';
import { strongEtag } from '../../remote/core/http.ts';
import type { OperationOptions, ReadOptions } from '../../../storage/adapter.ts';
import { createWriteMark, type KnownServices } from './known-services.ts';
import { Connection } from './connection.ts';
import { attemptsOf, isConflict, isPassing } from './errors.ts';
import type { S3Options } from './options.ts';

/** What a write is decided by, at the service itself. */
export type Condition = Pick<PutObjectCommandInput, 'IfNoneMatch' | 'IfMatch'>;

/** Attributes that this source's objects are stored with, besides those of the single object. */
type StoredAs = Pick<PutObjectCommandInput, 'ServerSideEncryption' | 'SSEKMSKeyId' | 'StorageClass'>;

/** A content that can be read as often as it has to be sent. */
export interface SizedContent {
  readonly size: number;
  open(): Readable;
}

const present = <T extends object>(values: T): T =>
  Object.fromEntries(Object.entries(values).filter(([, value]) => value !== undefined)) as T;

/** Some services say that they have encoded, and have not. */
const decoded = (text: string, encoding: string | undefined): string => {
  if (encoding !== 'url') return text;
  try {
    return decodeURIComponent(text.replaceAll('+', ' '));
  } catch {
    return text;
  }
};

/** An answer that is not a listing would read as an empty one. @throws CorruptError */
const requireListing = (answer: ListObjectsV2CommandOutput): void => {
  const { Name, MaxKeys, KeyCount, IsTruncated, Contents, CommonPrefixes } = answer;
  if ([Name, MaxKeys, KeyCount, IsTruncated, Contents, CommonPrefixes].every((part) => part === undefined))
    throw new CorruptError({ detail: 'no listing came back: is endpoint the address of an S3 service?' });
};

/** The next page; undefined after the last. @throws CorruptError for a listing that ends early or never */
const nextToken = (
  { IsTruncated, NextContinuationToken }: ListObjectsV2CommandOutput,
  token: string | undefined,
): string | undefined => {
  if (IsTruncated !== true) return undefined;
  if (NextContinuationToken === undefined || NextContinuationToken === token)
    throw new CorruptError({ detail: 'the service does not report how a listing goes on' });
  return NextContinuationToken;
};

const pageOf = (answer: ListObjectsV2CommandOutput): ObjectPage => ({
  isLast: answer.IsTruncated !== true,
  objects: (answer.Contents ?? []).flatMap(({ Key, Size, LastModified, ETag, StorageClass }) =>
    Key === undefined
      ? []
      : {
          key: decoded(Key, answer.EncodingType),
          size: Size,
          modifiedAt: LastModified?.getTime(),
          etag: strongEtag(ETag),
          storageClass: StorageClass,
        },
  ),
  prefixes: (answer.CommonPrefixes ?? []).flatMap(({ Prefix }) =>
    Prefix === undefined ? [] : decoded(Prefix, answer.EncodingType),
  ),
});

/** What an answer about an object says of it. */
export const factsOf = (
  head: Pick<HeadObjectCommandOutput, 'LastModified' | 'ETag' | 'StorageClass'>,
  size: number | undefined,
): ObjectFacts => ({
  size,
  modifiedAt: head.LastModified?.getTime(),
  etag: strongEtag(head.ETag),
  storageClass: head.StorageClass,
});

/** Requests for single objects and listings. 412 is ChangedMeanwhileError, 501 UnsupportedError. */
export class Bucket {
  readonly connection: Connection;
  readonly name: string;
  readonly storedAs: StoredAs;
  readonly #cacheControl: string | undefined;

  constructor(options: S3Options, services: KnownServices) {
    this.connection = new Connection(options, services);
    this.name = options.bucket;
    this.#cacheControl = options.cacheControl;
    this.storedAs = present<StoredAs>({
      ServerSideEncryption: options.serverSideEncryption,
      SSEKMSKeyId: options.sseKmsKeyId,
      StorageClass: options.storageClass as StoredAs['StorageClass'],
    });
  }

  /** Attributes of a new object by its key. Never an ACL: the bucket decides who may read. */
  attributes(key: string): StoredAs & Pick<PutObjectCommandInput, 'ContentType' | 'CacheControl'> {
    const named = { CacheControl: this.#cacheControl, ContentType: contentTypeOf(key) };
    return { ...this.storedAs, ...present(named) };
  }

  /** @throws NotFoundError */
  head(key: string, { signal }: OperationOptions): Promise<HeadObjectCommandOutput> {
    return this.connection.send(`HeadObject ${key}`, signal, (s3, http) =>
      s3.headObject({ Bucket: this.name, Key: key }, http),
    );
  }

  /** What is known of an object; undefined where nothing has the key. */
  async find(key: string, options: OperationOptions): Promise<ObjectFacts | undefined> {
    const head = await this.findHead(key, options);
    return head === undefined ? undefined : factsOf(head, head.ContentLength);
  }

  /** As `head`, undefined where nothing has the key. */
  async findHead(key: string, options: OperationOptions): Promise<HeadObjectCommandOutput | undefined> {
    try {
      return await this.head(key, options);
    } catch (error) {
      if (error instanceof NotFoundError || (await this.isMissing(error, key, options))) return undefined;
      throw error;
    }
  }

  /**
   * Whether a refusal only hides that nothing has the key: who may only list below a prefix (a condition of
   * the policy) gets 403 for what does not exist. Costs one listing.
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

  /** The body's connection is given back by `release`. @throws NotFoundError, ChangedMeanwhileError */
  async get(
    key: string,
    { signal, range, ifMatch }: ReadOptions,
  ): Promise<{ readonly output: GetObjectCommandOutput; readonly release: () => void }> {
    const Range = range === undefined ? undefined : `bytes=${range.start}-${range.end}`;
    const input = { Bucket: this.name, Key: key, ...present({ Range, IfMatch: ifMatch }) };
    try {
      return await this.connection.sendRead(`GetObject ${key}`, signal, (s3, http) =>
        s3.getObject(input, http),
      );
    } catch (error) {
      throw (await this.isMissing(error, key, { signal })) ? new NotFoundError({ cause: error }) : error;
    }
  }

  /** Keys that begin so, by their bytes; with a delimiter those of one folder. Pages may be empty. */
  async *pages(
    prefix: string,
    { signal }: OperationOptions,
    { delimiter, size = 1000, after }: PageOptions = {},
  ): AsyncGenerator<ObjectPage, void, undefined> {
    let token: string | undefined;
    do {
      const fixed = { Bucket: this.name, Prefix: prefix, MaxKeys: size, EncodingType: 'url' as const };
      const StartAfter = token === undefined ? after : undefined;
      const input = { ...fixed, ...present({ Delimiter: delimiter, ContinuationToken: token, StartAfter }) };
      const answer = await this.connection
        .send(`ListObjectsV2 ${prefix}`, signal, (s3, http) => s3.listObjectsV2(input, http))
        .catch((error: unknown) => {
          throw listingFailure(error);
        });
      requireListing(answer);
      // Before a caller works with a page that may be followed by nothing but an error.
      token = nextToken(answer, token);
      yield pageOf(answer);
    } while (token !== undefined);
  }

  /**
   * Stores an object in one request. A conditional one whose answer was lost is recognised as our own.
   * Returns its version.
   * @throws ChangedMeanwhileError where the service refuses by the condition
   */
  async put(
    key: string,
    content: Uint8Array | SizedContent,
    condition: Condition,
    options: OperationOptions,
  ): Promise<string | undefined> {
    const isConditional = Object.keys(condition).length > 0;
    const mark = isConditional ? createWriteMark() : undefined;
    const Metadata = mark?.metadata;
    const input = { ...this.attributes(key), ...condition, ...present({ Metadata }), Bucket: this.name };
    try {
      const etag = await this.#put({ ...input, Key: key }, content, options);
      return strongEtag(etag);
    } catch (error) {
      const mayBeOurs = mark !== undefined && error instanceof ChangedMeanwhileError && attemptsOf(error) > 1;
      const found = mayBeOurs ? await this.findHead(key, options) : undefined;
      if (mark?.isOn(found) !== true) throw error;
      return strongEtag(found?.ETag);
    }
  }

  /**
   * Succeeds also when nothing has the key.
   * @param etag only this version; for services that are known to obey it
   * @throws ChangedMeanwhileError for another version
   */
  async remove(key: string, options: OperationOptions, etag?: string): Promise<void> {
    const input = { Bucket: this.name, Key: key, ...present({ IfMatch: etag }) };
    try {
      await this.connection.send(`DeleteObject ${key}`, options.signal, (s3, http) =>
        s3.deleteObject(input, http),
      );
    } catch (error) {
      // AWS answers so to a condition on what does not exist, which an attempt before may have removed.
      if (error instanceof NotFoundError) return;
      // A region of AWS that lacks the condition.
      if (etag === undefined || !(error instanceof UnsupportedError)) throw error;
      await this.remove(key, options);
    }
  }

  /** @throws ChangedMeanwhileError when this version does not have the key */
  async requireVersion(key: string, etag: string, options: OperationOptions): Promise<void> {
    const found = await this.find(key, options);
    if (found === undefined || found.etag !== etag) throw new ChangedMeanwhileError();
  }

  /** The SDK repeats bytes by itself; the content of a file is opened once more for each attempt. */
  async #put(
    input: PutObjectCommandInput,
    content: Uint8Array | SizedContent,
    { signal }: OperationOptions,
  ): Promise<string | undefined> {
    const operation = `PutObject ${String(input.Key)}`;
    if (content instanceof Uint8Array) {
      const body = { Body: content, ContentLength: content.byteLength };
      const answer = await this.connection.send(operation, signal, (s3, http) =>
        s3.putObject({ ...input, ...body }, http),
      );
      return answer.ETag;
    }
    const mayRepeat = (error: unknown): boolean => isConflict(error) || isPassing(error);
    const answer = await this.connection.send(
      operation,
      signal,
      async (s3, { abortSignal }) => {
        const Body = content.open();
        const end = new AbortController();
        Body.once('error', (error) => end.abort(error));
        const signals = abortSignal === undefined ? [end.signal] : [end.signal, abortSignal];
        const http = { abortSignal: AbortSignal.any(signals) };
        try {
          return await s3.putObject({ ...input, Body, ContentLength: content.size }, http);
        } finally {
          // A request that was answered before its end must not keep its connection.
          end.abort();
          Body.destroy();
        }
      },
      mayRepeat,
    );
    return answer.ETag;
  }
}
