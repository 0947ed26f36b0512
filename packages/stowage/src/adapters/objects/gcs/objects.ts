import { randomUUID } from 'node:crypto';
import * as errors from '../../../errors/errors.ts';
import { markedWrite, type PartedUpload, type UploadTarget } from '../core/uploads.ts';
import type { Copy, Objects } from '../core/objects.ts';
import type { OperationOptions, TemporaryUrlOptions } from '../../../storage/adapter.ts';
import { capabilitiesOf } from '../../capabilities.ts';
import { generationOf, versionOf, type Resource } from './errors.ts';
import { GcsBucket, WRITE_MARK } from './requests.ts';
import { jsonOf, type GcsRequest, type Query } from './connection.ts';
import { signedUrlOf } from './login.ts';
import { resumableUpload } from './write.ts';

/** Attributes that a copy keeps. */
const EDITABLE =
  'contentType,cacheControl,contentDisposition,contentEncoding,contentLanguage,customTime,metadata,storageClass';

const preconditionOf = ({ createOnly, ifMatch }: Pick<UploadTarget, 'createOnly' | 'ifMatch'>) => ({
  ifGenerationMatch: createOnly ? '0' : ifMatch === undefined ? undefined : generationOf(ifMatch),
});

/** Attributes and content in one body, with a boundary that the content cannot predict. */
const multipartOf = (attributes: { readonly contentType: string }, bytes: Buffer, boundary: string) => {
  const json = `--${boundary}\r\ncontent-type: application/json\r\n\r\n${JSON.stringify(attributes)}\r\n`;
  const before = `${json}--${boundary}\r\ncontent-type: ${attributes.contentType}\r\n\r\n`;
  return [Buffer.from(before), bytes, Buffer.from(`\r\n--${boundary}--\r\n`)];
};

/** The objects of a bucket. The service decides all conditions by generations. */
export class GcsObjects extends GcsBucket implements Objects {
  readonly capabilities = capabilitiesOf('gcs');
  readonly decides = { copy: true, remove: true };
  // Parts of one session must be sent in order.
  readonly limits = { mostParts: Number.MAX_SAFE_INTEGER, atOnce: 1 };

  put(target: UploadTarget, bytes: Buffer, options: OperationOptions): Promise<string | undefined> {
    const { key } = target;
    const url = this.#uploadUrl('multipart', target);
    const write = async (mark: string | undefined): Promise<string | undefined> => {
      const boundary = randomUUID();
      const body = multipartOf(this.attributes(target, mark), bytes, boundary);
      const headers = { 'content-type': `multipart/related; boundary=${boundary}` };
      const response = await this.#post(`Put ${key}`, options.signal, { url, headers, body });
      const { size, generation } = jsonOf<Resource>(response);
      if (size !== undefined && Number(size) !== bytes.length)
        throw new errors.CorruptError({ detail: 'the service has stored another number of bytes' });
      return versionOf(generation);
    };
    return markedWrite(target, write, () => this.markOf(key), options);
  }

  /** A session that is not completed leaves no object, and expires after a week. */
  async begin(target: UploadTarget, { signal }: OperationOptions): Promise<PartedUpload> {
    const { key } = target;
    const attributes = this.attributes(target);
    const url = this.#uploadUrl('resumable', target);
    const headers = { 'content-type': 'application/json', 'x-upload-content-type': attributes.contentType };
    const body = [Buffer.from(JSON.stringify(attributes))];
    const response = await this.#post(`Begin ${key}`, signal, { url, headers, body });
    return resumableUpload(this.client, key, response.headers.location, signal);
  }

  /** The copy has all attributes of the source, and a mark of its own. */
  async copy({ from, to, etag, createOnly }: Copy, options: OperationOptions): Promise<string | undefined> {
    const source = await this.resource(from, `generation,${EDITABLE}`, options);
    if (source === undefined) throw new errors.NotFoundError();
    const { generation, ...attributes } = source;
    if (etag !== undefined && versionOf(generation) !== etag) throw new errors.ChangedMeanwhileError();
    const { storageClass = source.storageClass } = this.options;
    const query = {
      ifSourceGenerationMatch: generation,
      ...preconditionOf({ createOnly, ifMatch: undefined }),
    };
    const write = (mark: string | undefined): Promise<string | undefined> => {
      const marked = mark === undefined ? {} : { metadata: { ...source.metadata, [WRITE_MARK]: mark } };
      return this.#rewrite({ from, to, query }, { ...attributes, storageClass, ...marked }, options);
    };
    try {
      return await markedWrite({ createOnly, ifMatch: undefined }, write, () => this.markOf(to), options);
    } catch (error) {
      if (!(error instanceof errors.ChangedMeanwhileError)) throw error;
      const now = await this.find(from, options);
      if (now === undefined) throw new errors.NotFoundError({ cause: error });
      throw createOnly && now.etag === versionOf(generation)
        ? new errors.AlreadyExistsError({ cause: error })
        : error;
    }
  }

  signedUrl(key: string, options: TemporaryUrlOptions): Promise<string | undefined> {
    return this.client.requests.run(`Sign ${key}`, options.signal, (login) =>
      signedUrlOf(login, this.options, key, options),
    );
  }

  close(): Promise<void> {
    return this.client.requests.close();
  }

  #uploadUrl(uploadType: 'multipart' | 'resumable', target: UploadTarget): URL {
    const query = { uploadType, name: target.key, ...preconditionOf(target) };
    return this.client.url('', query, '/upload/storage/v1');
  }

  /** A large object may take several requests; the copy appears with the last. */
  async #rewrite(
    { from, to, query }: Pick<Copy, 'from' | 'to'> & { readonly query: Query },
    attributes: object,
    { signal }: OperationOptions,
  ): Promise<string | undefined> {
    const bucket = encodeURIComponent(this.options.bucket);
    const path = `/${encodeURIComponent(from)}/rewriteTo/b/${bucket}/o/${encodeURIComponent(to)}`;
    const body = [Buffer.from(JSON.stringify(attributes))];
    const headers = { 'content-type': 'application/json' };
    for (let rewriteToken: string | undefined; ;) {
      signal?.throwIfAborted();
      const url = this.client.url(path, { ...query, rewriteToken });
      // Without the signal: an aborted copy could appear after its folder was removed.
      const response = await this.#post(`Copy ${from}`, undefined, { url, headers, body });
      const copied = jsonOf<{ done: boolean; resource?: Resource; rewriteToken?: string }>(response);
      if (copied.done) return versionOf(copied.resource?.generation);
      rewriteToken = copied.rewriteToken;
      if (rewriteToken === undefined)
        throw new errors.CorruptError({ detail: 'the service does not report how the copy continues' });
    }
  }

  #post(operation: string, signal: AbortSignal | undefined, request: Omit<GcsRequest, 'method'>) {
    return this.client.send(operation, signal, () => ({ method: 'POST', ...request }));
  }
}
