import { createHash } from 'node:crypto';
import { once } from 'node:events';
import { createServer, type IncomingMessage, type ServerResponse } from 'node:http';
import type { AddressInfo } from 'node:net';
import { buffer } from 'node:stream/consumers';

/** How a service differs from what the SDK expects. */
export interface Dialect {
  /** Conditional PutObject: obeyed, refused with 501, or ignored. */
  readonly conditionalPut?: 'obeyed' | 'refused' | 'ignored';
  /** CopyObject with a condition: ignored or refused with 501. */
  readonly conditionalCopy?: 'ignored' | 'refused';
  /** DeleteObjects without Content-MD5 answers 400; `absent` knows no such request at all (501). */
  readonly deleteObjects?: 'needs-md5' | 'absent';
  /** Error answers have no body. */
  readonly bareErrors?: boolean;
  /** Keys in listings are written as they are, whatever was asked for. */
  readonly plainKeys?: boolean;
  /** Keys whose removal in a batch is refused. */
  readonly keeps?: (key: string) => boolean;
}

interface StoredObject {
  readonly bytes: Buffer;
  readonly headers: Readonly<Record<string, string>>;
  readonly modifiedAt: Date;
}

const xml = (text: string): string =>
  text.replaceAll('&', '&amp;').replaceAll('<', '&lt;').replaceAll('>', '&gt;');
const unescaped = (text: string): string =>
  text
    .replaceAll('&lt;', '<')
    .replaceAll('&gt;', '>')
    .replaceAll('&quot;', '"')
    .replaceAll('&apos;', "'")
    .replace(/&#x([0-9a-f]+);/giu, (_, code: string) => String.fromCodePoint(Number.parseInt(code, 16)))
    .replaceAll('&amp;', '&');
const etagOf = (bytes: Buffer): string => `"${createHash('md5').update(bytes).digest('hex')}"`;

/** A few requests of S3 in memory, in the dialect of an unusual service. No signatures are checked. */
export class S3Stub {
  readonly objects = new Map<string, StoredObject>();
  readonly uploads = new Map<string, Map<number, Buffer>>();
  /** `operation` of each request that was answered. */
  readonly seen: string[] = [];
  readonly endpoint: string;
  readonly #dialect: Dialect;
  readonly #close: () => Promise<void>;

  private constructor(dialect: Dialect, endpoint: string, close: () => Promise<void>) {
    this.#dialect = dialect;
    this.endpoint = endpoint;
    this.#close = close;
  }

  static async start(dialect: Dialect = {}): Promise<S3Stub> {
    const server = createServer((request, response) => {
      stub.#answer(request, response).catch((error: unknown) => response.destroy(error as Error));
    });
    server.listen(0, '127.0.0.1');
    await once(server, 'listening');
    const stub: S3Stub = new S3Stub(
      dialect,
      `http://127.0.0.1:${(server.address() as AddressInfo).port}`,
      async () => {
        server.closeAllConnections();
        await new Promise((resolve) => server.close(resolve));
      },
    );
    return stub;
  }

  close(): Promise<void> {
    return this.#close();
  }

  put(key: string, bytes: string | Buffer, headers: Readonly<Record<string, string>> = {}): void {
    this.objects.set(key, { bytes: Buffer.from(bytes), headers, modifiedAt: new Date() });
  }

  async #answer(request: IncomingMessage, response: ServerResponse): Promise<void> {
    const url = new URL(request.url ?? '/', 'http://stub');
    const [, , ...parts] = url.pathname.split('/');
    const key = parts.map(decodeURIComponent).join('/');
    const { method } = request;
    const query = url.searchParams;
    // A body of unknown length, or one in the SDK's own framing, is what older services do not take.
    if (method === 'PUT' && request.headers['content-length'] === undefined)
      return this.#fail(response, 411, 'MissingContentLength');
    if (String(request.headers['content-encoding']).includes('aws-chunked'))
      return this.#fail(response, 501, 'NotImplemented');
    const body = await buffer(request);
    if (method === 'GET' && query.has('list-type')) return this.#list(query, response);
    if (method === 'POST' && query.has('delete')) return this.#deleteMany(request, body, response);
    if (method === 'POST') return this.#multipart(key, query, body, response);
    if (method === 'PUT') return this.#put(key, query, { request, body }, response);
    if (method === 'DELETE') {
      this.seen.push('DeleteObject');
      if (query.has('uploadId')) this.uploads.delete(query.get('uploadId') ?? '');
      else this.objects.delete(key);
      return void response.writeHead(204).end();
    }
    this.seen.push(method === 'HEAD' ? 'HeadObject' : 'GetObject');
    const found = this.objects.get(key);
    if (found === undefined) return this.#fail(response, 404, 'NoSuchKey', method === 'HEAD');
    const { bytes, headers, modifiedAt } = found;
    const wanted = request.headers['if-match'];
    if (wanted !== undefined && wanted !== etagOf(bytes))
      return this.#fail(response, 412, 'PreconditionFailed');
    const [, start, end] = /^bytes=(\d+)-(\d+)$/u.exec(request.headers.range ?? '') ?? [];
    const isRange = start !== undefined && end !== undefined;
    const sent = isRange ? bytes.subarray(Number(start), Number(end) + 1) : bytes;
    response.writeHead(isRange ? 206 : 200, {
      ...headers,
      ...(isRange ? { 'content-range': `bytes ${start}-${end}/${bytes.length}` } : {}),
      'content-length': sent.length,
      etag: etagOf(bytes),
      'last-modified': modifiedAt.toUTCString(),
    });
    response.end(method === 'HEAD' ? undefined : sent);
  }

  #fail(response: ServerResponse, status: number, code: string, bare = false): void {
    const text = `<?xml version="1.0"?><Error><Code>${code}</Code><Message>about ${code}</Message></Error>`;
    response.writeHead(status, { 'content-type': 'application/xml' });
    response.end(bare || this.#dialect.bareErrors === true ? undefined : text);
  }

  #xml(response: ServerResponse, text: string): void {
    response.writeHead(200, { 'content-type': 'application/xml' });
    response.end(`<?xml version="1.0" encoding="UTF-8"?>${text}`);
  }

  #put(
    key: string,
    query: URLSearchParams,
    { request, body }: { readonly request: IncomingMessage; readonly body: Buffer },
    response: ServerResponse,
  ): void {
    const { headers } = request;
    const source = headers['x-amz-copy-source'];
    const conditional = headers['if-none-match'] ?? headers['if-match'];
    if (query.has('partNumber')) {
      this.seen.push('UploadPart');
      this.uploads.get(query.get('uploadId') ?? '')?.set(Number(query.get('partNumber')), body);
      return void response.writeHead(200, { etag: etagOf(body) }).end();
    }
    if (typeof source === 'string') return this.#copy(key, decodeURIComponent(source), conditional, response);
    this.seen.push('PutObject');
    const { conditionalPut = 'obeyed' } = this.#dialect;
    if (conditional !== undefined && conditionalPut === 'refused')
      return this.#fail(response, 501, 'NotImplemented');
    const old = this.objects.get(key);
    const refused =
      (headers['if-none-match'] === '*' && old !== undefined) ||
      (headers['if-match'] !== undefined && (old === undefined || etagOf(old.bytes) !== headers['if-match']));
    if (conditionalPut === 'obeyed' && refused) return this.#fail(response, 412, 'PreconditionFailed');
    this.put(key, body, { 'content-type': headers['content-type'] ?? 'binary/octet-stream' });
    response.writeHead(200, { etag: etagOf(body) }).end();
  }

  #copy(key: string, source: string, conditional: string | undefined, response: ServerResponse): void {
    this.seen.push('CopyObject');
    if (conditional !== undefined && this.#dialect.conditionalCopy === 'refused')
      return this.#fail(response, 501, 'NotImplemented');
    const found = this.objects.get(source.split('/').slice(1).join('/'));
    if (found === undefined) return this.#fail(response, 404, 'NoSuchKey');
    this.put(key, found.bytes, found.headers);
    this.#xml(response, `<CopyObjectResult><ETag>${xml(etagOf(found.bytes))}</ETag></CopyObjectResult>`);
  }

  #multipart(key: string, query: URLSearchParams, _body: Buffer, response: ServerResponse): void {
    if (query.has('uploads')) {
      const id = `upload-${this.uploads.size + 1}`;
      this.uploads.set(id, new Map());
      return this.#xml(
        response,
        `<InitiateMultipartUploadResult><UploadId>${id}</UploadId></InitiateMultipartUploadResult>`,
      );
    }
    const id = query.get('uploadId') ?? '';
    const parts = [...(this.uploads.get(id) ?? [])].sort(([one], [other]) => one - other);
    this.uploads.delete(id);
    this.put(key, Buffer.concat(parts.map(([, bytes]) => bytes)));
    this.#xml(
      response,
      `<CompleteMultipartUploadResult><ETag>"x-${parts.length}"</ETag></CompleteMultipartUploadResult>`,
    );
  }

  #deleteMany(request: IncomingMessage, body: Buffer, response: ServerResponse): void {
    this.seen.push('DeleteObjects');
    const { deleteObjects, keeps } = this.#dialect;
    if (deleteObjects === 'absent') return this.#fail(response, 501, 'NotImplemented');
    const digest = createHash('md5').update(body).digest('base64');
    if (deleteObjects === 'needs-md5' && request.headers['content-md5'] !== digest)
      return this.#fail(response, 400, 'InvalidRequest');
    const keys = [...body.toString().matchAll(/<Key>([^<]*)<\/Key>/gu)].map(([, key = '']) => unescaped(key));
    const kept = keys.filter((key) => keeps?.(key) === true);
    for (const key of keys) if (!kept.includes(key)) this.objects.delete(key);
    const errors = kept.map((key) => `<Error><Key>${xml(key)}</Key><Code>AccessDenied</Code></Error>`);
    this.#xml(response, `<DeleteResult>${errors.join('')}</DeleteResult>`);
  }

  #list(query: URLSearchParams, response: ServerResponse): void {
    this.seen.push('ListObjectsV2');
    const [prefix, delimiter] = [query.get('prefix') ?? '', query.get('delimiter') ?? ''];
    const after = query.get('continuation-token') ?? '';
    const limit = Number(query.get('max-keys') ?? '1000');
    const encodes = this.#dialect.plainKeys !== true && query.get('encoding-type') === 'url';
    const written = (text: string): string => (encodes ? encodeURIComponent(text) : xml(text));
    const items: string[] = [];
    const folders = new Set<string>();
    let last = '';
    let isTruncated = false;
    for (const key of [...this.objects.keys()].filter((one) => one.startsWith(prefix)).sort()) {
      const end = delimiter === '' ? -1 : key.indexOf(delimiter, prefix.length);
      const name = end === -1 ? key : key.slice(0, end + 1);
      if (name <= after || folders.has(name)) continue;
      if (items.length + folders.size === limit) {
        isTruncated = true;
        break;
      }
      last = name;
      if (end !== -1) folders.add(name);
      else {
        const { bytes, modifiedAt } = this.objects.get(key) ?? {
          bytes: Buffer.alloc(0),
          modifiedAt: new Date(),
        };
        const facts = `<Size>${bytes.length}</Size><LastModified>${modifiedAt.toISOString()}</LastModified>`;
        items.push(
          `<Contents><Key>${written(key)}</Key>${facts}<ETag>${xml(etagOf(bytes))}</ETag></Contents>`,
        );
      }
    }
    const prefixes = [...folders].map(
      (one) => `<CommonPrefixes><Prefix>${written(one)}</Prefix></CommonPrefixes>`,
    );
    const more = isTruncated ? `<NextContinuationToken>${xml(last)}</NextContinuationToken>` : '';
    const encoding = encodes ? '<EncodingType>url</EncodingType>' : '';
    this.#xml(
      response,
      `<ListBucketResult>${encoding}<IsTruncated>${isTruncated}</IsTruncated>${more}${items.join('')}${prefixes.join('')}</ListBucketResult>`,
    );
  }
}
