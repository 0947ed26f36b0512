import { randomUUID } from 'node:crypto';
import type { NameLocks } from '../../../basics/concurrency/name-locks.ts';
import {
  AlreadyExistsError,
  ChangedMeanwhileError,
  CorruptError,
  NotFoundError,
} from '../../../errors/errors.ts';
import {
  markedWrite,
  Uploads,
  type PartedUpload,
  type UploadService,
  type UploadTarget,
} from '../core/uploads.ts';
import type {
  Copy,
  Download,
  ObjectFacts,
  ObjectPage,
  Objects,
  PageOptions,
  Upload,
  Uploaded,
} from '../core/objects.ts';
import type { OperationOptions, ReadOptions } from '../../../storage/adapter.ts';
import { capabilitiesOf } from '../../capabilities.ts';
import { generationOf, versionOf, type Resource, fromGcsError } from './errors.ts';
import { GcsBucket, WRITE_MARK, type Attributes } from './requests.ts';
import { jsonOf, type GcsClient } from './connection.ts';
import type { GcsOptions } from './options.ts';
import { ResumableUpload } from './write.ts';

/** What a copy takes along. */
const EDITABLE =
  'contentType,cacheControl,contentDisposition,contentEncoding,contentLanguage,customTime,metadata,storageClass';

/** What the service decides a write by. */
const preconditionOf = ({ createOnly, ifMatch }: Pick<UploadTarget, 'createOnly' | 'ifMatch'>) => ({
  ifGenerationMatch: createOnly ? '0' : ifMatch === undefined ? undefined : generationOf(ifMatch),
});

/** Attributes and content in one body, with a boundary that no content can know. */
const multipartOf = (attributes: Attributes, bytes: Buffer, boundary: string): readonly Buffer[] => {
  const before = [
    `--${boundary}`,
    'content-type: application/json',
    '',
    JSON.stringify(attributes),
    `--${boundary}`,
    `content-type: ${attributes.contentType}`,
    '',
    '',
  ];
  const after = ['', `--${boundary}--`, ''];
  return [Buffer.from(before.join('\r\n')), bytes, Buffer.from(after.join('\r\n'))];
};

/** The objects of a bucket. The service decides all conditions by generations. */
export class GcsObjects implements Objects, UploadService {
  readonly capabilities = capabilitiesOf('gcs');
  readonly decides = { copy: true, remove: true };
  // Parts of one session follow one another.
  readonly limits: UploadService['limits'] = { mostParts: Number.MAX_SAFE_INTEGER, atOnce: 1 };
  readonly #client: GcsClient;
  readonly #options: GcsOptions;
  readonly #bucket: GcsBucket;
  readonly #uploads = new Uploads(this);

  constructor(options: GcsOptions, client: GcsClient) {
    this.#options = options;
    this.#client = client;
    this.#bucket = new GcsBucket(options, client);
  }

  get locks(): NameLocks {
    return this.#uploads.locks;
  }

  find(key: string, options: OperationOptions): Promise<ObjectFacts | undefined> {
    return this.#bucket.find(key, options);
  }

  pages(prefix: string, options: OperationOptions, how?: PageOptions): AsyncIterable<ObjectPage> {
    return this.#bucket.pages(prefix, options, how);
  }

  get(key: string, options: ReadOptions): Promise<Download> {
    return this.#bucket.get(key, options);
  }

  remove(key: string, options: OperationOptions, etag?: string): Promise<void> {
    return this.#bucket.remove(key, options, etag);
  }

  downloadFailure(error: unknown, key: string): Error {
    return fromGcsError(error, `Get ${key}`);
  }

  upload(upload: Upload, options: OperationOptions): Promise<Uploaded> {
    return this.#uploads.upload(upload, options);
  }

  async put(target: UploadTarget, bytes: Buffer, options: OperationOptions): Promise<string | undefined> {
    const { key } = target;
    const url = this.#client.url(
      '',
      { uploadType: 'multipart', name: key, ...preconditionOf(target) },
      '/upload/storage/v1',
    );
    return this.#marked(target, options, async (attributes) => {
      const boundary = randomUUID();
      const body = multipartOf(attributes, bytes, boundary);
      const headers = { 'content-type': `multipart/related; boundary=${boundary}` };
      const answer = await this.#client.send(`Put ${key}`, options.signal, () => ({
        method: 'POST',
        url,
        headers,
        body,
      }));
      const { size, generation } = jsonOf<Resource>(answer);
      if (size !== undefined && Number(size) !== bytes.length)
        throw new CorruptError({ detail: 'the service has stored another number of bytes' });
      return versionOf(generation);
    });
  }

  /** A session that is not completed leaves nothing, and ends after a week. */
  async begin(target: UploadTarget, { signal }: OperationOptions): Promise<PartedUpload> {
    const { key } = target;
    const attributes = this.#bucket.attributes(key);
    const url = this.#client.url(
      '',
      { uploadType: 'resumable', name: key, ...preconditionOf(target) },
      '/upload/storage/v1',
    );
    const headers = { 'content-type': 'application/json', 'x-upload-content-type': attributes.contentType };
    const body = [Buffer.from(JSON.stringify(attributes))];
    const answer = await this.#client.send(`Begin ${key}`, signal, () => ({
      method: 'POST',
      url,
      headers,
      body,
    }));
    return new ResumableUpload(this.#client, key, answer.headers.location, signal);
  }

  putFolder(key: string, createOnly: boolean, options: OperationOptions): Promise<void> {
    return this.#uploads.putFolder(key, createOnly, options);
  }

  /** The copy has all attributes of the source, and a mark of its own. */
  async copy({ from, to, etag, createOnly }: Copy, options: OperationOptions): Promise<string | undefined> {
    const source = await this.#bucket.resource(from, `generation,${EDITABLE}`, options);
    if (source === undefined) throw new NotFoundError();
    const { generation, ...attributes } = source;
    if (etag !== undefined && versionOf(generation) !== etag) throw new ChangedMeanwhileError();
    const { storageClass = source.storageClass } = this.#options;
    const query = {
      ifSourceGenerationMatch: generation,
      ...preconditionOf({ createOnly, ifMatch: undefined }),
    };
    const how = {
      write: (mark: string | undefined) => {
        const marked = mark === undefined ? {} : { metadata: { ...source.metadata, [WRITE_MARK]: mark } };
        return this.#rewrite({ from, to, query }, { ...attributes, storageClass, ...marked }, options);
      },
      find: () => this.#bucket.markOf(to),
    };
    try {
      return await markedWrite({ createOnly, ifMatch: undefined }, how, options);
    } catch (error) {
      if (!(error instanceof ChangedMeanwhileError)) throw error;
      const now = await this.find(from, options);
      if (now === undefined) throw new NotFoundError({ cause: error });
      throw createOnly && now.etag === versionOf(generation)
        ? new AlreadyExistsError({ cause: error })
        : error;
    }
  }

  close(): Promise<void> {
    return this.#client.close();
  }

  /** A large object may take several requests; nothing is there before the last. */
  async #rewrite(
    {
      from,
      to,
      query,
    }: {
      readonly from: string;
      readonly to: string;
      readonly query: Readonly<Record<string, string | undefined>>;
    },
    attributes: object,
    { signal }: OperationOptions,
  ): Promise<string | undefined> {
    const bucket = encodeURIComponent(this.#options.bucket);
    const path = `/${encodeURIComponent(from)}/rewriteTo/b/${bucket}/o/${encodeURIComponent(to)}`;
    const body = [Buffer.from(JSON.stringify(attributes))];
    const headers = { 'content-type': 'application/json' };
    for (let rewriteToken: string | undefined; ;) {
      signal?.throwIfAborted();
      const url = this.#client.url(path, { ...query, rewriteToken });
      // Without the signal: an aborted copy could appear after its folder was cleared away.
      const answer = await this.#client.send(`Copy ${from}`, undefined, () => ({
        method: 'POST',
        url,
        headers,
        body,
      }));
      const {
        done,
        resource,
        rewriteToken: next,
      } = jsonOf<{ done: boolean; resource?: Resource; rewriteToken?: string }>(answer);
      if (done) return versionOf(resource?.generation);
      if (next === undefined)
        throw new CorruptError({ detail: 'the service does not report how a copy goes on' });
      rewriteToken = next;
    }
  }

  #marked(
    target: UploadTarget,
    options: OperationOptions,
    write: (attributes: Attributes) => Promise<string | undefined>,
  ): Promise<string | undefined> {
    const how = {
      write: (mark: string | undefined) => write(this.#bucket.attributes(target.key, mark)),
      find: () => this.#bucket.markOf(target.key),
    };
    return markedWrite(target, how, options);
  }
}
