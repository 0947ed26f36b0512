import { CorruptError, ifMissing } from '../../../errors/errors.ts';
import { contentTypeOf } from '../core/keys.ts';
import { Uploads, type MarkedObject } from '../core/uploads.ts';
import {
  listingFailure,
  type Download,
  type ObjectFacts,
  type ObjectPage,
  type PageOptions,
} from '../core/objects.ts';
import { wholeSize } from '../../remote/core/http.ts';
import type { OperationOptions, ReadOptions } from '../../../storage/adapter.ts';
import { factsOf, generationOf, versionOf, type ListAnswer, type Resource } from './errors.ts';
import { jsonOf, type GcsClient } from './connection.ts';
import type { GcsOptions } from './options.ts';

/** Metadata by which a write recognises its own object after its answer was lost. */
export const WRITE_MARK = 'stowage-write';
const KNOWN = 'name,size,timeCreated,generation,storageClass';

/** What an object is stored with. */
export interface Attributes {
  readonly name: string;
  readonly contentType: string;
  readonly storageClass?: string;
  readonly cacheControl?: string;
  readonly metadata?: Readonly<Record<string, string>>;
}

/** What is asked of single objects and listings. */
export abstract class GcsBucket extends Uploads {
  protected readonly client: GcsClient;
  protected readonly options: GcsOptions;

  constructor(options: GcsOptions, client: GcsClient) {
    super();
    this.options = options;
    this.client = client;
  }

  async find(key: string, options: OperationOptions): Promise<ObjectFacts | undefined> {
    const found = await this.resource(key, KNOWN, options);
    return found && factsOf(found);
  }

  async *pages(
    prefix: string,
    { signal }: OperationOptions,
    { delimiter, size = 1000, after }: PageOptions = {},
  ): AsyncGenerator<ObjectPage, void, undefined> {
    const fields = `kind,nextPageToken,prefixes,items(${KNOWN})`;
    let pageToken: string | undefined;
    do {
      const query = { prefix, delimiter, maxResults: size, startOffset: after, pageToken, fields };
      const answer = await this.#list(prefix, signal, this.client.url('', query));
      const { kind, items = [], prefixes = [], nextPageToken } = answer;
      if (kind !== 'storage#objects')
        throw new CorruptError({ detail: 'no listing came back: is endpoint the address of the service?' });
      if (nextPageToken !== undefined && nextPageToken === pageToken)
        throw new CorruptError({ detail: 'the service does not report how a listing goes on' });
      pageToken = nextPageToken;
      // A listing begins with the offset itself.
      const objects = items.filter(({ name }) => name !== after);
      const listed = objects.map((item) => ({ key: item.name, ...factsOf(item) }));
      yield { objects: listed, prefixes, isLast: pageToken === undefined };
    } while (pageToken !== undefined);
  }

  async get(key: string, { signal, range, ifMatch }: ReadOptions): Promise<Download> {
    const ifGenerationMatch = ifMatch === undefined ? undefined : generationOf(ifMatch);
    const url = this.client.objectUrl(key, { alt: 'media', ifGenerationMatch });
    // Without it the service unpacks what was stored packed.
    const packed = { 'accept-encoding': 'gzip' };
    const headers = range === undefined ? packed : { ...packed, range: `bytes=${range.start}-${range.end}` };
    const { output, release } = await this.client.sendRead(`Get ${key}`, signal, {
      method: 'GET',
      url,
      headers,
    });
    const { body } = output;
    body.once('close', release);
    const one = (name: string): string | undefined => [output.headers[name] ?? []].flat()[0];
    const length = Number(one('content-length') ?? Number.NaN);
    const size = wholeSize(one('content-range')) ?? length;
    if (Number.isNaN(size)) {
      body.destroy();
      throw new CorruptError({ detail: 'an answer with an object does not report its size' });
    }
    const modifiedAt = Date.parse(one('last-modified') ?? '');
    const facts = {
      size,
      modifiedAt: Number.isNaN(modifiedAt) ? undefined : modifiedAt,
      etag: versionOf(one('x-goog-generation')),
      storageClass: one('x-goog-storage-class'),
    };
    return { facts, length: Number.isNaN(length) ? undefined : length, body };
  }

  async remove(key: string, { signal }: OperationOptions, etag?: string): Promise<void> {
    const query = { ifGenerationMatch: etag === undefined ? undefined : generationOf(etag) };
    const url = this.client.objectUrl(key, query);
    // An attempt before may have removed it.
    await this.client.send(`Delete ${key}`, signal, () => ({ method: 'DELETE', url })).catch(ifMissing);
  }

  async #list(prefix: string, signal: AbortSignal | undefined, url: URL): Promise<ListAnswer> {
    try {
      return jsonOf(await this.client.send(`List ${prefix}`, signal, () => ({ method: 'GET', url })));
    } catch (error) {
      throw listingFailure(error);
    }
  }

  async markOf(key: string): Promise<MarkedObject | undefined> {
    const found = await this.resource(key, 'generation,metadata', {});
    return found && { mark: found.metadata?.[WRITE_MARK], etag: versionOf(found.generation) };
  }

  attributes(key: string, mark?: string): Attributes {
    const { storageClass, cacheControl } = this.options;
    return {
      name: key,
      contentType: contentTypeOf(key),
      ...(storageClass === undefined ? {} : { storageClass }),
      ...(cacheControl === undefined ? {} : { cacheControl }),
      ...(mark === undefined ? {} : { metadata: { [WRITE_MARK]: mark } }),
    };
  }

  /** Some fields of an object; undefined where nothing has the key. */
  async resource(key: string, fields: string, { signal }: OperationOptions): Promise<Resource | undefined> {
    const url = this.client.objectUrl(key, { fields });
    const answer = await this.client
      .send(`Head ${key}`, signal, () => ({ method: 'GET', url }))
      .catch(ifMissing);
    return answer && jsonOf(answer);
  }
}
