import { Agent, request as requestHttp, type IncomingMessage, type RequestOptions } from 'node:http';
import { Agent as SecureAgent, request as requestHttps } from 'node:https';
import type { Readable } from 'node:stream';

/** Idle connections are closed after this long: servers close them too, and a request must not meet that. */
const KEPT_MS = 4000;

/** The server, or the way to it, has been silent for too long. */
export class SilenceError extends Error {
  override readonly name = 'SilenceError';
}

/** What goes out. */
export interface Outgoing {
  readonly method: string;
  readonly headers: Readonly<Record<string, string>>;
  readonly body: Readable | string | undefined;
  /** Breaks off the request, and its answer, with the signal's reason. */
  readonly signal: AbortSignal | undefined;
}

/** Pooled connections to one server, and to those that it redirects to. */
export class Connections {
  readonly #agents: { readonly http: Agent; readonly https: SecureAgent };
  readonly #waitMs: number;

  /** @param waitMs longest silence of the server while something is expected of it */
  constructor(most: number, waitMs: number, verifyCertificate: boolean) {
    const pool = { keepAlive: true, maxSockets: most, timeout: KEPT_MS };
    this.#agents = {
      http: new Agent(pool),
      https: new SecureAgent({ ...pool, rejectUnauthorized: verifyCertificate }),
    };
    this.#waitMs = waitMs;
  }

  /**
   * Sends a request. The answer's body has to be read or destroyed; it fails when it breaks off. Content that is not wanted to its end is
   * left where it is.
   * Rejects with the signal's reason, SilenceError, and errors of the system.
   */
  exchange(url: URL, { method, headers, body, signal: outer }: Outgoing): Promise<IncomingMessage> {
    // Of its own: one signal may stand for very many requests, and warns when too many listen to it.
    const signal = outer === undefined ? undefined : AbortSignal.any([outer]);
    return new Promise((resolve, reject) => {
      if (signal?.aborted === true) return reject(signal.reason as Error);
      const isSecure = url.protocol === 'https:';
      const agent = isSecure ? this.#agents.https : this.#agents.http;
      const settings: RequestOptions = { method, headers, agent, auth: null, timeout: this.#waitMs };
      const request = isSecure ? requestHttps(url, settings) : requestHttp(url, settings);
      let answer: IncomingMessage | undefined;
      const giveUp = (reason: Error): void => {
        reject(reason);
        answer?.destroy(reason);
        request.destroy(reason);
      };
      const onAbort = (): void => giveUp(signal?.reason as Error);
      signal?.addEventListener('abort', onAbort, { once: true });
      request.on('timeout', () => {
        // A reader or a content that takes its time is not the server's fault.
        const isOurTurn =
          answer === undefined
            ? !request.writableEnded && !request.writableNeedDrain && !request.socket?.connecting
            : answer.readableLength > 0;
        if (isOurTurn) request.setTimeout(this.#waitMs);
        else giveUp(new SilenceError('no answer in time'));
      });
      request.on('error', giveUp);
      request.once('close', () => {
        signal?.removeEventListener('abort', onAbort);
        reject(new Error('the connection ended without an answer'));
      });
      request.once('response', (response) => {
        answer = response;
        response.on('error', () => undefined);
        if (typeof body === 'object' && !request.writableEnded) {
          body.unpipe(request);
          // A connection on which half a request was sent is of no more use.
          response.once('close', () => request.destroy());
        }
        resolve(response);
      });
      if (typeof body !== 'object') request.end(body);
      else body.once('error', giveUp).pipe(request);
    });
  }

  /** Ends all connections, those in use too. */
  close(): void {
    this.#agents.http.destroy();
    this.#agents.https.destroy();
  }
}
