import type { Readable } from 'node:stream';
import type {
  CreateMultipartUploadCommandInput,
  HeadObjectCommandOutput,
  PutObjectCommandInput,
  PutObjectCommandOutput,
  S3,
} from '@aws-sdk/client-s3';
import * as errors from '../../../errors/errors.ts';
import { contentTypeOf } from '../core/keys.ts';
import { firstKey } from '../core/lookup.ts';
import { keptOf, type Download, type KeptAttributes, type ObjectFacts } from '../core/objects.ts';
import type { Http, Requests } from '../core/requests.ts';
import { markedWrite, type MarkedObject } from '../core/uploads.ts';
import { strongEtag, wholeSize } from '../../remote/core/http.ts';
import type { OperationOptions, ReadOptions } from '../../../storage/adapter.ts';
import type { KnownServices } from './known-services.ts';
import { createListings, factsOf } from './list.ts';
import { openRequests } from './connection.ts';
import { sendsChecksums, type S3Options } from './options.ts';

/** Metadata by which a write recognises its own object after a lost response. */
export const WRITE_MARK = 'stowage-write';

type Attributes = Pick<
  PutObjectCommandInput,
  'CacheControl' | 'ContentDisposition' | 'ContentLanguage' | 'Metadata'
>;

/** Attributes that new content keeps: those in ASCII, because the SDK signs other letters wrongly. */
const keptIn = (head: Attributes): KeptAttributes => {
  const ascii = (text: string | undefined) => (/^[ -~]*$/u.test(text ?? '') ? text : undefined);
  const metadata = Object.entries(head.Metadata ?? {}).filter(([, text]) => ascii(text) !== undefined);
  const kept = {
    cacheControl: ascii(head.CacheControl),
    contentDisposition: ascii(head.ContentDisposition),
    contentLanguage: ascii(head.ContentLanguage),
    metadata: Object.fromEntries(metadata),
  };
  return keptOf(kept, WRITE_MARK);
};

/** As parameters of a request. */
export const attributesIn = ({ cacheControl, ...kept }: KeptAttributes = {}): Attributes => ({
  ...(cacheControl === undefined ? {} : { CacheControl: cacheControl }),
  ContentDisposition: kept.contentDisposition,
  ContentLanguage: kept.contentLanguage,
  Metadata: kept.metadata,
});

/** The condition of a write, decided by the service, and attributes instead of the configured ones. */
export type Condition = Attributes & Pick<PutObjectCommandInput, 'IfNoneMatch' | 'IfMatch'>;

/** The error of a conditional write: AWS calls an object that must have one version, and is gone, not found. */
export const unmetCondition = (error: unknown, { IfMatch }: Condition): unknown =>
  IfMatch !== undefined && error instanceof errors.NotFoundError
    ? new errors.ChangedMeanwhileError({ cause: error.cause })
    : error;

/** Configured attributes of all new objects of the source. */
type StoredAs = Pick<PutObjectCommandInput, 'ServerSideEncryption' | 'SSEKMSKeyId' | 'StorageClass'>;

/** Content that can be opened again for every attempt. */
export interface SizedContent {
  readonly size: number;
  open(): Readable;
}

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
  readonly pages: ReturnType<typeof createListings>;
  readonly #cacheControl: string | undefined;

  constructor(options: S3Options, services: KnownServices) {
    this.requests = openRequests(options, services);
    this.name = options.bucket;
    this.#cacheControl = options.cacheControl;
    this.pages = createListings(this.name, this.requests);
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
    return facts && (facts.reserved === undefined ? { ...facts, kept: keptIn(head) } : undefined);
  }

  /** As `head`; undefined when no object has the key. */
  async findHead(key: string, options: OperationOptions): Promise<HeadObjectCommandOutput | undefined> {
    try {
      return await this.head(key, options);
    } catch (error) {
      if (error instanceof errors.NotFoundError || (await this.isMissing(error, key, options)))
        return undefined;
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
    if (!(refusal instanceof errors.StorageDeniedError)) return false;
    try {
      return (await firstKey(this, key, options)) !== key;
    } catch (error) {
      if (error instanceof errors.StowageError) return false;
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
        if (body === undefined)
          throw new errors.CorruptError({ detail: 'a response to GetObject has no body' });
        const length = output.ContentLength;
        const facts = factsOf(output, wholeSize(output.ContentRange) ?? length);
        if (facts.reserved === undefined) return { facts: { ...facts, kept: keptIn(output) }, length, body };
        body.destroy();
        throw new errors.NotFoundError({ detail: 'the object only reserves its key' });
      });
    } catch (error) {
      throw (await this.isMissing(error, key, { signal }))
        ? new errors.NotFoundError({ cause: error })
        : error;
    }
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
      const marked = mark === undefined ? {} : { Metadata: { ...condition.Metadata, [WRITE_MARK]: mark } };
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
      if (etag === undefined || !(error instanceof errors.UnsupportedError)) throw error;
      await this.remove(key, options);
    }
  }

  /** @throws ChangedMeanwhileError when the key has no object of this version */
  async requireVersion(key: string, etag: string, options: OperationOptions): Promise<void> {
    const found = await this.find(key, options);
    if (found === undefined || found.etag !== etag) throw new errors.ChangedMeanwhileError();
  }

  /** The content of a file is opened again for each attempt. */
  async #put(input: PutObjectCommandInput, content: Uint8Array | SizedContent, { signal }: OperationOptions) {
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
