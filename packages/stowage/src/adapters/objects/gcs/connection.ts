import { request as requestHttp, type IncomingHttpHeaders, type IncomingMessage } from 'node:http';
import { request as requestHttps } from 'node:https';
import { boundedBytes } from '../../../basics/content/parse-budget.ts';
import { type Agents, createLimitedAgents } from '../../remote/core/http.ts';
import { CorruptError } from '../../../errors/errors.ts';
import { attemptsOf, failedRequest, type Http, isPassing, Requests } from '../core/requests.ts';
import { gcsFailures, Refusal } from './errors.ts';
import { openLogin, type Login } from './login.ts';
import type { GcsOptions } from './options.ts';

/** A response of any status. The caller reads or destroys the body. */
export interface HttpResponse {
  readonly status: number;
  readonly headers: IncomingHttpHeaders;
  readonly body: IncomingMessage;
}

const MOST_TEXT = 16 * 1024 * 1024;

/** Sends a request once. Rejects with errors of the system. */
const exchange = (
  agents: Agents,
  { method, url, headers = {}, body = [] }: GcsRequest,
  signal: AbortSignal | undefined,
): Promise<HttpResponse> =>
  new Promise((resolve, reject) => {
    const length = body.reduce((sum, piece) => sum + piece.byteLength, 0);
    const isBodiless = method === 'GET' || (method === 'DELETE' && length === 0);
    const request = (url.protocol === 'https:' ? requestHttps : requestHttp)(url, {
      method,
      headers: isBodiless ? headers : { ...headers, 'content-length': String(length) },
      agent: agents.of(url.href),
      signal,
    });
    request.once('error', reject);
    request.once('response', (response) => {
      // An error before the body is read must not crash the process.
      response.on('error', () => undefined);
      resolve({ status: response.statusCode ?? 0, headers: response.headers, body: response });
    });
    for (const piece of body) request.write(piece);
    request.end();
  });

/** The text of a small response. Rejects when it is incomplete, or larger than any expected one. */
const textOf = async ({ body }: HttpResponse): Promise<string> =>
  (await boundedBytes(body, MOST_TEXT, () => new Error('the response is too long'))).toString();

/** Parameters of a URL; undefined ones are left out. */
export type Query = Readonly<Record<string, string | number | undefined>>;

export interface GcsRequest {
  readonly method: 'GET' | 'POST' | 'PUT' | 'DELETE';
  readonly url: URL;
  readonly headers?: Readonly<Record<string, string>>;
  /** Pieces, sent in order. */
  readonly body?: readonly Uint8Array[];
  /** Accepted statuses besides 2xx. */
  readonly allowed?: readonly number[];
}

/** A response whose body was read. */
export type GcsResponse = HttpResponse & { readonly text: string };

/** Parses a response as JSON. @throws CorruptError */
export const jsonOf = <T>({ text }: GcsResponse): T => {
  try {
    return JSON.parse(text) as T;
  } catch (cause) {
    throw new CorruptError({
      detail: 'a response is not JSON: is endpoint the address of the service?',
      cause,
    });
  }
};

/** The requests of one store: signed, bounded and retried, with converted errors. */
export class GcsClient {
  readonly requests: Requests<Login>;
  readonly #options: GcsOptions;
  readonly #agents: Agents;

  constructor(options: GcsOptions) {
    const ms = options.timeout * 1000;
    const agents = createLimitedAgents({ connectMs: ms, readMs: ms }, options.ca);
    this.#options = options;
    this.#agents = agents;
    this.requests = new Requests({
      connect: () => openLogin(options),
      disconnect: () => agents.destroy(),
      waitMs: 2 * ms,
      maxAttempts: options.maxAttempts,
      ...gcsFailures,
      mayRepeat: (error) =>
        isPassing(error) || (failedRequest(error)?.status === 401 && attemptsOf(error) === 1),
    });
  }

  /** A URL of the JSON API below the bucket. */
  url(path: string, query: Query, door = '/storage/v1'): URL {
    const { endpoint, bucket, userProject } = this.#options;
    const url = new URL(`${endpoint}${door}/b/${encodeURIComponent(bucket)}/o${path}`);
    for (const [name, value] of Object.entries({ ...query, userProject }))
      if (value !== undefined) url.searchParams.set(name, String(value));
    return url;
  }

  objectUrl(key: string, query: Query): URL {
    return this.url(`/${encodeURIComponent(key)}`, query);
  }

  /** @see Requests.send. `request` is called for each attempt, counted from 1. */
  send(
    operation: string,
    signal: AbortSignal | undefined,
    request: (attempt: number) => GcsRequest,
  ): Promise<GcsResponse> {
    return this.requests.send(operation, signal, async (login, http, attempt) => {
      const response = await this.exchange(login, request(attempt), http);
      return { ...response, text: await textOf(response) };
    });
  }

  /** Sends a request once. Rejects with Refusal, and errors of the system. */
  async exchange(login: Login, request: GcsRequest, { abortSignal }: Http): Promise<HttpResponse> {
    const own = await login.headers(request.url).catch((error: unknown) => {
      login.renew();
      throw error;
    });
    const headers = { ...request.headers, ...own };
    const response = await exchange(this.#agents, { ...request, headers }, abortSignal);
    const { status } = response;
    if ((status >= 200 && status < 300) || request.allowed?.includes(status) === true) return response;
    const text = await textOf(response).catch(() => '');
    if (status === 401) login.renew();
    throw new Refusal(status, text, response.headers['retry-after']);
  }
}
