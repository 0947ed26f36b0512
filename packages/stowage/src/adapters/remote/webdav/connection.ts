import { type IncomingMessage, request as requestHttp, type RequestOptions } from 'node:http';
import { request as requestHttps } from 'node:https';
import type { LookupFunction } from 'node:net';
import type { Readable } from 'node:stream';
import { SilenceError } from '../core/connections.ts';
import { type Agents, createAgents } from '../core/http.ts';
import type { WebdavOptions } from './options.ts';

/** Idle connections are closed after this time, before servers close them while a request is being sent. */
const KEPT_MS = 4000;

/** The connection broke before any part of a response arrived. */
export class LostConnectionError extends Error {
  override readonly name = 'LostConnectionError';
  /** The connection was reused, so the server may have closed it before it received this request. */
  readonly wasKept: boolean;

  constructor(wasKept: boolean, cause?: unknown) {
    super('the connection ended without a response', { cause });
    this.wasKept = wasKept;
  }
}

interface Outgoing {
  readonly method: string;
  readonly headers: Readonly<Record<string, string>>;
  readonly body: Readable | string | undefined;
  /** Aborts the request, and its response, with the signal's reason. */
  readonly signal: AbortSignal | undefined;
  /** Longest silence of the server while it must respond or receive. */
  readonly waitMs: number;
  /** Added to `waitMs` once the body was sent. Default: 0. */
  readonly storingMs?: number;
  /** For a body that can be sent only once: the server may close a kept connection just as it is used. */
  readonly needsFreshConnection?: boolean;
  /** Resolves the host. Default: the system's resolver. */
  readonly lookup?: LookupFunction | undefined;
}

const isReset = (error: Error): boolean =>
  'code' in error && (error.code === 'ECONNRESET' || error.code === 'EPIPE');

/** Pooled connections to one server, and to the servers that it redirects to. */
export class Connections {
  readonly #kept: Agents;
  readonly #fresh: Agents;

  constructor({ connections, verifyCertificate, ca }: WebdavOptions) {
    const pool = { maxSockets: connections, timeout: KEPT_MS };
    const tls = { ca, rejectUnauthorized: verifyCertificate };
    this.#kept = createAgents({ ...pool, keepAlive: true }, tls);
    this.#fresh = createAgents({ ...pool, keepAlive: false }, tls);
  }

  /**
   * Sends a request. The caller must read or destroy the response's body, which fails when the connection
   * breaks. When the response arrives early, the remaining content is not read. Rejects with the signal's
   * reason, SilenceError, LostConnectionError, and errors of the system.
   */
  exchange(url: URL, outgoing: Outgoing): Promise<IncomingMessage> {
    const { method, headers, body, waitMs, storingMs = 0, lookup } = outgoing;
    // A signal for each request: a shared one may have very many listeners, which causes warnings.
    const signal = outgoing.signal === undefined ? undefined : AbortSignal.any([outgoing.signal]);
    return new Promise((resolve, reject) => {
      if (signal?.aborted === true) return reject(signal.reason as Error);
      const agent = (outgoing.needsFreshConnection === true ? this.#fresh : this.#kept).of(url.href);
      const settings: RequestOptions = { method, headers, agent, auth: null, timeout: waitMs, lookup };
      const request = (url.protocol === 'https:' ? requestHttps : requestHttp)(url, settings);
      let received: IncomingMessage | undefined;
      const giveUp = (reason: Error): void => {
        reject(reason);
        received?.destroy(reason);
        request.destroy(reason);
      };
      const onAbort = (): void => giveUp(signal?.reason as Error);
      signal?.addEventListener('abort', onAbort, { once: true });
      request.on('timeout', () => {
        // A slow reader or a slow content is not the server's fault.
        const isOurTurn =
          received === undefined
            ? !request.writableEnded && !request.writableNeedDrain && !request.socket?.connecting
            : received.readableLength > 0;
        if (isOurTurn) request.setTimeout(waitMs);
        else giveUp(new SilenceError('no response in time'));
      });
      if (storingMs > 0) request.once('finish', () => request.setTimeout(waitMs + storingMs));
      request.on('error', (error) => {
        const isLost = received === undefined && isReset(error);
        giveUp(isLost ? new LostConnectionError(request.reusedSocket, error) : error);
      });
      request.once('close', () => {
        signal?.removeEventListener('abort', onAbort);
        reject(new LostConnectionError(request.reusedSocket));
      });
      request.once('response', (response) => {
        received = response;
        response.on('error', () => undefined);
        if (typeof body === 'object' && !request.writableEnded) {
          body.unpipe(request);
          // A connection with a partly sent request cannot be reused.
          response.once('close', () => request.destroy());
        }
        resolve(response);
      });
      // As bytes, because with a string Node would encode the headers as UTF-8, which a login may be already.
      if (typeof body !== 'object') request.end(body === undefined ? undefined : Buffer.from(body));
      else body.once('error', giveUp).pipe(request);
    });
  }

  /** Closes all connections, including those in use. */
  close(): void {
    this.#kept.destroy();
    this.#fresh.destroy();
  }
}
