import type { IncomingHttpHeaders } from 'node:http';
import type { Readable } from 'node:stream';
import { StorageDeniedError, StorageTimeoutError, StorageUnavailableError } from '../../errors/errors.ts';
import { createSlots, type Slots } from '../../storage/slots.ts';
import { addsSlash, movedRoot } from './address.ts';
import { createAuthorization, type Authorization } from './authorization.ts';
import { Connections } from './connections.ts';
import { errorOfFailure, isConnectionLoss, type Asked } from './errors.ts';
import type { WebdavOptions } from './options.ts';

/** A request to the server. */
export interface DavRequest extends Asked {
  readonly url: URL;
  readonly headers?: Readonly<Record<string, string>>;
  /** Sent with a known length. Called again when the request has to be repeated; undefined where the content cannot be. */
  readonly body?:
    { readonly open: () => Readable; readonly size: number; readonly repeatable: boolean } | string;
  readonly signal?: AbortSignal | undefined;
}

/** An answer of any status. Its body is read or dropped by whoever asked. */
export interface DavAnswer {
  readonly status: number;
  readonly headers: Readonly<Record<string, string | undefined>>;
  readonly body: Readable;
  /** Where the answer came from, after redirects. */
  readonly url: URL;
}

const MOST_REDIRECTS = 5;
const MAY_WAIT = 1000;
const REDIRECTS: ReadonlySet<number> = new Set([301, 302, 307, 308]);
/** Safe to send again after a lost connection. */
const REPEATABLE: ReadonlySet<string> = new Set(['PROPFIND', 'GET', 'HEAD', 'OPTIONS']);
/** Short requests that change something: the server goes on with one that is broken off, and nobody would know what it has done. */
const UNBROKEN: ReadonlySet<string> = new Set(['MKCOL', 'MOVE', 'DELETE']);

/** Reads what is left of a small answer, so that its connection can be used again. */
export const dropBody = async ({ body }: DavAnswer): Promise<void> => {
  let bytes = 0;
  try {
    for await (const chunk of body as AsyncIterable<Uint8Array>) {
      bytes += chunk.byteLength;
      if (bytes > 256 * 1024) break;
    }
  } catch {
    // The answer is known; how its body ends does not matter.
  }
};

const oneOf = (value: string | string[] | undefined): string | undefined =>
  Array.isArray(value) ? value.join(', ') : value;

const plainHeaders = (headers: IncomingHttpHeaders): DavAnswer['headers'] =>
  Object.fromEntries(Object.entries(headers).map(([name, value]) => [name, oneOf(value)]));

/** The HTTP client of one store: pooled connections, authorization, redirects, timeouts. */
export class DavClient {
  readonly #connections: Connections;
  readonly #authorization: Authorization;
  readonly #root: string;
  readonly #origin: string;
  readonly #slots: Slots;
  readonly #waitMs: number;
  /** When a connection was last given back. */
  #freedAt = 0;
  /** The server has led elsewhere, and may lead there again. */
  #leadsElsewhere = false;

  constructor(options: WebdavOptions) {
    const wait = options.timeout * 1000;
    this.#waitMs = wait;
    this.#slots = createSlots(options.connections, MAY_WAIT);
    this.#connections = new Connections(options.connections, wait, options.verifyCertificate);
    this.#authorization = createAuthorization(options);
    const { href, origin } = new URL(options.url);
    this.#root = href;
    this.#origin = origin;
  }

  /** Bodies must be at hand again: the first request may be refused for its missing login, or redirected. */
  get mayRepeat(): boolean {
    return this.#authorization.asksFirst || this.#leadsElsewhere;
  }

  /**
   * Sends a request and follows redirects; on other hosts without the login, and with a `Destination` that goes along. What makes, moves or removes something is not broken off by
   * the signal once it is on its way.
   * @throws the signal's reason, StorageUnavailableError, StorageTimeoutError, also when no connection has become free for that long; errors of the body's content as they are
   */
  async send(asked: DavRequest): Promise<DavAnswer> {
    let request = asked;
    let root = this.#root;
    for (let redirects = 0; ; redirects += 1) {
      const answer = await this.#authorized(request);
      const location = answer.headers['location'];
      if (!REDIRECTS.has(answer.status) || location === undefined) return answer;
      await dropBody(answer);
      if (redirects === MOST_REDIRECTS) throw new StorageUnavailableError({ detail: 'too many redirects' });
      const url = targetOf(location, request.url);
      const moved = movedRoot(root, request.url, url);
      this.#leadsElsewhere ||= moved !== root;
      requireRepeatable(asked, 'was redirected');
      request = { ...request, url, headers: headersAt(moved ?? root, root, request.headers) };
      root = moved ?? root;
    }
  }

  /** What a failure while an answer is read means. */
  failure(asked: Asked, error: unknown): Error {
    return errorOfFailure(asked, error);
  }

  async close(): Promise<void> {
    this.#connections.close();
  }

  async #authorized(asked: DavRequest): Promise<DavAnswer> {
    const isOwn = asked.url.origin === this.#origin;
    const uri = asked.url.pathname + asked.url.search;
    for (let attempt = 0; ; attempt += 1) {
      const login = isOwn ? this.#authorization.header(asked.method, uri) : undefined;
      const answer = await this.#exchange(asked, login);
      const challenge = answer.headers['www-authenticate'];
      if (answer.status !== 401 || !isOwn || challenge === undefined || attempt === 2) return answer;
      if (!this.#authorization.learn(challenge, login)) return answer;
      await dropBody(answer);
      requireRepeatable(asked, 'needs a new login');
    }
  }

  async #exchange(asked: DavRequest, login: string | undefined): Promise<DavAnswer> {
    const again = REPEATABLE.has(asked.method);
    try {
      return await this.#once(asked, login);
    } catch (error) {
      asked.signal?.throwIfAborted();
      if (error instanceof ContentError) throw error.cause;
      // A kept connection may have been closed by the server just as it was used.
      if (!again || !isConnectionLoss(error)) throw errorOfFailure(asked, error);
    }
    try {
      return await this.#once(asked, login);
    } catch (error) {
      asked.signal?.throwIfAborted();
      throw errorOfFailure(asked, error);
    }
  }

  async #once(asked: DavRequest, login: string | undefined): Promise<DavAnswer> {
    const { method, url, headers, body, signal } = asked;
    // Downloads keep their connection as long as their reader takes, so waiting for one needs an end of its own.
    const free = await this.#turn(signal);
    const content = typeof body === 'object' ? body.open() : undefined;
    let contentError: unknown;
    content?.on('error', (error) => {
      contentError ??= error;
    });
    try {
      const response = await this.#connections.exchange(url, {
        method,
        headers: {
          ...headers,
          ...(login === undefined ? {} : { authorization: login }),
          ...(typeof body === 'object' ? { 'content-length': String(body.size) } : {}),
        },
        body: content ?? (typeof body === 'string' ? body : undefined),
        signal: UNBROKEN.has(method) ? undefined : signal,
      });
      response.once('close', free);
      return {
        status: response.statusCode ?? 0,
        headers: plainHeaders(response.headers),
        body: response,
        url,
      };
    } catch (error) {
      free();
      if (contentError !== undefined) throw new ContentError(contentError);
      throw error;
    } finally {
      content?.destroy();
    }
  }

  /**
   * Waits for a connection, as long as connections become free from time to time. Returns the function that gives it back.
   * @throws the signal's reason, StorageTimeoutError
   */
  async #turn(signal: AbortSignal | undefined): Promise<() => void> {
    const limit = new AbortController();
    const since = performance.now();
    const check = (): void => {
      const idle = performance.now() - Math.max(since, this.#freedAt);
      if (idle < this.#waitMs) timer = setTimeout(check, this.#waitMs - idle);
      else limit.abort(new StorageTimeoutError({ detail: 'all connections to the server are in use' }));
    };
    let timer = setTimeout(check, this.#waitMs);
    try {
      const free = await this.#slots.take(
        signal === undefined ? limit.signal : AbortSignal.any([signal, limit.signal]),
      );
      return () => {
        this.#freedAt = performance.now();
        free();
      };
    } finally {
      clearTimeout(timer);
    }
  }
}

/** Carries the content's own failure past the mapping of connection errors. */
class ContentError extends Error {
  constructor(cause: unknown) {
    super('the content failed', { cause });
  }
}

/** @throws StorageUnavailableError */
const targetOf = (location: string, from: URL): URL => {
  if (!URL.canParse(location, from.href))
    throw new StorageUnavailableError({ detail: 'a redirect to nowhere' });
  const url = new URL(location, from);
  if (!/^https?:$/u.test(url.protocol))
    throw new StorageUnavailableError({ detail: 'a redirect to no web address' });
  if (!addsSlash(from, url)) return url;
  const same = new URL(from);
  same.pathname += '/';
  return same;
};

/** A server takes only destinations of its own. */
const headersAt = (moved: string, root: string, headers: DavRequest['headers'] = {}) => {
  const { destination } = headers;
  return destination?.startsWith(root) === true
    ? { ...headers, destination: moved + destination.slice(root.length) }
    : headers;
};

const requireRepeatable = ({ body, method }: DavRequest, why: string): void => {
  if (typeof body === 'object' && !body.repeatable) {
    throw new StorageDeniedError({ detail: `${method} ${why} after its content was sent` });
  }
};
