import { randomUUID } from 'node:crypto';
import type { Readable } from 'node:stream';
import { setTimeout as sleep } from 'node:timers/promises';
import type { BlobGetPropertiesResponse, BlockBlobUploadOptions, ContainerClient } from '@azure/storage-blob';
import {
  AlreadyExistsError,
  ChangedMeanwhileError,
  CorruptError,
  ifMissing,
  NotFoundError,
  StorageTimeoutError,
  StorageUnavailableError,
} from '../../../errors/errors.ts';
import { capabilitiesOf } from '../../capabilities.ts';
import { contentTypeOf } from '../core/keys.ts';
import {
  pagesOf,
  type Batches,
  type Copy,
  type Download,
  type ObjectFacts,
  type ObjectPage,
  type Objects,
  type PageOptions,
} from '../core/objects.ts';
import { markedWrite, Uploads, type PartedUpload, type UploadTarget } from '../core/uploads.ts';
import type { PartLimits } from '../core/parts.ts';
import { attemptsOf, type Requests } from '../core/requests.ts';
import { strongEtag, wholeSize } from '../../remote/core/http.ts';
import type { OperationOptions, ReadOptions, TemporaryUrlOptions } from '../../../storage/adapter.ts';
import { factsOf, listingOf } from './errors.ts';
import { createBatches } from './change.ts';
import { openRequests, type AzureClient } from './connection.ts';
import { SignedUrls } from './read.ts';
import type { AzureOptions } from './options.ts';

/** The most that Azure takes. */
const MAX_BLOCKS = 50_000;
/** Metadata by which a write recognises its own blob after its answer was lost. */
const WRITE_MARK = 'stowagewrite';
const COPY_POLL_MS = 200;
/** How many times `readTimeout` the service has to make a copy. */
const COPY_PATIENCE = 10;

const conditionsOf = ({ createOnly, ifMatch }: UploadTarget) => ({
  ...(createOnly ? { ifNoneMatch: '*' } : {}),
  ...(ifMatch === undefined ? {} : { ifMatch }),
});

/** All of the same length, as the service demands of one blob. */
const blockId = (upload: string, number: number): string =>
  Buffer.from(`${upload}-${String(number).padStart(6, '0')}`).toString('base64');

/** The blobs of a container. The service decides all conditions, also those of copies and removals. */
export class AzureObjects extends Uploads implements Objects {
  readonly capabilities = capabilitiesOf('azure');
  readonly decides = { copy: true, remove: true };
  readonly limits: PartLimits;
  readonly batches: Batches;
  readonly #requests: Requests<AzureClient>;
  readonly #urls: SignedUrls;
  readonly #options: AzureOptions;

  constructor(options: AzureOptions) {
    super();
    this.#options = options;
    this.#requests = openRequests(options);
    this.#urls = new SignedUrls(this.#requests);
    this.batches = createBatches(this.#requests);
    this.limits = { mostParts: MAX_BLOCKS, atOnce: options.maxConcurrency };
  }

  async find(key: string, options: OperationOptions): Promise<ObjectFacts | undefined> {
    const found = await this.#properties(key, options);
    return found === undefined ? undefined : factsOf(found, found.contentLength);
  }

  pages(
    prefix: string,
    { signal }: OperationOptions,
    { delimiter, size = 1000 }: PageOptions = {},
  ): AsyncIterable<ObjectPage> {
    return pagesOf((token) => {
      const how = { maxPageSize: size, ...(token === undefined ? {} : { continuationToken: token }) };
      return this.#requests.send(`List ${prefix}`, signal, ({ container }, http) =>
        listingOf(container, { prefix, delimiter }, how, http),
      );
    });
  }

  async get(key: string, { signal, range, ifMatch }: ReadOptions): Promise<Download> {
    const { start = 0, end } = range ?? {};
    const count = end === undefined ? undefined : end - start + 1;
    const conditions = ifMatch === undefined ? {} : { conditions: { ifMatch } };
    return this.#requests.download(`Get ${key}`, signal, async ({ container }, http) => {
      const how = { ...conditions, ...http, maxRetryRequests: 0 };
      const output = await container.getBlobClient(key).download(start, count, how);
      const body = output.readableStreamBody as Readable | undefined;
      if (body === undefined) throw new CorruptError({ detail: 'an answer with a blob has no body' });
      const length = output.contentLength;
      return { facts: factsOf(output, wholeSize(output.contentRange) ?? length), length, body };
    });
  }

  async put(target: UploadTarget, bytes: Buffer, options: OperationOptions): Promise<string | undefined> {
    return this.#marked(target, options, (attributes) =>
      this.#requests.send(`Put ${target.key}`, options.signal, ({ container }, http) =>
        container.getBlockBlobClient(target.key).upload(bytes, bytes.length, { ...attributes, ...http }),
      ),
    );
  }

  /** Blocks that are not committed are dropped by the service after a week, or with the next write. */
  async begin(target: UploadTarget, options: OperationOptions): Promise<PartedUpload> {
    const { key } = target;
    const { signal } = options;
    const id = randomUUID();
    return {
      send: async ({ number, bytes }) => {
        await this.#requests.send(`PutBlock ${key}`, signal, ({ container }, http) =>
          container.getBlockBlobClient(key).stageBlock(blockId(id, number), bytes, bytes.length, http),
        );
      },
      complete: (parts) => {
        const blocks = Array.from({ length: parts }, (_, index) => blockId(id, index + 1));
        return this.#marked(target, options, (attributes) =>
          this.#requests.send(`PutBlockList ${key}`, signal, ({ container }, http) =>
            container.getBlockBlobClient(key).commitBlockList(blocks, { ...attributes, ...http }),
          ),
        );
      },
      abort: async () => undefined,
    };
  }

  async copy(copy: Copy, options: OperationOptions): Promise<string | undefined> {
    const { from, to, etag, createOnly } = copy;
    options.signal?.throwIfAborted();
    try {
      // Without the signal: an aborted copy could appear after its folder was cleared away.
      return await this.#requests.send(`Copy ${from}`, undefined, ({ container }) =>
        this.#copy(container, copy, options),
      );
    } catch (error) {
      options.signal?.throwIfAborted();
      if (!(error instanceof ChangedMeanwhileError)) throw error;
      const source = await this.find(from, options);
      if (source === undefined) throw new NotFoundError({ cause: error });
      if (etag !== undefined && source.etag !== etag) throw error;
      if (!createOnly) throw error;
      const made = attemptsOf(error) > 1 ? await this.#properties(to, options) : undefined;
      const isOurs = made?.copySource !== undefined && made.contentLength === source.size;
      if (isOurs && (await this.#isCopyOf(from, made.copySource))) return strongEtag(made.etag);
      throw new AlreadyExistsError({ cause: error });
    }
  }

  async remove(key: string, { signal }: OperationOptions, etag?: string): Promise<void> {
    const conditions = etag === undefined ? {} : { conditions: { ifMatch: etag } };
    const removal = this.#requests.send(`Delete ${key}`, signal, ({ container }, http) =>
      container.getBlobClient(key).delete({ ...conditions, ...http }),
    );
    await removal.catch(async (error: unknown) => {
      // A condition fails on what is not there, too. An attempt before may have removed it.
      const hasFailed = error instanceof ChangedMeanwhileError;
      if (!hasFailed || (await this.find(key, { signal })) !== undefined) ifMissing(error);
    });
  }

  signedUrl(key: string, options: TemporaryUrlOptions): Promise<string | undefined> {
    return this.#urls.of(key, options);
  }

  close(): Promise<void> {
    return this.#requests.close();
  }

  /**
   * The copy is made inside of one account, where it takes as long for a large blob as for a small one. One
   * that takes too long, or is wanted no more, is ended, and what is there of it removed.
   */
  async #copy(
    container: ContainerClient,
    { from, to, etag, createOnly, storageClass }: Copy,
    { signal }: OperationOptions,
  ): Promise<string | undefined> {
    const until = Date.now() + COPY_PATIENCE * this.#options.readTimeout * 1000;
    const tier = this.#options.accessTier ?? storageClass;
    const poller = await container.getBlobClient(to).beginCopyFromURL(container.getBlobClient(from).url, {
      conditions: createOnly ? { ifNoneMatch: '*' } : {},
      sourceConditions: etag === undefined ? {} : { ifMatch: etag },
      ...(tier === undefined ? {} : { tier }),
    });
    while (!poller.isDone()) {
      await sleep(COPY_POLL_MS, undefined, { signal }).catch(() => undefined);
      if (signal?.aborted === true || Date.now() > until) {
        const { copyId } = poller.getOperationState() as { readonly copyId?: string };
        await this.#endCopy(container, to, copyId);
        signal?.throwIfAborted();
        throw new StorageTimeoutError({ detail: 'a copy is not made in time' });
      }
      await poller.poll();
    }
    const { copyStatus, etag: made } = poller.getResult() ?? {};
    if (copyStatus !== 'success')
      throw new StorageUnavailableError({ detail: `a copy is ${copyStatus ?? 'lost'}` });
    return strongEtag(made);
  }

  /** The service leaves an empty blob with the copy's name: nothing else is removed. Never rejects. */
  async #endCopy(container: ContainerClient, to: string, copyId: string | undefined): Promise<void> {
    const blob = container.getBlobClient(to);
    try {
      await blob.abortCopyFromURL(copyId ?? '');
      const left = await blob.getProperties();
      if (left.copyId !== copyId || left.copyStatus !== 'aborted' || left.etag === undefined) return;
      await blob.delete({ conditions: { ifMatch: left.etag } });
    } catch {
      // It was made meanwhile, or replaced: whose it is now is not known.
    }
  }

  async #isCopyOf(from: string, copySource: string | undefined): Promise<boolean> {
    const url = await this.#requests.locally(
      `Copy ${from}`,
      undefined,
      async ({ container }) => container.getBlobClient(from).url,
    );
    return copySource?.split('?')[0] === url.split('?')[0];
  }

  #marked(
    target: UploadTarget,
    options: OperationOptions,
    write: (attributes: BlockBlobUploadOptions) => Promise<{ readonly etag?: string | undefined }>,
  ): Promise<string | undefined> {
    const attributes = { ...this.#attributes(target.key), conditions: conditionsOf(target) };
    return markedWrite(
      target,
      async (mark) => {
        const metadata = mark === undefined ? {} : { metadata: { [WRITE_MARK]: mark } };
        return strongEtag((await write({ ...attributes, ...metadata })).etag);
      },
      async () => {
        const found = await this.#properties(target.key, {});
        return found && { mark: found.metadata?.[WRITE_MARK], etag: strongEtag(found.etag) };
      },
      options,
    );
  }

  /** Attributes of a new blob by its key. */
  #attributes(key: string): BlockBlobUploadOptions {
    const { accessTier: tier, cacheControl: blobCacheControl } = this.#options;
    const caching = blobCacheControl === undefined ? {} : { blobCacheControl };
    return {
      blobHTTPHeaders: { blobContentType: contentTypeOf(key), ...caching },
      ...(tier === undefined ? {} : { tier }),
    };
  }

  #properties(key: string, { signal }: OperationOptions): Promise<BlobGetPropertiesResponse | undefined> {
    return this.#requests
      .send(`Head ${key}`, signal, ({ container }, http) => container.getBlobClient(key).getProperties(http))
      .catch(ifMissing);
  }
}
