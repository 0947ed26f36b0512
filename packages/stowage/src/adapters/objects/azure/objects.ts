import { randomUUID } from 'node:crypto';
import type { Readable } from 'node:stream';
import { setTimeout as sleep } from 'node:timers/promises';
import type { BlobGetPropertiesResponse, BlockBlobUploadOptions } from '@azure/storage-blob';
import * as errors from '../../../errors/errors.ts';
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
import type { OperationOptions, ReadOptions } from '../../../storage/adapter.ts';
import { fullFactsOf, listingOf, WRITE_MARK } from './errors.ts';
import { createBatches } from './change.ts';
import { openRequests, type AzureClient } from './connection.ts';
import { createSignedUrls } from './read.ts';
import { accountOf, type AzureOptions } from './options.ts';

/** Limit of Azure. */
const MAX_BLOCKS = 50_000;
const COPY_POLL_MS = 200;
/** Time limit of a copy at the service, as a multiple of `readTimeout`. */
const COPY_PATIENCE = 10;

const conditionsOf = ({ createOnly, ifMatch }: UploadTarget) => ({
  ...(createOnly ? { ifNoneMatch: '*' } : {}),
  ...(ifMatch === undefined ? {} : { ifMatch }),
});

type BegunCopy = Pick<BlobGetPropertiesResponse, 'copyId' | 'copyStatus' | 'etag'>;

/**
 * All blocks of a name must have ids of one length, also those of uploads that have ended early: 48 bytes, as
 * AzCopy, Storage Explorer and the libraries of Azure use.
 */
const blockId = (upload: string, number: number): string =>
  Buffer.from(`${upload}-${String(number).padStart(11, '0')}`).toString('base64');

/** The blobs of a container. The service decides all conditions, including those of copies and removals. */
export class AzureObjects extends Uploads implements Objects {
  readonly capabilities = capabilitiesOf('azure');
  readonly decides = { copy: true, remove: true };
  readonly limits: PartLimits;
  readonly batches: Batches;
  readonly signedUrl: Objects['signedUrl'];
  readonly #requests: Requests<AzureClient>;
  readonly #options: AzureOptions;

  constructor(options: AzureOptions) {
    super();
    this.#options = options;
    this.#requests = openRequests(options);
    const { accountUrl } = options;
    this.signedUrl = createSignedUrls(this.#requests, accountUrl && accountOf(accountUrl));
    this.batches = createBatches(this.#requests);
    this.limits = { mostParts: MAX_BLOCKS, atOnce: options.maxConcurrency };
  }

  async find(key: string, options: OperationOptions): Promise<ObjectFacts | undefined> {
    const found = await this.#properties(key, options);
    return found && fullFactsOf(found, found.contentLength);
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
      if (body === undefined) throw new errors.CorruptError({ detail: 'a response with a blob has no body' });
      const length = output.contentLength;
      return { facts: fullFactsOf(output, wholeSize(output.contentRange) ?? length), length, body };
    });
  }

  async put(target: UploadTarget, bytes: Buffer, options: OperationOptions): Promise<string | undefined> {
    return this.#marked(target, options, (attributes) =>
      this.#requests.send(`Put ${target.key}`, options.signal, ({ container }, http) =>
        container.getBlockBlobClient(target.key).upload(bytes, bytes.length, { ...attributes, ...http }),
      ),
    );
  }

  /** The service drops uncommitted blocks after a week, or with the next write. */
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
        // Without the signal, as in `put`.
        return this.#marked(target, {}, (attributes) =>
          this.#requests.send(`PutBlockList ${key}`, undefined, ({ container }, http) =>
            container.getBlockBlobClient(key).commitBlockList(blocks, { ...attributes, ...http }),
          ),
        );
      },
      abort: async () => undefined,
    };
  }

  async copy(copy: Copy, options: OperationOptions): Promise<string | undefined> {
    options.signal?.throwIfAborted();
    const begun = await this.#beginCopy(copy).catch((error: unknown) =>
      this.#begunBefore(copy, error, options),
    );
    return begun.copyStatus === 'success'
      ? strongEtag(begun.etag)
      : this.#awaitCopy(copy.to, begun.copyId, options);
  }

  async remove(key: string, { signal }: OperationOptions, etag?: string): Promise<void> {
    const conditions = etag === undefined ? {} : { conditions: { ifMatch: etag } };
    const removal = this.#requests.send(`Delete ${key}`, signal, ({ container }, http) =>
      container.getBlobClient(key).delete({ ...conditions, ...http }),
    );
    await (etag === undefined
      ? removal.catch(errors.ifMissing)
      : this.settleRemoval(removal, key, { signal }));
  }

  close(): Promise<void> {
    return this.#requests.close();
  }

  /** Without the signal: an aborted copy could appear after its folder was removed. */
  #beginCopy({ from, to, etag, createOnly, storageClass }: Copy): Promise<BegunCopy> {
    const tier = this.#options.accessTier ?? storageClass;
    return this.#requests.send(`Copy ${from}`, undefined, async ({ container }) => {
      const poller = await container.getBlobClient(to).beginCopyFromURL(container.getBlobClient(from).url, {
        conditions: createOnly ? { ifNoneMatch: '*' } : {},
        sourceConditions: etag === undefined ? {} : { ifMatch: etag },
        ...(tier === undefined ? {} : { tier }),
      });
      return poller.getResult() ?? (poller.getOperationState() as BegunCopy);
    });
  }

  /** The copy that an earlier attempt started, whose response was lost. @throws the rejection */
  async #begunBefore({ from, to, etag, createOnly }: Copy, refusal: unknown, options: OperationOptions) {
    options.signal?.throwIfAborted();
    const isTaken = refusal instanceof errors.ChangedMeanwhileError;
    if (!isTaken && !(refusal instanceof errors.BusyError)) throw refusal;
    const source = await this.find(from, options);
    if (source === undefined) throw new errors.NotFoundError({ cause: refusal });
    if (!createOnly || (etag !== undefined && source.etag !== etag)) throw refusal;
    const made = attemptsOf(refusal) > 1 ? await this.#copyOf(from, source, to, options) : undefined;
    if (made !== undefined) return made;
    throw isTaken ? new errors.AlreadyExistsError({ cause: refusal }) : refusal;
  }

  /** The existing copy of an object under another key; undefined when the key holds another object. */
  async #copyOf(from: string, { size }: ObjectFacts, to: string, options: OperationOptions) {
    const made = await this.#properties(to, options);
    const isWhole = made?.copyStatus === 'pending' || made?.contentLength === size;
    const url = await this.#requests.run(
      `Copy ${from}`,
      undefined,
      async ({ container }) => container.getBlobClient(from).url,
    );
    return isWhole && made?.copySource?.split('?')[0] === url.split('?')[0] ? made : undefined;
  }

  /**
   * Waits for a copy that the service has not completed immediately; within one account, copies take the same
   * time for large and small blobs. Aborts and removes a copy that takes too long or is no longer needed.
   */
  async #awaitCopy(to: string, copyId: string | undefined, { signal }: OperationOptions) {
    const until = Date.now() + COPY_PATIENCE * this.#options.readTimeout * 1000;
    try {
      for (;;) {
        await sleep(COPY_POLL_MS, undefined, { signal }).catch(() => undefined);
        signal?.throwIfAborted();
        if (Date.now() > until)
          throw new errors.StorageTimeoutError({ detail: 'a copy is not made in time' });
        const found = await this.#properties(to, {});
        const status = found?.copyId === copyId ? found?.copyStatus : undefined;
        if (status === 'success') return strongEtag(found?.etag);
        if (status !== 'pending')
          throw new errors.StorageUnavailableError({ detail: `a copy is ${status ?? 'lost'}` });
      }
    } catch (error) {
      await this.#endCopy(to, copyId);
      throw error;
    }
  }

  /** Aborts a copy. The service leaves an empty blob with the copy's id: removes only that. Never rejects. */
  async #endCopy(to: string, copyId: string | undefined): Promise<void> {
    const ending = this.#requests.send(`AbortCopy ${to}`, undefined, ({ container }) =>
      container.getBlobClient(to).abortCopyFromURL(copyId ?? ''),
    );
    try {
      // The copy may have failed or completed in the meantime.
      await ending.catch(() => undefined);
      const left = await this.#properties(to, {});
      const isOurs = left?.copyId === copyId && ['aborted', 'failed'].includes(left?.copyStatus ?? '');
      if (isOurs && left?.etag !== undefined) await this.remove(to, {}, left.etag);
    } catch {
      // It is unknown whether the blob belongs to this copy: leave it.
    }
  }

  #marked(
    target: UploadTarget,
    options: OperationOptions,
    write: (attributes: BlockBlobUploadOptions) => Promise<{ readonly etag?: string | undefined }>,
  ): Promise<string | undefined> {
    const attributes = { ...this.#attributes(target), conditions: conditionsOf(target) };
    return markedWrite(
      target,
      async (mark) => {
        const own = mark === undefined ? {} : { [WRITE_MARK]: mark };
        const metadata = { ...target.kept?.metadata, ...own };
        return strongEtag((await write({ ...attributes, metadata })).etag);
      },
      async () => {
        const found = await this.#properties(target.key, {});
        return found && { mark: found.metadata?.[WRITE_MARK], etag: strongEtag(found.etag) };
      },
      options,
    );
  }

  #attributes({ key, kept = {} }: UploadTarget): BlockBlobUploadOptions {
    const { accessTier: tier } = this.#options;
    const { cacheControl = this.#options.cacheControl, contentDisposition, contentLanguage } = kept;
    return {
      blobHTTPHeaders: {
        blobContentType: contentTypeOf(key),
        ...(cacheControl === undefined ? {} : { blobCacheControl: cacheControl }),
        ...(contentDisposition === undefined ? {} : { blobContentDisposition: contentDisposition }),
        ...(contentLanguage === undefined ? {} : { blobContentLanguage: contentLanguage }),
      },
      ...(tier === undefined ? {} : { tier }),
    };
  }

  #properties(key: string, { signal }: OperationOptions): Promise<BlobGetPropertiesResponse | undefined> {
    return this.#requests
      .send(`Head ${key}`, signal, ({ container }, http) => container.getBlobClient(key).getProperties(http))
      .catch(errors.ifMissing);
  }
}
