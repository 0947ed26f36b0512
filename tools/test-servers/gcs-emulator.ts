import { createVerify, randomUUID, type KeyObject } from 'node:crypto';
import { once } from 'node:events';
import { createServer, type IncomingMessage, type ServerResponse } from 'node:http';
import type { AddressInfo } from 'node:net';
import { buffer } from 'node:stream/consumers';
import { checkSignedUrl, Failure, sendMedia, type KeptObject } from './gcs-media.ts';

interface Session {
  readonly name: string;
  readonly query: URLSearchParams;
  readonly attributes: Readonly<Record<string, unknown>>;
  content: Buffer;
}

/** Size of session parts (except the last) and of rewrite steps is a multiple of this. */
const QUANTUM = 256 * 1024;
const REWRITTEN_AT_ONCE = 4 * 1024 * 1024;
const EDITABLE = [
  ...['contentType', 'cacheControl', 'contentDisposition', 'contentEncoding', 'contentLanguage'],
  ...['customTime', 'metadata', 'storageClass'],
];

/** The scope that the service is known to accept in tokens that service accounts sign themselves. */
const CLOUD_PLATFORM = 'https://www.googleapis.com/auth/cloud-platform';

const byBytes = (one: string, other: string): number => Buffer.compare(Buffer.from(one), Buffer.from(other));

/**
 * An in-memory bucket with the documented JSON API of Cloud Storage: generations and preconditions, uploads
 * in one request and in sessions, rewrites in several steps, paged listings, and signed URLs of version 4.
 * Logins are verified with the public key.
 */
export class GcsEmulator {
  readonly objects = new Map<string, KeptObject>();
  readonly sessions = new Map<string, Session>();
  readonly #completed = new Map<string, object>();
  /** Tokens that are accepted besides those signed with the key. */
  readonly tokens = new Set<string>();
  /** URL of upload sessions, when not here. */
  sessionsAt: string | undefined;
  /** Everybody can read the bucket: its contents are then cached for an hour, whatever replaces them. */
  isPublic = false;
  readonly #cached = new Map<string, KeptObject>();
  /** Number of bytes that a session stores of one request at most. */
  mostOfPart = Infinity;
  /** Boundary of the last multipart upload. */
  boundary = '';
  readonly bucket: string;
  readonly endpoint: string;
  readonly #key: KeyObject;
  readonly #close: () => Promise<void>;
  readonly #rewrites = new Map<string, number>();
  #generation = 1_700_000_000_000_000n;

  private constructor(bucket: string, key: KeyObject, endpoint: string, close: () => Promise<void>) {
    this.bucket = bucket;
    this.#key = key;
    this.endpoint = endpoint;
    this.#close = close;
  }

  static async start(bucket: string, key: KeyObject): Promise<GcsEmulator> {
    const server = createServer((incoming, outgoing) => {
      incoming.on('error', () => undefined);
      emulator.#answer(incoming, outgoing).catch((error: unknown) => {
        if (!(error instanceof Failure)) return void outgoing.destroy();
        const errors = [{ reason: error.reason, domain: 'global' }];
        const text = JSON.stringify({ error: { code: error.status, message: `${bucket}: no`, errors } });
        outgoing.writeHead(error.status, { 'content-type': 'application/json' }).end(text);
      });
    });
    server.listen(0, '127.0.0.1');
    await once(server, 'listening');
    const { port } = server.address() as AddressInfo;
    const emulator: GcsEmulator = new GcsEmulator(
      bucket,
      key,
      `http://127.0.0.1:${String(port)}`,
      async () => {
        const closed = once(server, 'close');
        server.closeAllConnections();
        server.close();
        await closed;
      },
    );
    return emulator;
  }

  /** Stores an object without any checks. */
  put(
    name: string,
    content: string | Buffer,
    attributes: Readonly<Record<string, unknown>> = {},
  ): KeptObject {
    this.#generation += 1n;
    const kept = {
      content: Buffer.from(content),
      generation: String(this.#generation),
      timeCreated: new Date().toISOString(),
      attributes: { storageClass: 'STANDARD', ...attributes },
    };
    this.objects.set(name, kept);
    return kept;
  }

  /** Names with this prefix, without it, sorted. */
  keys(prefix: string): string[] {
    return [...this.objects.keys()]
      .filter((name) => name.startsWith(prefix))
      .map((name) => name.slice(prefix.length))
      .sort();
  }

  close(): Promise<void> {
    return this.#close();
  }

  async #answer(incoming: IncomingMessage, outgoing: ServerResponse): Promise<void> {
    const url = new URL(incoming.url ?? '/', 'http://emulator');
    const body = await buffer(incoming);
    if (url.searchParams.has('X-Goog-Signature')) {
      const { bucket, name, headers } = checkSignedUrl(incoming, url, this.#key);
      if (bucket !== this.bucket) throw new Failure(404, 'notFound');
      return sendMedia(incoming, this.#existing(name), outgoing, headers);
    }
    if (url.searchParams.has('upload_id')) return this.#session(incoming, url, body, outgoing);
    this.#checkLogin(incoming.headers.authorization);
    const [, door, bucket = '', rest = ''] =
      /^(\/upload|\/download)?\/storage\/v1\/b\/([^/]+)\/o(.*)$/u.exec(url.pathname) ?? [];
    if (decodeURIComponent(bucket) !== this.bucket) throw new Failure(404, 'notFound');
    if (door === '/upload') return this.#upload(incoming, url, body, outgoing);
    if (rest === '') return this.#json(outgoing, this.#list(url.searchParams));
    const [name = '', ...more] = rest.slice(1).split('/').map(decodeURIComponent);
    if (more[0] === 'rewriteTo')
      return this.#json(outgoing, this.#rewrite(name, more[4] ?? '', url.searchParams, body));
    if (incoming.method === 'DELETE') {
      this.#precondition(name, url.searchParams, 'ifGenerationMatch');
      this.#existing(name);
      this.objects.delete(name);
      return void outgoing.writeHead(204).end();
    }
    const kept = this.#existing(name);
    this.#precondition(name, url.searchParams, 'ifGenerationMatch');
    if (url.searchParams.get('alt') === 'media') {
      if (door === undefined) throw new Failure(302, 'mediaDownloadRedirect');
      return sendMedia(incoming, this.#cachedOr(kept, incoming), outgoing);
    }
    return this.#json(outgoing, this.#resource(name, kept));
  }

  #cachedOr(kept: KeptObject, { url = '', headers }: IncomingMessage): KeptObject {
    if (!this.isPublic || headers['cache-control'] === 'no-store') return kept;
    const cached = this.#cached.get(url) ?? kept;
    this.#cached.set(url, cached);
    return cached;
  }

  #json(outgoing: ServerResponse, value: unknown): void {
    outgoing.writeHead(200, { 'content-type': 'application/json' }).end(JSON.stringify(value));
  }

  #checkLogin(authorization = ''): void {
    if (this.tokens.has(authorization.replace(/^Bearer /u, ''))) return;
    const [head = '', claims = '', signature = ''] = authorization.replace(/^Bearer /u, '').split('.');
    const isGood = createVerify('RSA-SHA256')
      .update(`${head}.${claims}`)
      .verify(this.#key, signature, 'base64url');
    if (!isGood) throw new Failure(401, 'authError');
    const { exp, scope } = JSON.parse(Buffer.from(claims, 'base64url').toString()) as {
      exp: number;
      scope: string;
    };
    if (exp * 1000 < Date.now() || scope !== CLOUD_PLATFORM) throw new Failure(401, 'authError');
  }

  #existing(name: string): KeptObject {
    const kept = this.objects.get(name);
    if (kept === undefined) throw new Failure(404, 'notFound');
    return kept;
  }

  #precondition(name: string, query: URLSearchParams, parameter: string): void {
    const wanted = query.get(parameter);
    if (wanted !== null && wanted !== (this.objects.get(name)?.generation ?? '0'))
      throw new Failure(412, 'conditionNotMet');
  }

  #resource(name: string, { content, generation, timeCreated, attributes }: KeptObject) {
    const facts = {
      kind: 'storage#object',
      name,
      bucket: this.bucket,
      size: String(content.length),
      generation,
    };
    return { ...facts, timeCreated, ...attributes };
  }

  #list(query: URLSearchParams) {
    const prefix = query.get('prefix') ?? '';
    const delimiter = query.get('delimiter');
    const after = query.get('pageToken');
    const most = Number(query.get('maxResults') ?? 1000);
    const rows = new Map<string, object | undefined>();
    for (const name of [...this.objects.keys()].sort(byBytes)) {
      if (!name.startsWith(prefix) || byBytes(name, query.get('startOffset') ?? '') < 0) continue;
      const end = delimiter === null ? -1 : name.indexOf(delimiter, prefix.length);
      if (end === -1) rows.set(name, this.#resource(name, this.#existing(name)));
      else rows.set(name.slice(0, end + 1), undefined);
    }
    const left = [...rows].filter(([name]) => after === null || byBytes(name, after) > 0);
    const page = left.slice(0, most);
    const items = page.flatMap(([, row]) => row ?? []);
    const prefixes = page.flatMap(([name, row]) => (row === undefined ? name : []));
    return {
      kind: 'storage#objects',
      ...(items.length === 0 ? {} : { items }),
      ...(prefixes.length === 0 ? {} : { prefixes }),
      ...(left.length > most ? { nextPageToken: page.at(-1)?.[0] } : {}),
    };
  }

  #upload({ headers }: IncomingMessage, url: URL, body: Buffer, outgoing: ServerResponse): void {
    const query = url.searchParams;
    const name = query.get('name') ?? '';
    if (query.get('uploadType') === 'resumable') {
      this.#precondition(name, query, 'ifGenerationMatch');
      const id = randomUUID();
      const attributes = JSON.parse(body.toString()) as Record<string, unknown>;
      this.sessions.set(id, { name, query, attributes, content: Buffer.alloc(0) });
      return void outgoing
        .writeHead(200, { location: `${this.sessionsAt ?? this.endpoint}${url.pathname}?upload_id=${id}` })
        .end();
    }
    const boundary = /boundary=(.+)$/u.exec(headers['content-type'] ?? '')?.[1] ?? '';
    this.boundary = boundary;
    const text = body.toString('latin1');
    const [, head = ''] = text.split(`--${boundary}\r\n`);
    const contentAt = text.indexOf('\r\n\r\n', text.indexOf(`--${boundary}\r\n`, boundary.length)) + 4;
    const content = body.subarray(contentAt, body.length - `\r\n--${boundary}--\r\n`.length);
    const json = Buffer.from(head.slice(head.indexOf('\r\n\r\n')), 'latin1').toString();
    this.#precondition(name, query, 'ifGenerationMatch');
    this.#json(outgoing, this.#store(name, content, JSON.parse(json) as Record<string, unknown>));
  }

  #store(name: string, content: Buffer, attributes: Readonly<Record<string, unknown>>) {
    const kept = Object.fromEntries(Object.entries(attributes).filter(([key]) => EDITABLE.includes(key)));
    return this.#resource(name, this.put(name, content, kept));
  }

  #session({ method, headers }: IncomingMessage, url: URL, body: Buffer, outgoing: ServerResponse): void {
    const id = url.searchParams.get('upload_id') ?? '';
    const session = this.sessions.get(id);
    const made = this.#completed.get(id);
    if (made !== undefined && method === 'PUT') return this.#json(outgoing, made);
    if (session === undefined) throw new Failure(410, 'gone');
    if (method === 'DELETE') {
      this.sessions.delete(id);
      return void outgoing.writeHead(499).end();
    }
    const range = headers['content-range'] ?? '';
    const [, first, last] = /^bytes (\d+)-(\d+)\/(?:\d+|\*)$/u.exec(range) ?? [];
    const total = /\/(\d+)$/u.exec(range)?.[1];
    if (first !== undefined) {
      if (Number(first) !== session.content.length || Number(last) - Number(first) + 1 !== body.length)
        throw new Failure(400, 'invalid');
      // Only a multiple of the quantum is stored.
      const whole = total === undefined ? body.length - (body.length % QUANTUM) : body.length;
      const kept = Math.min(whole, this.mostOfPart);
      session.content = Buffer.concat([session.content, body.subarray(0, kept)]);
    }
    if (total !== undefined && Number(total) === session.content.length) {
      this.#precondition(session.name, session.query, 'ifGenerationMatch');
      this.sessions.delete(id);
      const resource = this.#store(session.name, session.content, session.attributes);
      this.#completed.set(id, resource);
      return this.#json(outgoing, resource);
    }
    const { length } = session.content;
    outgoing.writeHead(308, length === 0 ? {} : { range: `bytes=0-${length - 1}` }).end();
  }

  #rewrite(from: string, to: string, query: URLSearchParams, body: Buffer) {
    const source = this.#existing(from);
    this.#precondition(from, query, 'ifSourceGenerationMatch');
    this.#precondition(to, query, 'ifGenerationMatch');
    const token = query.get('rewriteToken');
    const written = (token === null ? 0 : (this.#rewrites.get(token) ?? 0)) + REWRITTEN_AT_ONCE;
    if (token !== null && !this.#rewrites.delete(token)) throw new Failure(400, 'invalid');
    if (written < source.content.length) {
      const next = randomUUID();
      this.#rewrites.set(next, written);
      return { kind: 'storage#rewriteResponse', done: false, rewriteToken: next };
    }
    const given = body.length === 0 ? {} : (JSON.parse(body.toString()) as Record<string, unknown>);
    // An empty description copies that of the source, any other replaces it.
    const attributes = Object.keys(given).length === 0 ? source.attributes : given;
    return {
      kind: 'storage#rewriteResponse',
      done: true,
      resource: this.#store(to, source.content, attributes),
    };
  }
}
