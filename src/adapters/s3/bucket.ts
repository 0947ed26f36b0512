import type { Readable } from 'node:stream';
import type {
  GetObjectCommandOutput,
  HeadObjectCommandOutput,
  ListObjectsV2CommandOutput,
  PutObjectCommandInput,
} from '@aws-sdk/client-s3';
import { mimeTypeOf } from '../../content/mime-type.ts';
import {
  ChangedMeanwhileError,
  CorruptError,
  NotFoundError,
  StorageDeniedError,
  StowageError,
  UnsupportedError,
} from '../../errors/errors.ts';
import type { ByteRange, OperationOptions } from '../../storage/adapter.ts';
import { Connection } from './connection.ts';
import type { S3Options } from './options.ts';

/** An object as a listing reports it. */
export interface ListedObject {
  readonly key: string;
  readonly size: number | undefined;
  readonly modifiedAt: number | undefined;
  readonly etag: string | undefined;
}

/** One answer to a listing: at most 1,000 objects and common prefixes together. */
export interface ObjectPage {
  readonly objects: readonly ListedObject[];
  readonly prefixes: readonly string[];
}

/** What a write is decided by, at the service itself. */
export type Condition = Pick<PutObjectCommandInput, 'IfNoneMatch' | 'IfMatch'>;

/** Attributes that this source's objects are stored with, besides those of the single object. */
export type StoredAs = Pick<PutObjectCommandInput, 'ServerSideEncryption' | 'SSEKMSKeyId' | 'StorageClass'>;

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

/** Whatever is no listing would read as an empty one. @throws CorruptError */
const requireListing = (answer: ListObjectsV2CommandOutput): void => {
  const { Name, MaxKeys, KeyCount, IsTruncated, Contents, CommonPrefixes } = answer;
  if ([Name, MaxKeys, KeyCount, IsTruncated, Contents, CommonPrefixes].every((part) => part === undefined))
    throw new CorruptError({ detail: 'no listing came back: is endpoint the address of an S3 service?' });
};

/** What to ask for the next page with; undefined after the last. @throws CorruptError where a listing would end too early or never */
const nextToken = (
  { IsTruncated, NextContinuationToken }: ListObjectsV2CommandOutput,
  token: string | undefined,
): string | undefined => {
  if (IsTruncated !== true) return undefined;
  if (NextContinuationToken === undefined || NextContinuationToken === token)
    throw new CorruptError({ detail: 'the service does not tell how a listing goes on' });
  return NextContinuationToken;
};

/** A strong quoted validator, or undefined where the service gave none. */
export const strongEtag = (etag: string | undefined): string | undefined => {
  if (etag === undefined || etag === '' || etag.startsWith('W/')) return undefined;
  return etag.startsWith('"') ? etag : `"${etag}"`;
};

/** The requests that single objects and listings need. Errors are ours; 412 is ChangedMeanwhileError, 501 UnsupportedError. */
export class Bucket {
  readonly connection: Connection;
  readonly name: string;
  readonly storedAs: StoredAs;
  /** How often a request is sent at most. */
  readonly attempts: number;
  /** Ids of the uploads in parts that run through here. */
  readonly runningUploads: Set<string> = new Set();
  readonly #cacheControl: string | undefined;

  constructor(options: S3Options) {
    this.connection = new Connection(options);
    this.name = options.bucket;
    this.attempts = options.maxAttempts;
    this.#cacheControl = options.cacheControl;
    this.storedAs = present<StoredAs>({
      ServerSideEncryption: options.serverSideEncryption,
      SSEKMSKeyId: options.sseKmsKeyId,
      StorageClass: options.storageClass as StoredAs['StorageClass'],
    });
  }

  /** Attributes of a new object by its key. Never an ACL: who may read is the bucket's affair. */
  attributes(key: string): StoredAs & Pick<PutObjectCommandInput, 'ContentType' | 'CacheControl'> {
    const name = key.slice(key.lastIndexOf('/') + 1);
    const ContentType = key.endsWith('/') ? 'application/x-directory' : mimeTypeOf(name);
    return { ...this.storedAs, ...present({ CacheControl: this.#cacheControl }), ContentType };
  }

  /** @throws NotFoundError */
  head(key: string, { signal }: OperationOptions): Promise<HeadObjectCommandOutput> {
    return this.connection.send(`HeadObject ${key}`, signal, ({ sdk, client, http }) =>
      client.send(new sdk.HeadObjectCommand({ Bucket: this.name, Key: key }), http),
    );
  }

  /** As `head`, undefined where nothing has the key. */
  async find(key: string, options: OperationOptions): Promise<HeadObjectCommandOutput | undefined> {
    try {
      return await this.head(key, options);
    } catch (error) {
      if (error instanceof NotFoundError || (await this.isMissing(error, key, options))) return undefined;
      throw error;
    }
  }

  /**
   * Whether a refusal only hides that nothing has the key: whoever may list below a prefix only (a condition of the policy) is told 403
   * for what does not exist. One request.
   */
  async isMissing(refusal: unknown, key: string, options: OperationOptions): Promise<boolean> {
    if (!(refusal instanceof StorageDeniedError)) return false;
    try {
      for await (const { objects } of this.pages(key, options, { size: 1 })) return objects[0]?.key !== key;
      return true;
    } catch (error) {
      if (error instanceof StowageError) return false;
      throw error;
    }
  }

  /** The body's connection is given back by `release`. @throws NotFoundError, ChangedMeanwhileError */
  async get(
    key: string,
    request: OperationOptions & {
      readonly range?: ByteRange | undefined;
      readonly ifMatch?: string | undefined;
    },
  ): Promise<{ readonly output: GetObjectCommandOutput; readonly release: () => void }> {
    const { signal, range, ifMatch } = request;
    const conditions = present({
      Range: range === undefined ? undefined : `bytes=${range.start}-${range.end}`,
      IfMatch: ifMatch,
    });
    try {
      return await this.connection.sendRead(`GetObject ${key}`, signal, ({ sdk, client, http }) =>
        client.send(new sdk.GetObjectCommand({ Bucket: this.name, Key: key, ...conditions }), http),
      );
    } catch (error) {
      throw (await this.isMissing(error, key, { signal })) ? new NotFoundError({ cause: error }) : error;
    }
  }

  /** Whether any key begins so. One request. */
  async hasBelow(prefix: string, { signal }: OperationOptions): Promise<boolean> {
    const answer = await this.connection.send(`ListObjectsV2 ${prefix}`, signal, ({ sdk, client, http }) =>
      client.send(
        new sdk.ListObjectsV2Command({ Bucket: this.name, Prefix: prefix, MaxKeys: 1, EncodingType: 'url' }),
        http,
      ),
    );
    requireListing(answer);
    return (answer.Contents ?? []).length > 0;
  }

  /** All keys that begin so, in the order of their bytes; with a delimiter those of one folder. One request per page of 1,000 or fewer. */
  async *pages(
    prefix: string,
    { signal }: OperationOptions,
    { delimiter, size = 1000 }: { readonly delimiter?: string; readonly size?: number } = {},
  ): AsyncGenerator<ObjectPage, void, undefined> {
    let token: string | undefined;
    do {
      const input = { Bucket: this.name, Prefix: prefix, MaxKeys: size, EncodingType: 'url' as const };
      const more = present({ Delimiter: delimiter, ContinuationToken: token });
      const answer = await this.connection.send(`ListObjectsV2 ${prefix}`, signal, ({ sdk, client, http }) =>
        client.send(new sdk.ListObjectsV2Command({ ...input, ...more }), http),
      );
      requireListing(answer);
      // Before anybody works with a page that may be followed by nothing but an error.
      token = nextToken(answer, token);
      const { EncodingType: encoding } = answer;
      yield {
        objects: (answer.Contents ?? []).flatMap(({ Key, Size, LastModified, ETag }) =>
          Key === undefined
            ? []
            : {
                key: decoded(Key, encoding),
                size: Size,
                modifiedAt: LastModified?.getTime(),
                etag: strongEtag(ETag),
              },
        ),
        prefixes: (answer.CommonPrefixes ?? []).flatMap(({ Prefix }) =>
          Prefix === undefined ? [] : decoded(Prefix, encoding),
        ),
      };
    } while (token !== undefined);
  }

  /** Stores an object in one request. A stream is sent once, bytes as often as attempts are allowed. Returns its version. */
  async put(
    key: string,
    body: Uint8Array | { readonly stream: Readable; readonly size: number },
    condition: Condition,
    { signal }: OperationOptions,
    Metadata?: Readonly<Record<string, string>>,
  ): Promise<string | undefined> {
    const [Body, ContentLength] =
      body instanceof Uint8Array ? [body, body.byteLength] : [body.stream, body.size];
    const attributes = { ...this.attributes(key), ...present({ Metadata }) };
    const input = { ...attributes, ...condition, Bucket: this.name, Key: key, Body, ContentLength };
    const answer = await this.connection.send(`PutObject ${key}`, signal, ({ sdk, client, http }) =>
      client.send(new sdk.PutObjectCommand(input), http),
    );
    return strongEtag(answer.ETag);
  }

  /**
   * Succeeds also when nothing has the key.
   * @param etag only this version; for services that are known to obey it
   * @throws ChangedMeanwhileError for another version
   */
  async remove(key: string, options: OperationOptions, etag?: string): Promise<void> {
    const input = { Bucket: this.name, Key: key, ...present({ IfMatch: etag }) };
    try {
      await this.connection.send(`DeleteObject ${key}`, options.signal, ({ sdk, client, http }) =>
        client.send(new sdk.DeleteObjectCommand(input), http),
      );
    } catch (error) {
      // A region of AWS that lacks the condition.
      if (etag === undefined || !(error instanceof UnsupportedError)) throw error;
      await this.remove(key, options);
    }
  }

  /** The version under this key, or ChangedMeanwhileError when it is another one. */
  async requireVersion(key: string, etag: string, options: OperationOptions): Promise<void> {
    const found = await this.find(key, options);
    if (found === undefined || strongEtag(found.ETag) !== etag) throw new ChangedMeanwhileError();
  }
}
