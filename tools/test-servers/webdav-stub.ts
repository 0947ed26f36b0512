import { createHash, randomUUID } from 'node:crypto';
import { once } from 'node:events';
import { createServer, type IncomingMessage, type ServerResponse } from 'node:http';
import type { AddressInfo } from 'node:net';
import { buffer } from 'node:stream/consumers';
import { setTimeout as sleep } from 'node:timers/promises';
import { deflateSync, gzipSync } from 'node:zlib';

/** Differences of a server from expectations. */
export interface DavDialect {
  /** Collections without a trailing slash in their URL are redirected, for every method. */
  readonly slash?: 301 | 308;
  /** The server's address in such redirects. */
  readonly address?: string;
  /** Status instead of 201. */
  readonly created?: 200 | 204;
  /** Errors are wrapped in a multistatus, or those of PROPFIND in the status of its properties. */
  readonly refusals?: 'multistatus' | 'propstat';
  /** Format of hrefs: absolute URLs, or with unnecessary escapes. */
  readonly hrefs?: 'absolute' | 'escaped';
  /** MKCOL of an existing path responds as if it had created it. */
  readonly remakes?: boolean;
  /** MKCOL is rejected for hidden names. */
  readonly refusesHidden?: 403 | 405;
  /** These methods ignore `Overwrite: F`. */
  readonly overwrites?: readonly string[];
  /** MOVE to the name of an existing file is rejected with this status, regardless of `Overwrite`. */
  readonly replacesNothing?: 400 | 405 | 409 | 500;
  /** The form of `Destination` that is accepted, as behind a proxy that ends TLS; others get 400 or 502. */
  readonly destinations?: 'path' | 'http:';
  /** Properties that are not reported. */
  readonly untold?: readonly ('getcontentlength' | 'getlastmodified' | 'getetag')[];
  /** Larger bodies are rejected with 413. */
  readonly mostBytes?: number;
  /** Responses to PROPFIND are compressed, regardless of the request. */
  readonly packs?: 'gzip' | 'deflate' | 'broken';
  /** A copy has the time of its original, as in lighttpd and nginx. */
  readonly copiesKeepTime?: boolean;
  /**
   * COPY and MOVE to another folder put the item there under its old name first, over what has it, and ignore
   * `Overwrite`; COPY leaves it there: AList.
   */
  readonly keepsNames?: boolean;
  /** Names are case-insensitive, as in Windows. */
  readonly foldsCase?: boolean;
  /** Hrefs begin with this instead of `/dav`. */
  readonly reportedRoot?: string;
  /** Only this number of bytes of each PUT is stored. */
  readonly storesBytes?: number;
  /** These methods are executed, but get no response. */
  readonly mute?: readonly string[];
  /** MOVE and DELETE are executed, but respond with this status. */
  readonly lies?: 403 | 500 | 502 | 503 | 504;
  /** Delay of these methods in milliseconds, before they are handled. */
  readonly takes?: Readonly<Record<string, number>>;
  /** Returns responses that replace the stub's own. */
  readonly instead?: ((request: IncomingMessage) => StubAnswer | undefined) | undefined;
}

/** A response that replaces the stub's own. */
export interface StubAnswer {
  readonly status: number;
  readonly headers?: Readonly<Record<string, string>>;
  readonly body?: string | AsyncIterable<string>;
}

export interface StubRequest {
  readonly method: string;
  readonly path: string;
  readonly headers: IncomingMessage['headers'];
}

type Node =
  | { readonly kind: 'folder' }
  | { readonly kind: 'file'; readonly bytes: Buffer; readonly time: Date };

const ROOT = '/dav';
const xml = (text: string): string =>
  text.replaceAll('&', '&amp;').replaceAll('<', '&lt;').replaceAll('>', '&gt;');
const etagOf = (bytes: Buffer): string => `"${createHash('md5').update(bytes).digest('hex')}"`;
const parentOf = (path: string): string => path.slice(0, path.lastIndexOf('/'));
const pathOf = (url: string): string => {
  const { pathname } = new URL(url, 'http://stub');
  return decodeURIComponent(pathname).replace(/\/$/u, '');
};

/** An in-memory WebDAV server with configurable deviations. Paths are relative to `/dav`. */
export class DavStub {
  readonly seen: StubRequest[] = [];
  readonly url: string;
  /** May be changed at run time. */
  dialect: DavDialect;
  readonly #nodes = new Map<string, Node>([[ROOT, { kind: 'folder' }]]);
  readonly #close: () => Promise<void>;

  private constructor(dialect: DavDialect, url: string, close: () => Promise<void>) {
    this.dialect = dialect;
    this.url = url;
    this.#close = close;
  }

  static async start(dialect: DavDialect = {}, host = '127.0.0.1'): Promise<DavStub> {
    const server = createServer((request, response) => {
      response.on('error', () => undefined);
      stub.#answer(request, response).catch(() => response.destroy());
    });
    server.listen(0, host);
    await once(server, 'listening');
    const { port } = server.address() as AddressInfo;
    const stub: DavStub = new DavStub(dialect, `http://${host}:${String(port)}${ROOT}/`, async () => {
      server.closeAllConnections();
      await new Promise((resolve) => server.close(resolve));
    });
    return stub;
  }

  close(): Promise<void> {
    return this.#close();
  }

  /** Paths below the root, folders with a trailing slash. */
  get paths(): readonly string[] {
    return [...this.#nodes]
      .filter(([path]) => path !== ROOT)
      .map(([path, { kind }]) => path.slice(ROOT.length + 1) + (kind === 'folder' ? '/' : ''))
      .sort();
  }

  /** Adds a file like another client, with its exact name. Parent folders must exist. */
  plant(path: string, text: string | undefined, time = new Date()): void {
    const node: Node =
      text === undefined ? { kind: 'folder' } : { kind: 'file', bytes: Buffer.from(text), time };
    this.#nodes.set(`${ROOT}/${path}`, node);
  }

  text(path: string): string | undefined {
    const node = this.#nodes.get(`${ROOT}/${path}`);
    return node?.kind === 'file' ? node.bytes.toString() : undefined;
  }

  async #answer(request: IncomingMessage, response: ServerResponse): Promise<void> {
    const { method = '', url = '/', headers } = request;
    this.seen.push({ method, path: url, headers });
    const { instead, slash, mostBytes, takes } = this.dialect;
    const own = instead?.(request);
    if (own !== undefined) {
      request.resume();
      response.writeHead(own.status, own.headers);
      if (typeof own.body === 'object')
        for await (const piece of own.body) await this.#write(response, piece);
      return void response.end(typeof own.body === 'string' ? own.body : undefined);
    }
    if (method === 'PUT' && headers['content-length'] === undefined)
      return this.#status(request, response, 411);
    if (Number(headers['content-length'] ?? 0) > (mostBytes ?? Infinity))
      return this.#status(request, response, 413);
    const body = await buffer(request);
    if (takes?.[method] !== undefined) await sleep(takes[method], undefined, { ref: false });
    const path = this.#stored(pathOf(url));
    const node = this.#nodes.get(path);
    if (slash !== undefined && node?.kind === 'folder' && !url.endsWith('/')) {
      const { address = '' } = this.dialect;
      response.writeHead(slash, { location: `${address}${new URL(url, this.url).pathname}/` });
      return void response.end('<p>moved</p>');
    }
    if (method === 'PROPFIND') return this.#propfind(request, response, path);
    if (method === 'GET') return this.#get(request, response, node);
    const status = this.#change(method, path, request, body);
    if (this.dialect.mute?.includes(method) === true) return;
    const { lies } = this.dialect;
    if (lies !== undefined && status < 300 && (method === 'MOVE' || method === 'DELETE'))
      return this.#status(request, response, lies);
    return this.#status(request, response, status === 201 ? (this.dialect.created ?? 201) : status);
  }

  /** The stored path for one in any letter case, if case is ignored. */
  #stored(path: string): string {
    if (this.dialect.foldsCase !== true || this.#nodes.has(path)) return path;
    const same = [...this.#nodes.keys()].find((one) => one.toLowerCase() === path.toLowerCase());
    return same ?? `${path === ROOT ? '' : this.#stored(parentOf(path))}${path.slice(path.lastIndexOf('/'))}`;
  }

  async #write(response: ServerResponse, piece: string): Promise<void> {
    if (response.destroyed) throw new Error('nobody listens');
    if (response.write(piece)) return;
    await new Promise<void>((resolve) => {
      const done = (): void => {
        response.off('drain', done).off('close', done);
        resolve();
      };
      response.on('drain', done).on('close', done);
    });
  }

  #status(request: IncomingMessage, response: ServerResponse, status: number): void {
    request.resume();
    const { refusals } = this.dialect;
    const isPlain = refusals === 'propstat' && request.method !== 'PROPFIND';
    if (status < 400 || refusals === undefined || isPlain) {
      response.writeHead(status);
      return void response.end();
    }
    response.writeHead(207, { 'content-type': 'application/xml' });
    const line = `<d:status>HTTP/1.1 ${String(status)} No</d:status>`;
    const refusal = refusals === 'propstat' ? `<d:propstat><d:prop/>${line}</d:propstat>` : line;
    response.end(
      `<d:multistatus xmlns:d="DAV:"><d:response>${this.#href(pathOf(request.url ?? '/'), 'file')}${refusal}</d:response></d:multistatus>`,
    );
  }

  #change(method: string, path: string, request: IncomingMessage, body: Buffer): number {
    const node = this.#nodes.get(path);
    const { remakes, refusesHidden } = this.dialect;
    if (method === 'MKCOL') {
      if (refusesHidden !== undefined && path.includes('/.')) return refusesHidden;
      if (node !== undefined) return remakes === true && node.kind === 'folder' ? 201 : 405;
      if (this.#nodes.get(parentOf(path))?.kind !== 'folder') return 409;
      this.#nodes.set(path, { kind: 'folder' });
      return 201;
    }
    if (method === 'PUT') {
      if (node?.kind === 'folder') return 405;
      if (this.#nodes.get(parentOf(path))?.kind !== 'folder') return 409;
      const bytes = body.subarray(0, this.dialect.storesBytes);
      this.#nodes.set(path, { kind: 'file', bytes, time: new Date() });
      return node === undefined ? 201 : 204;
    }
    if (node === undefined) return 404;
    const wanted = request.headers['if-match'];
    if (wanted !== undefined && node.kind === 'file' && wanted !== etagOf(node.bytes)) return 412;
    if (method === 'DELETE') {
      for (const one of this.#tree(path)) this.#nodes.delete(one);
      return 204;
    }
    return method === 'COPY' || method === 'MOVE' ? this.#transfer(method, path, request) : 405;
  }

  #tree(path: string): readonly string[] {
    return [...this.#nodes.keys()].filter((one) => one === path || one.startsWith(`${path}/`));
  }

  #transfer(method: 'COPY' | 'MOVE', from: string, { headers }: IncomingMessage): number {
    const destination = String(headers['destination']);
    const { destinations, replacesNothing } = this.dialect;
    if (destinations === 'path' && !destination.startsWith('/')) return 400;
    if (destinations === 'http:' && !destination.startsWith('http:'))
      return destination.startsWith('/') ? 400 : 502;
    const to = this.#stored(pathOf(destination));
    const there = this.#nodes.has(to);
    if (there && method === 'MOVE' && replacesNothing !== undefined) return replacesNothing;
    if (to === from || to.startsWith(`${from}/`)) return 403;
    if (this.#nodes.get(parentOf(to))?.kind !== 'folder') return 409;
    if (there && headers['overwrite'] === 'F' && this.dialect.overwrites?.includes(method) !== true)
      return 412;
    const old = parentOf(to) + from.slice(from.lastIndexOf('/'));
    if (this.dialect.keepsNames !== true || (method === 'MOVE' && parentOf(from) === parentOf(to)))
      this.#put(method, from, to);
    else if (old === from) return 500;
    else {
      this.#put(method, from, old);
      if (method === 'MOVE' && old !== to) this.#put(method, old, to);
    }
    return there ? 204 : 201;
  }

  #put(method: 'COPY' | 'MOVE', from: string, to: string): void {
    for (const one of this.#tree(to)) this.#nodes.delete(one);
    for (const one of this.#tree(from)) {
      const node = this.#nodes.get(one);
      if (node === undefined) continue;
      const isFresh = method === 'COPY' && node.kind === 'file' && this.dialect.copiesKeepTime !== true;
      this.#nodes.set(to + one.slice(from.length), isFresh ? { ...node, time: new Date() } : node);
      if (method === 'MOVE') this.#nodes.delete(one);
    }
  }

  #get(request: IncomingMessage, response: ServerResponse, node: Node | undefined): void {
    if (node === undefined) return this.#status(request, response, 404);
    if (node.kind === 'folder') return this.#status(request, response, 405);
    const { bytes, time } = node;
    const [, start, end] = /^bytes=(\d+)-(\d+)$/u.exec(request.headers.range ?? '') ?? [];
    const isRange = start !== undefined && end !== undefined;
    const sent = isRange ? bytes.subarray(Number(start), Number(end) + 1) : bytes;
    const range = isRange ? { 'content-range': `bytes ${start}-${end}/${String(bytes.length)}` } : {};
    const facts = { etag: etagOf(bytes), 'last-modified': time.toUTCString(), 'content-length': sent.length };
    response.writeHead(isRange ? 206 : 200, { ...facts, ...range });
    response.end(sent);
  }

  #href(path: string, kind: Node['kind']): string {
    const { hrefs, reportedRoot = ROOT } = this.dialect;
    const reported = reportedRoot + path.slice(ROOT.length);
    const escaped = reported.split('/').map(encodeURIComponent).join('/') + (kind === 'folder' ? '/' : '');
    const odd = escaped.replaceAll(/%[0-9A-F]{2}|[a-f]/gu, (text) =>
      text.length === 3 ? text.toLowerCase() : `%${text.charCodeAt(0).toString(16)}`,
    );
    const text = hrefs === 'absolute' ? new URL(escaped, this.url).href : hrefs === 'escaped' ? odd : escaped;
    return `<d:href>${xml(text)}</d:href>`;
  }

  #propfind(request: IncomingMessage, response: ServerResponse, path: string): void {
    const node = this.#nodes.get(path);
    if (node === undefined) return this.#status(request, response, 404);
    const isDeep = request.headers['depth'] === '1' && node.kind === 'folder';
    const below = isDeep ? [...this.#nodes.keys()].filter((one) => parentOf(one) === path) : [];
    const responses = [path, ...below].map((one) => this.#response(one));
    const { packs } = this.dialect;
    const packing = packs === undefined ? {} : { 'content-encoding': packs === 'broken' ? 'gzip' : packs };
    response.writeHead(207, { 'content-type': 'application/xml; charset=utf-8', ...packing });
    const text = `<?xml version="1.0"?><d:multistatus xmlns:d="DAV:">${responses.join('')}</d:multistatus>`;
    response.end(packs === 'gzip' ? gzipSync(text) : packs === 'deflate' ? deflateSync(text) : text);
  }

  #response(path: string): string {
    const node = this.#nodes.get(path) ?? { kind: 'folder' };
    const isFolder = node.kind === 'folder';
    const time = (isFolder ? new Date() : node.time).toUTCString();
    const all = {
      getlastmodified: time,
      ...(isFolder ? {} : { getcontentlength: String(node.bytes.length), getetag: etagOf(node.bytes) }),
    };
    const told = Object.entries(all).filter(([name]) => !this.dialect.untold?.some((one) => one === name));
    const properties = told.map(([name, text]) => `<d:${name}>${xml(text)}</d:${name}>`).join('');
    const type = `<d:resourcetype>${isFolder ? '<d:collection/>' : ''}</d:resourcetype>`;
    return `<d:response>${this.#href(path, node.kind)}<d:propstat><d:prop>${type}${properties}</d:prop><d:status>HTTP/1.1 200 OK</d:status></d:propstat></d:response>`;
  }
}

/** Parameters of a server with Digest authentication. */
export interface DigestWish {
  readonly algorithm?: string;
  readonly qop?: string;
  /** Number of requests for which a nonce is valid. */
  readonly uses: number;
  /** Default: `dav`. */
  readonly realm?: string;
  /** Default: `bob`. */
  readonly username?: string;
}

/** Rejects requests whose Digest login (bob, secret) is missing, wrong, expired or has a wrong count. */
export const digestGate = ({
  algorithm,
  qop,
  uses,
  realm = 'dav',
  username = 'bob',
}: DigestWish): DavDialect['instead'] => {
  let nonce = randomUUID();
  let left = uses;
  const hash = (text: string): string =>
    createHash(algorithm?.startsWith('SHA-256') === true ? 'sha256' : 'md5')
      .update(text)
      .digest('hex');
  const challenge = (more: string): StubAnswer => {
    const parts = [
      // Headers are bytes: Node writes one for each of these characters.
      `realm="${Buffer.from(realm).toString('latin1')}"`,
      `nonce="${nonce}"`,
      'opaque="o"',
      ...(qop === undefined ? [] : [`qop="${qop}"`]),
    ];
    if (algorithm !== undefined) parts.push(`algorithm=${algorithm}`);
    return {
      status: 401,
      headers: {
        'www-authenticate': `Basic realm="other", Digest ${parts.join(', ')}${more}, Basic realm="last"`,
      },
    };
  };
  // As IIS, whose session has one key.
  let session: { readonly nonce: string; readonly cnonce: string } | undefined;
  return ({ method = '', url = '', headers }) => {
    const given = headers.authorization ?? '';
    const field = (name: string): string =>
      new RegExp(`(?:^|[ ,])${name}="?([^",]+)"?`, 'u').exec(given)?.[1] ?? '';
    if (!given.startsWith('Digest ')) return challenge('');
    if (field('nonce') !== nonce || left === 0) {
      nonce = randomUUID();
      left = uses;
      return challenge(', stale=true');
    }
    const secret = hash(`${username}:${realm}:secret`);
    const isSession = algorithm?.endsWith('-sess') === true;
    if (session?.nonce !== nonce) session = { nonce, cnonce: field('cnonce') };
    const ha1 = isSession ? hash(`${secret}:${nonce}:${session.cnonce}`) : secret;
    const middle = qop === undefined ? '' : `${field('nc')}:${field('cnonce')}:auth:`;
    const expected = hash(`${ha1}:${nonce}:${middle}${hash(`${method}:${url}`)}`);
    const counted = qop === undefined || parseInt(field('nc'), 16) === uses - left + 1;
    if (field('response') !== expected || field('uri') !== url || !counted) return challenge('');
    left -= 1;
    return undefined;
  };
};
