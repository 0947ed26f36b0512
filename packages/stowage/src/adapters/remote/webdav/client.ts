import type { IncomingHttpHeaders } from 'node:http';
import type { Readable } from 'node:stream';
import type { Slots } from '../../../basics/concurrency/queues.ts';
import { StorageDeniedError, StorageUnavailableError } from '../../../errors/errors.ts';
import { createConnectionSlots } from '../core/connections.ts';
import { pause, retryAfter } from '../core/http.ts';
import { Connections, LostConnectionError } from './connection.ts';
import { errorOfFailure, type Asked } from './errors.ts';
import { createLogin, type Login } from './login.ts';
import type { WebdavOptions } from './options.ts';
import { guardedLookup, headersAt, movedRoot, targetOf } from './address.ts';

/** Content to be sent, with its length. */
export interface Content {
  /** Called again when the request must be repeated. */
  readonly open: () => Readable;
  readonly size: number;
  /** False when it can be opened only once. */
  readonly repeatable: boolean;
}

export interface DavRequest extends Asked {
  readonly url: URL;
  readonly headers?: Readonly<Record<string, string>>;
  readonly body?: Content | string;
  readonly signal?: AbortSignal | undefined;
  /** Time limit as a multiple of `timeout`, for requests whose duration depends on the data. Default: 1. */
  readonly patience?: number;
}

/** A response of any status. The caller reads or discards its body. */
export interface DavResponse {
  readonly status: number;
  readonly headers: Readonly<IncomingHttpHeaders>;
  readonly body: Readable;
}

const MOST_REDIRECTS = 5;
/** Attempts, and pauses between them, for a request that exceeds a rate limit, as of Yandex and Koofr. */
const RATED_ATTEMPTS = 4;
const RATE_BACKOFF = { firstMs: 250, longestMs: 5000 };
const MAY_WAIT = 1000;
const REDIRECTS: ReadonlySet<number> = new Set([301, 302, 307, 308]);
/** Methods that are safe to repeat after a lost connection; a PUT writes to a temporary name. */
const REPEATABLE: ReadonlySet<string> = new Set(['PROPFIND', 'GET', 'HEAD', 'PUT']);
/** The server continues these after an abort, with an unknown outcome: they are never aborted. */
const UNBROKEN: ReadonlySet<string> = new Set(['MKCOL', 'MOVE', 'COPY', 'DELETE']);

/** Reads the rest of a small response, so that its connection can be reused. */
export const dropBody = async ({ body }: DavResponse): Promise<void> => {
  let bytes = 0;
  try {
    for await (const chunk of body as AsyncIterable<Uint8Array>) {
      bytes += chunk.byteLength;
      if (bytes > 256 * 1024) break;
    }
  } catch {
    // The status is known; errors of the body do not matter.
  }
};

/** The HTTP client of one store: pooled connections, login, redirects, timeouts. */
export class DavClient {
  readonly #connections: Connections;
  readonly #login: Login;
  readonly #headers: Readonly<Record<string, string>>;
  readonly #own: URL;
  readonly #slots: Slots;
  /** Limits downloads, so that some connections are left for other requests, where there are several. */
  readonly #downloads: Slots;
  readonly #waitMs: number;
  /** The server has redirected the collection, and may do so again. */
  #isRedirected = false;

  constructor(options: WebdavOptions) {
    const { connections, headers, url } = options;
    this.#waitMs = options.timeout * 1000;
    const limits = { mayWait: MAY_WAIT, waitMs: this.#waitMs };
    const forDownloads = Math.max(1, Math.floor((connections * 3) / 4));
    this.#slots = createConnectionSlots({ connections, ...limits });
    this.#downloads = createConnectionSlots({ connections: forDownloads, ...limits });
    this.#connections = new Connections(options);
    this.#login = createLogin(options);
    this.#headers = headers;
    this.#own = new URL(url);
  }

  /** False when bodies must be repeatable: the first request may lack its login, or be redirected. */
  get mayRepeat(): boolean {
    return this.#login.asksFirst || this.#isRedirected;
  }

  /**
   * Sends a request and follows redirects; to other hosts without the login, and with a rewritten
   * `Destination`. A request that creates, copies, moves or removes something is not aborted by the signal
   * once it was sent.
   * @throws the signal's reason, StorageUnavailableError, StorageTimeoutError, also when no connection has
   * become free in that time; errors of the body's content unchanged
   */
  async send(asked: DavRequest): Promise<DavResponse> {
    let request = asked;
    let root = this.#own.href;
    for (let redirects = 0; ; redirects += 1) {
      const response = await this.#withinRate(request);
      const location = response.headers['location'];
      if (!REDIRECTS.has(response.status) || location === undefined) return response;
      await dropBody(response);
      if (redirects === MOST_REDIRECTS) throw new StorageUnavailableError({ detail: 'too many redirects' });
      const url = targetOf(location, request.url);
      const moved = movedRoot(root, request.url, url);
      this.#isRedirected ||= moved !== root;
      requireRepeatable(asked, 'was redirected');
      request = { ...request, url, headers: headersAt(moved ?? root, root, request.headers) };
      root = moved ?? root;
    }
  }

  close(): void {
    this.#connections.close();
  }

  /** Repeats a request of any method after 429, unless the server asks for a longer wait. */
  async #withinRate(asked: DavRequest): Promise<DavResponse> {
    for (let attempt = 1; ; attempt += 1) {
      const response = await this.#withLogin(asked);
      const leastMs = retryAfter(response.headers['retry-after']);
      const isLast = attempt === RATED_ATTEMPTS || (leastMs ?? 0) > RATE_BACKOFF.longestMs;
      if (response.status !== 429 || isLast || !isRepeatable(asked)) return response;
      await dropBody(response);
      await pause(attempt, { ...RATE_BACKOFF, leastMs }, asked.signal);
    }
  }

  async #withLogin(asked: DavRequest): Promise<DavResponse> {
    const isOwn = asked.url.origin === this.#own.origin;
    const uri = asked.url.pathname + asked.url.search;
    for (let attempt = 0; ; attempt += 1) {
      const login = isOwn ? this.#login.header(asked.method, uri) : undefined;
      const response = await this.#exchange(asked, login);
      const challenge = response.headers['www-authenticate'];
      if (response.status !== 401 || !isOwn || challenge === undefined || attempt === 2) return response;
      if (!this.#login.learn(challenge, login)) return response;
      await dropBody(response);
      requireRepeatable(asked, 'needs a new login');
    }
  }

  async #exchange(asked: DavRequest, login: string | undefined): Promise<DavResponse> {
    for (let attempt = 1; ; attempt += 1) {
      try {
        return await this.#once(asked, login);
      } catch (error) {
        const { signal } = asked;
        // A request that was sent and is not aborted reports its own failure.
        if (!UNBROKEN.has(asked.method) || (signal?.aborted === true && error === signal.reason))
          signal?.throwIfAborted();
        if (error instanceof ContentError) throw error.cause;
        const mayRepeat = REPEATABLE.has(asked.method) && isRepeatable(asked);
        if (!mayRepeat || attempt === 2 || !(error instanceof LostConnectionError))
          throw errorOfFailure(asked, error);
      }
    }
  }

  async #once(asked: DavRequest, login: string | undefined): Promise<DavResponse> {
    const free = await this.#slotFor(asked);
    const { method, url, headers, body, signal, patience = 1 } = asked;
    const isOwn = url.origin === this.#own.origin;
    let content: Readable | undefined;
    let contentError: unknown;
    try {
      const lookup = isOwn ? undefined : await guardedLookup(this.#own, url);
      if (typeof body === 'object') content = body.open();
      content?.on('error', (error) => {
        contentError ??= error;
      });
      const response = await this.#connections.exchange(url, {
        method,
        headers: {
          // Web application firewalls reject requests without a user agent.
          'user-agent': 'stowage',
          ...(isOwn ? this.#headers : {}),
          ...headers,
          ...(login === undefined ? {} : { authorization: login }),
          ...lengthOf(body),
        },
        body: content ?? (typeof body === 'string' ? body : undefined),
        signal: UNBROKEN.has(method) ? undefined : signal,
        waitMs: this.#waitMs * patience,
        storingMs: storingTime(body),
        needsFreshConnection: typeof body === 'object' && !body.repeatable,
        lookup,
      });
      response.once('close', free);
      return { status: response.statusCode ?? 0, headers: response.headers, body: response };
    } catch (error) {
      free();
      if (contentError !== undefined) throw new ContentError(contentError);
      throw error;
    } finally {
      content?.destroy();
    }
  }

  async #slotFor({ method, signal }: DavRequest): Promise<() => void> {
    if (method !== 'GET') return this.#slots.take(signal);
    const freeDownload = await this.#downloads.take(signal);
    try {
      const free = await this.#slots.take(signal);
      return () => {
        free();
        freeDownload();
      };
    } catch (error) {
      freeDownload();
      throw error;
    }
  }
}

/** Some servers pass content on to another store before they respond: 4 MB in a second. */
const storingTime = (body: DavRequest['body']): number => (typeof body === 'object' ? body.size / 4000 : 0);

const lengthOf = (body: DavRequest['body']): Readonly<Record<string, string>> =>
  typeof body === 'object' ? { 'content-length': String(body.size) } : {};

/** Passes the content's own error through the conversion of connection errors. */
class ContentError extends Error {
  constructor(cause: unknown) {
    super('the content failed', { cause });
  }
}

const isRepeatable = ({ body }: DavRequest): boolean => typeof body !== 'object' || body.repeatable;

const requireRepeatable = (asked: DavRequest, why: string): void => {
  if (!isRepeatable(asked))
    throw new StorageDeniedError({ detail: `${asked.method} ${why} after its content was sent` });
};
