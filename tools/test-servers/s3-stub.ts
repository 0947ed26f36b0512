import { createHash, randomBytes } from 'node:crypto';
import { once } from 'node:events';
import { createServer, type IncomingHttpHeaders, type IncomingMessage, type ServerResponse } from 'node:http';
import type { AddressInfo } from 'node:net';
import { buffer } from 'node:stream/consumers';
import { listPage, type StoredObject } from './s3-listing.ts';
import { etagOf, unescaped, xml } from './s3-text.ts';

/** Differences of a service from what the SDK expects. */
export interface Dialect {
  /** Conditional PutObject: obeyed, rejected with 501, or ignored. */
  readonly conditionalPut?: 'obeyed' | 'refused' | 'ignored';
  /**
   * CopyObject with a condition: ignored, rejected with 501, rejected as an unknown header, obeyed, obeyed in
   * the header of R2, or applied to the source.
   */
  readonly conditionalCopy?: 'ignored' | 'refused' | 'unknown' | 'obeyed' | 'as in R2' | 'of the source';
  /**
   * UploadPartCopy: by default as in AWS, absent (501), or without conditions on the source (501 when one is
   * sent).
   */
  readonly partCopies?: 'absent' | 'unconditional';
  /** A write whose condition names the version of a missing object: 404 as in AWS; 412 by default. */
  readonly missingVersion?: 404;
  /**
   * CopyObject and CompleteMultipartUpload give 200 without an ETag: they have failed after the beginning of
   * the response, or done what they were asked for.
   */
  readonly endings?: 'failed' | 'without-etag';
  /** Region of AWS that the bucket is in: requests to the host of another are redirected. */
  readonly region?: string;
  /** How far the clock of the service is ahead, in milliseconds. */
  readonly clockAhead?: number;
  /** CompleteMultipartUpload with a condition: ignored or obeyed. */
  readonly conditionalComplete?: 'ignored' | 'obeyed';
  /**
   * ETags are not digests of the content, as with a key of a key service: every object has its own, copies
   * too.
   */
  readonly randomEtags?: true;
  /** ETags of responses to GET and HEAD are weak, as behind a proxy that compresses. */
  readonly weakEtags?: true;
  /** Dates in headers are in ISO 8601. */
  readonly dates?: 'iso';
  /** Listings begin with an empty truncated page. */
  readonly emptyPages?: true;
  /** Listings repeat their token forever. */
  readonly repeatsToken?: true;
  /**
   * Conditional removal: ignored, so that any version is removed, rejected with 501, or obeyed; when obeyed,
   * a missing key gives 404.
   */
  readonly conditionalDelete?: 'ignored' | 'refused' | 'obeyed';
  /** DeleteObjects without Content-MD5 gives 400; `absent`: the request is not supported (501). */
  readonly deleteObjects?: 'needs-md5' | 'absent';
  /** Error responses have no body. */
  readonly bareErrors?: boolean;
  /** Listings begin at their first key, regardless of the request. */
  readonly startAfter?: 'ignored';
  /** Listings are not in byte order, as with encrypted keys. */
  readonly order?: 'own';
  /** Keys in listings are not encoded, regardless of the request. */
  readonly plainKeys?: boolean;
  /** Listings claim to have encoded their keys, but have not. */
  readonly encodes?: 'in name only';
  /** Listings never say how they continue; `markers`: all are responses to ListObjects, which has markers. */
  readonly tokens?: false | 'markers';
  /** Copies of multipart objects are rejected if they name any version. */
  readonly judgesParts?: false;
  /**
   * Rejects this many PutObjects with a body of more than 8 MB; with `stores`, the first of them after
   * storing it.
   */
  readonly refusesLarge?: { readonly times: number; readonly status: number; readonly stores?: boolean };
  /** Responds to everything with this page. */
  readonly page?: string;
  /** Keys whose removal in a batch is rejected. */
  readonly keeps?: (key: string) => boolean;
  /** The error code of that. Default: AccessDenied. */
  readonly keepsFor?: string;
  /** The storage classes that requests may name. Default: all. */
  readonly classes?: readonly string[];
}

interface SeenRequest {
  readonly operation: string;
  readonly host: string;
  readonly path: string;
  readonly headers: IncomingHttpHeaders;
}

/** Characters that XML does not allow. */
const NOT_IN_XML = /[\0-\u0008\u000b\u000c\u000e-\u001f\ufffe\uffff]/u;

/** The headers that a service stores with an object. */
const storedHeaders = (headers: IncomingHttpHeaders): Readonly<Record<string, string>> => {
  const kept = Object.entries(headers).filter(([name]) =>
    /^(?:content-type|cache-control|x-amz-storage-class|x-amz-meta-.*)$/u.test(name),
  );
  return {
    'content-type': 'binary/octet-stream',
    ...Object.fromEntries(kept.map(([name, value]) => [name, String(value)])),
  };
};

/** The key, after the bucket in the path unless the bucket is in the host. */
const keyOf = ({ pathname }: URL, host: string): string => {
  const parts = pathname.split('/').slice(/^[a-z-]+\.(?:localhost(?::|$)|s3\.)/u.test(host) ? 1 : 2);
  return parts.map(decodeURIComponent).join('/');
};

/** Some requests of S3 in memory, with configurable deviations. No signatures are checked. */
export class S3Stub {
  readonly objects = new Map<string, StoredObject>();
  readonly uploads = new Map<string, Map<number, Buffer>>();
  /** `operation` of each handled request. */
  readonly seen: string[] = [];
  readonly requests: SeenRequest[] = [];
  /** Expired access keys: requests signed with one of them are rejected. */
  readonly expired = new Set<string>();
  readonly endpoint: string;
  readonly #dialect: Dialect;
  readonly #close: () => Promise<void>;
  readonly #headers = new Map<string, Readonly<Record<string, string>>>();
  /** Multipart uploads that were created with a checksum algorithm for their parts. */
  readonly #checked = new Set<string>();
  #begun = 0;
  #refused = 0;

  private constructor(dialect: Dialect, endpoint: string, close: () => Promise<void>) {
    this.#dialect = dialect;
    this.endpoint = endpoint;
    this.#close = close;
  }

  static async start(dialect: Dialect = {}): Promise<S3Stub> {
    const server = createServer((request, response) => {
      stub.#answer(request, response).catch((error: unknown) => response.destroy(error as Error));
    });
    // Longer than any test: only clients close connections.
    server.keepAliveTimeout = 60_000;
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

  put(
    key: string,
    content: string | Buffer,
    headers: Readonly<Record<string, string>> = {},
    etag?: string,
  ): void {
    const bytes = Buffer.from(content);
    this.objects.set(key, { bytes, etag: etag ?? this.#etagOf(bytes), headers, modifiedAt: new Date() });
  }

  #etagOf(bytes: Buffer): string {
    return this.#dialect.randomEtags === true ? `"${randomBytes(16).toString('hex')}"` : etagOf(bytes);
  }

  #note(operation: string, { headers, url = '' }: IncomingMessage): void {
    this.seen.push(operation);
    this.requests.push({ operation, headers, path: url, host: headers.host ?? '' });
  }

  async #answer(request: IncomingMessage, response: ServerResponse): Promise<void> {
    const { region, clockAhead = 0 } = this.#dialect;
    response.setHeader('date', new Date(Date.now() + clockAhead).toUTCString());
    if (this.#dialect.dates === 'iso') response.setHeader('x-amz-abort-date', new Date().toISOString());
    if (region !== undefined && request.headers.host !== `bucket.s3.${region}.amazonaws.com`) {
      this.#note('PermanentRedirect', request);
      request.resume();
      response.setHeader('x-amz-bucket-region', region);
      return this.#fail(response, 301, 'PermanentRedirect', request.method === 'HEAD');
    }
    if (this.#dialect.page !== undefined) {
      this.#note('page', request);
      request.resume();
      response.writeHead(200, { 'content-type': 'text/html' });
      return void response.end(this.#dialect.page);
    }
    const url = new URL(request.url ?? '/', 'http://stub');
    const key = keyOf(url, request.headers.host ?? '');
    const { method } = request;
    const query = url.searchParams;
    // Older services reject a body of unknown length, or one in the SDK's own framing.
    if (method === 'PUT' && request.headers['content-length'] === undefined)
      return this.#fail(response, 411, 'MissingContentLength');
    if (String(request.headers['content-encoding']).includes('aws-chunked'))
      return this.#fail(response, 501, 'NotImplemented');
    const body = await buffer(request);
    const [, signedBy = ''] = /Credential=([^/]+)\//u.exec(request.headers.authorization ?? '') ?? [];
    if (this.expired.has(signedBy)) return this.#fail(response, 400, 'ExpiredToken', method === 'HEAD');
    const storageClass = request.headers['x-amz-storage-class'];
    if (typeof storageClass === 'string' && this.#dialect.classes?.includes(storageClass) === false)
      return this.#fail(response, 400, 'InvalidStorageClass');
    if (method === 'GET' && key === '') return this.#list(query, request, response);
    if (method === 'POST' && query.has('delete')) return this.#deleteMany(request, body, response);
    if (method === 'POST') return this.#multipart(key, query, { request, body }, response);
    if (method === 'PUT') return this.#put(key, query, { request, body }, response);
    if (method === 'DELETE') return this.#delete(key, query, request, response);
    this.#note(method === 'HEAD' ? 'HeadObject' : 'GetObject', request);
    const found = this.objects.get(key);
    if (found === undefined) return this.#fail(response, 404, 'NoSuchKey', method === 'HEAD');
    const { bytes, etag, headers, modifiedAt } = found;
    const wanted = request.headers['if-match'];
    if (wanted !== undefined && wanted !== etag) return this.#fail(response, 412, 'PreconditionFailed');
    const [, start, end] = /^bytes=(\d+)-(\d+)$/u.exec(request.headers.range ?? '') ?? [];
    const isRange = start !== undefined && end !== undefined;
    const sent = isRange ? bytes.subarray(Number(start), Number(end) + 1) : bytes;
    response.writeHead(isRange ? 206 : 200, {
      ...headers,
      ...(isRange ? { 'content-range': `bytes ${start}-${end}/${bytes.length}` } : {}),
      'content-length': sent.length,
      etag: this.#dialect.weakEtags === true ? `W/${etag}` : etag,
      'last-modified': this.#dialect.dates === 'iso' ? modifiedAt.toISOString() : modifiedAt.toUTCString(),
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
    if (query.has('partNumber')) return this.#part(query, { request, body }, response);
    if (typeof source === 'string') return this.#copy(key, source, request, response);
    this.#note('PutObject', request);
    const { conditionalPut = 'obeyed' } = this.#dialect;
    if (conditional !== undefined && conditionalPut === 'refused')
      return this.#fail(response, 501, 'NotImplemented');
    const old = this.objects.get(key);
    if (this.#isMissing(key, headers)) return this.#fail(response, 404, 'NoSuchKey');
    const refused =
      (headers['if-none-match'] === '*' && old !== undefined) ||
      (headers['if-match'] !== undefined && (old === undefined || old.etag !== headers['if-match']));
    if (conditionalPut === 'obeyed' && refused) return this.#fail(response, 412, 'PreconditionFailed');
    const { times = 0, status = 503, stores = false } = this.#dialect.refusesLarge ?? {};
    if (body.length > 8 * 2 ** 20 && this.#refused < times) {
      this.#refused += 1;
      if (stores && this.#refused === 1) this.put(key, body, storedHeaders(headers));
      return this.#fail(response, status, 'SlowDown');
    }
    this.put(key, body, storedHeaders(headers));
    response.writeHead(200, { etag: this.objects.get(key)?.etag }).end();
  }

  #isMissing(key: string, headers: IncomingHttpHeaders): boolean {
    const isNamed = headers['if-match'] !== undefined;
    return this.#dialect.missingVersion === 404 && isNamed && !this.objects.has(key);
  }

  #delete(key: string, query: URLSearchParams, request: IncomingMessage, response: ServerResponse): void {
    this.#note(query.has('uploadId') ? 'AbortMultipartUpload' : 'DeleteObject', request);
    const wanted = request.headers['if-match'];
    const obeys = this.#dialect.conditionalDelete === 'obeyed' && wanted !== undefined;
    if (wanted !== undefined && this.#dialect.conditionalDelete === 'refused')
      return this.#fail(response, 501, 'NotImplemented');
    if (query.has('uploadId')) this.uploads.delete(query.get('uploadId') ?? '');
    // As in AWS; not 412.
    else if (obeys && !this.objects.has(key)) return this.#fail(response, 404, 'NoSuchKey');
    else if (obeys && this.objects.get(key)?.etag !== wanted)
      return this.#fail(response, 412, 'PreconditionFailed');
    else this.objects.delete(key);
    response.writeHead(204).end();
  }

  #part(
    query: URLSearchParams,
    { request, body }: { readonly request: IncomingMessage; readonly body: Buffer },
    response: ServerResponse,
  ): void {
    const source = request.headers['x-amz-copy-source'];
    const add = (bytes: Buffer): string => {
      this.uploads.get(query.get('uploadId') ?? '')?.set(Number(query.get('partNumber')), bytes);
      return etagOf(bytes);
    };
    this.#note(typeof source === 'string' ? 'UploadPartCopy' : 'UploadPart', request);
    if (typeof source !== 'string') {
      const checksum = request.headers['x-amz-checksum-crc32'];
      if (checksum !== undefined && !this.#checked.has(query.get('uploadId') ?? ''))
        return this.#fail(response, 400, 'InvalidRequest');
      const told = checksum === undefined ? {} : { 'x-amz-checksum-crc32': checksum };
      return void response.writeHead(200, { etag: add(body), ...told }).end();
    }
    const found = this.#source(source);
    const range = String(request.headers['x-amz-copy-source-range']);
    const [, start, end] = /^bytes=(\d+)-(\d+)$/u.exec(range) ?? [];
    const wanted = request.headers['x-amz-copy-source-if-match'];
    const { partCopies } = this.#dialect;
    if (partCopies === 'absent' || (partCopies === 'unconditional' && wanted !== undefined))
      return this.#fail(response, 501, 'NotImplemented');
    if (found === undefined) return this.#fail(response, 404, 'NoSuchKey');
    const isJudged = this.#dialect.judgesParts !== false || !/-\d+"$/u.test(found.etag);
    if (wanted !== undefined && (!isJudged || wanted !== found.etag))
      return this.#fail(response, 412, 'PreconditionFailed');
    const etag = add(found.bytes.subarray(Number(start), Number(end) + 1));
    this.#xml(response, `<CopyPartResult><ETag>${xml(etag)}</ETag></CopyPartResult>`);
  }

  #source(source: string): StoredObject | undefined {
    return this.objects.get(decodeURIComponent(source).split('/').slice(1).join('/'));
  }

  #copy(key: string, source: string, request: IncomingMessage, response: ServerResponse): void {
    this.#note('CopyObject', request);
    const { conditionalCopy } = this.#dialect;
    const isR2 = conditionalCopy === 'as in R2';
    const conditional = request.headers[isR2 ? 'cf-copy-destination-if-none-match' : 'if-none-match'];
    if (conditional !== undefined && conditionalCopy === 'refused')
      return this.#fail(response, 501, 'NotImplemented');
    if (conditional !== undefined && conditionalCopy === 'unknown')
      return this.#fail(response, 400, 'InvalidArgument');
    const decides =
      conditionalCopy === 'obeyed' || isR2 ? this.objects.has(key) : conditionalCopy === 'of the source';
    if (conditional !== undefined && decides) return this.#fail(response, 412, 'PreconditionFailed');
    const found = this.#source(source);
    if (found === undefined) return this.#fail(response, 404, 'NoSuchKey');
    const { endings } = this.#dialect;
    const begun = '<CopyObjectResult><Progress>1</Progress></CopyObjectResult>';
    if (endings === 'failed') return this.#xml(response, begun);
    const storageClass = request.headers['x-amz-storage-class'];
    const { 'x-amz-storage-class': _class, ...headers } = found.headers;
    this.put(key, found.bytes, {
      ...headers,
      ...(storageClass === undefined ? {} : { 'x-amz-storage-class': String(storageClass) }),
    });
    if (endings === 'without-etag') return this.#xml(response, begun);
    const etag = this.objects.get(key)?.etag ?? '';
    this.#xml(response, `<CopyObjectResult><ETag>${xml(etag)}</ETag></CopyObjectResult>`);
  }

  #multipart(
    key: string,
    query: URLSearchParams,
    { request, body }: { readonly request: IncomingMessage; readonly body: Buffer },
    response: ServerResponse,
  ): void {
    if (query.has('uploads')) {
      this.#note('CreateMultipartUpload', request);
      this.#begun += 1;
      const id = `upload-${this.#begun}`;
      this.uploads.set(id, new Map());
      this.#headers.set(id, storedHeaders(request.headers));
      if (request.headers['x-amz-checksum-algorithm'] === 'CRC32') this.#checked.add(id);
      return this.#xml(
        response,
        `<InitiateMultipartUploadResult><UploadId>${id}</UploadId></InitiateMultipartUploadResult>`,
      );
    }
    this.#note('CompleteMultipartUpload', request);
    const id = query.get('uploadId') ?? '';
    const isTaken = request.headers['if-none-match'] === '*' && this.objects.has(key);
    if (this.#dialect.conditionalComplete === 'obeyed' && isTaken)
      return this.#fail(response, 412, 'PreconditionFailed');
    if (this.#isMissing(key, request.headers)) return this.#fail(response, 404, 'NoSuchKey');
    if (!this.uploads.has(id)) return this.#fail(response, 404, 'NoSuchUpload');
    const { endings } = this.#dialect;
    // The line break hides the error from the SDK.
    if (endings === 'failed') return this.#xml(response, '<Error><Code>InternalError</Code></Error>\n');
    const parts = [...(this.uploads.get(id) ?? [])].sort(([one], [other]) => one - other);
    const checksums = body.toString().match(/<ChecksumCRC32>[^<]+</gu) ?? [];
    if (this.#checked.has(id) && checksums.length !== parts.length)
      return this.#fail(response, 400, 'InvalidRequest');
    this.uploads.delete(id);
    const etag = `"x-${parts.length}"`;
    this.put(key, Buffer.concat(parts.map(([, bytes]) => bytes)), this.#headers.get(id), etag);
    if (endings === 'without-etag') return this.#xml(response, '<CompleteMultipartUploadResult/>');
    this.#xml(
      response,
      `<CompleteMultipartUploadResult><ETag>${xml(etag)}</ETag></CompleteMultipartUploadResult>`,
    );
  }

  #deleteMany(request: IncomingMessage, body: Buffer, response: ServerResponse): void {
    this.#note('DeleteObjects', request);
    const { deleteObjects, keeps, keepsFor = 'AccessDenied', conditionalDelete } = this.#dialect;
    if (NOT_IN_XML.test(body.toString())) return this.#fail(response, 400, 'MalformedXML');
    if (deleteObjects === 'absent') return this.#fail(response, 501, 'NotImplemented');
    const digest = createHash('md5').update(body).digest('base64');
    if (deleteObjects === 'needs-md5' && request.headers['content-md5'] !== digest)
      return this.#fail(response, 400, 'InvalidRequest');
    const objects = [...body.toString().matchAll(/<Object>(.*?)<\/Object>/gsu)].map(([, text = '']) => ({
      key: unescaped(/<Key>([^<]*)<\/Key>/u.exec(text)?.[1] ?? ''),
      etag: unescaped(/<ETag>([^<]*)<\/ETag>/u.exec(text)?.[1] ?? ''),
    }));
    if (conditionalDelete === 'refused' && objects.some(({ etag }) => etag !== ''))
      return this.#fail(response, 501, 'NotImplemented');
    const refusal = ({ key, etag }: (typeof objects)[number]): string | undefined => {
      const changed = etag !== '' && this.objects.get(key)?.etag !== etag;
      if (conditionalDelete === 'obeyed' && changed) return 'PreconditionFailed';
      return keeps?.(key) === true ? keepsFor : undefined;
    };
    const errors = objects.flatMap((object) => {
      const code = refusal(object);
      if (code !== undefined) return [`<Error><Key>${xml(object.key)}</Key><Code>${code}</Code></Error>`];
      this.objects.delete(object.key);
      return [];
    });
    this.#xml(response, `<DeleteResult>${errors.join('')}</DeleteResult>`);
  }

  #list(query: URLSearchParams, request: IncomingMessage, response: ServerResponse): void {
    this.#note('ListObjectsV2', request);
    const { plainKeys = false, encodes: claim, emptyPages, repeatsToken } = this.#dialect;
    if (this.#dialect.startAfter === 'ignored') query.delete('start-after');
    if (this.#dialect.tokens !== undefined)
      for (const name of ['start-after', 'continuation-token']) query.delete(name);
    if (this.#dialect.tokens === 'markers') query.set('start-after', query.get('marker') ?? '');
    const asked = query.get('continuation-token');
    if (this.#dialect.tokens === false && !query.has('list-type'))
      return this.#xml(response, '<ListBucketResult><IsTruncated>true</IsTruncated></ListBucketResult>');
    if (repeatsToken === true || (emptyPages === true && asked === null))
      return this.#xml(
        response,
        `<ListBucketResult><IsTruncated>true</IsTruncated><NextContinuationToken>${repeatsToken === true ? 'same' : '!'}</NextContinuationToken></ListBucketResult>`,
      );
    const encodes = !plainKeys && claim === undefined && query.get('encoding-type') === 'url';
    const page = listPage(this.objects, query, encodes, this.#dialect.order);
    const token = /<NextContinuationToken>(.*?)<\/NextContinuationToken>/u;
    const hasMarker = this.#dialect.tokens === 'markers' && query.has('delimiter');
    const marker = hasMarker
      ? (_: string, next: string) => `<NextMarker>${encodeURIComponent(next)}</NextMarker>`
      : () => '';
    const claimed = '<ListBucketResult><EncodingType>url</EncodingType>';
    const text = claim === undefined ? page : page.replace('<ListBucketResult>', claimed);
    this.#xml(response, this.#dialect.tokens === undefined ? text : text.replace(token, marker));
  }
}
