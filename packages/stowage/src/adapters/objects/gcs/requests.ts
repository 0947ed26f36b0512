import { CorruptError, ifMissing } from '../../../errors/errors.ts';
import { contentTypeOf } from '../core/keys.ts';
import { Uploads, type MarkedObject, type UploadTarget } from '../core/uploads.ts';
import {
  keptOf,
  pagesOf,
  type Download,
  type ObjectFacts,
  type ObjectPage,
  type PageOptions,
} from '../core/objects.ts';
import { lengthOf, timeOf, wholeSize } from '../../remote/core/http.ts';
import type { OperationOptions, ReadOptions } from '../../../storage/adapter.ts';
import { factsOf, generationOf, versionOf, type ListResult, type Resource } from './errors.ts';
import { GcsClient, jsonOf, type HttpResponse } from './connection.ts';
import type { GcsOptions } from './options.ts';

/** Metadata by which a write recognises its own object after a lost response. */
export const WRITE_MARK = 'stowage-write';
const KNOWN = 'name,size,timeCreated,generation,storageClass';
const KEPT = 'cacheControl,contentDisposition,contentLanguage,metadata';

/** Properties of a response with an object. @throws CorruptError */
const contentOf = (response: HttpResponse): Pick<Download, 'facts' | 'length'> => {
  // Node.js joins repeated headers, apart from `Set-Cookie`.
  const headers = response.headers as Readonly<Record<string, string | undefined>>;
  const length = lengthOf(headers['content-length']);
  // The service sends large objects that are stored compressed in chunks, without `Content-Length`.
  const kept = length ?? lengthOf(headers['x-goog-stored-content-length']);
  const size = wholeSize(headers['content-range']) ?? kept;
  if (size === undefined)
    throw new CorruptError({ detail: 'a response with an object does not report its size' });
  const modifiedAt = timeOf(headers['last-modified']);
  const etag = versionOf(headers['x-goog-generation']);
  const facts = { size, modifiedAt, etag, storageClass: headers['x-goog-storage-class'] };
  return { facts, length };
};

/** Requests for single objects and listings. */
export abstract class GcsBucket extends Uploads {
  protected readonly client: GcsClient;
  protected readonly options: GcsOptions;

  constructor(options: GcsOptions) {
    super();
    this.options = options;
    this.client = new GcsClient(options);
  }

  async find(key: string, options: OperationOptions): Promise<ObjectFacts | undefined> {
    const found = await this.resource(key, `${KNOWN},${KEPT}`, options);
    return found && { ...factsOf(found), kept: keptOf(found, WRITE_MARK) };
  }

  pages(
    prefix: string,
    { signal }: OperationOptions,
    { delimiter, size = 1000, after }: PageOptions = {},
  ): AsyncIterable<ObjectPage> {
    const fields = `kind,nextPageToken,prefixes,items(${KNOWN})`;
    return pagesOf(async (pageToken) => {
      const query = { prefix, delimiter, maxResults: size, startOffset: after, pageToken, fields };
      const url = this.client.url('', query);
      const response = await this.client.send(`List ${prefix}`, signal, () => ({ method: 'GET', url }));
      const { kind, items = [], prefixes = [], nextPageToken } = jsonOf<ListResult>(response);
      if (kind !== 'storage#objects')
        throw new CorruptError({ detail: 'no listing came back: is endpoint the address of the service?' });
      // The listing includes the start offset itself.
      const objects = items.filter(({ name }) => name !== after);
      const listed = objects.map((item) => ({ key: item.name, ...factsOf(item) }));
      return { objects: listed, prefixes, next: nextPageToken };
    });
  }

  async get(key: string, { signal, range, ifMatch }: ReadOptions): Promise<Download> {
    const ifGenerationMatch = ifMatch === undefined ? undefined : generationOf(ifMatch);
    const query = { alt: 'media', ifGenerationMatch };
    // The address of contents: the service may redirect from that of the object.
    const url = this.client.url(`/${encodeURIComponent(key)}`, query, '/download/storage/v1');
    // Without these headers the service decompresses stored gzip content, and sends what its cache still has
    // of a public object that was replaced.
    const stored = { 'accept-encoding': 'gzip', 'cache-control': 'no-store' };
    const headers = range === undefined ? stored : { ...stored, range: `bytes=${range.start}-${range.end}` };
    return this.client.requests.download(`Get ${key}`, signal, async (login, http) => {
      const response = await this.client.exchange(login, { method: 'GET', url, headers }, http);
      try {
        return { ...contentOf(response), body: response.body };
      } catch (error) {
        response.body.destroy();
        throw error;
      }
    });
  }

  async remove(key: string, { signal }: OperationOptions, etag?: string): Promise<void> {
    const query = { ifGenerationMatch: etag === undefined ? undefined : generationOf(etag) };
    const url = this.client.objectUrl(key, query);
    const removal = this.client.send(`Delete ${key}`, signal, () => ({ method: 'DELETE', url }));
    await (etag === undefined ? removal.catch(ifMissing) : this.settleRemoval(removal, key, { signal }));
  }

  async markOf(key: string): Promise<MarkedObject | undefined> {
    const found = await this.resource(key, 'generation,metadata', {});
    return found && { mark: found.metadata?.[WRITE_MARK], etag: versionOf(found.generation) };
  }

  /** For a body in JSON, which leaves out undefined ones. */
  attributes({ key, kept }: UploadTarget, mark?: string) {
    const { storageClass } = this.options;
    const { cacheControl = this.options.cacheControl, ...others } = kept ?? {};
    const metadata = { ...others.metadata, ...(mark === undefined ? {} : { [WRITE_MARK]: mark }) };
    return { name: key, contentType: contentTypeOf(key), storageClass, ...others, cacheControl, metadata };
  }

  /** Some fields of an object; undefined when no object has the key. */
  async resource(key: string, fields: string, { signal }: OperationOptions): Promise<Resource | undefined> {
    const url = this.client.objectUrl(key, { fields });
    const response = await this.client
      .send(`Head ${key}`, signal, () => ({ method: 'GET', url }))
      .catch(ifMissing);
    return response && jsonOf(response);
  }
}
