import type { Readable } from 'node:stream';
import { BrokenBodyError, RequestTimeoutError, StowageError } from '../../errors/errors.ts';
import type { ConnectorRequest } from '../message.ts';

export interface BodyTimes {
  /** The request fails when the client sends nothing for this long while the service is reading. */
  readonly stallMs: number;
  /** Time limit of a JSON or urlencoded body: single bytes could otherwise occupy a request for days. */
  readonly textMs: number;
  /** Time for which a form may be slow; after that its average rate must be `formBytesPerMs`. */
  readonly formMs: number;
  readonly formBytesPerMs: number;
}

export const bodyTimes: BodyTimes = { stallMs: 60_000, textMs: 30_000, formMs: 60_000, formBytesPerMs: 1 };

export interface BodyContext {
  readonly headers: Readonly<Record<string, string | undefined>>;
  readonly signal: AbortSignal;
  readonly times: BodyTimes;
}

export interface PourOptions {
  readonly signal: AbortSignal;
  readonly times: BodyTimes;
  /** Whether `formBytesPerMs` applies; pauses of `write` do not count. */
  readonly isPaced?: boolean;
  /** Handles a chunk; a promise pauses the body until it resolves. May throw to stop. */
  write(chunk: Buffer): Promise<void> | undefined;
}

class Pace {
  readonly #options: PourOptions;
  readonly #begun = performance.now();
  #bytes = 0;
  /** Time spent in the writer, which does not count against the client. */
  pausedMs = 0;

  constructor(options: PourOptions) {
    this.#options = options;
  }

  /** @throws RequestTimeoutError when the body is slower than its limits allow */
  count(bytes: number): void {
    const { isPaced = false, times } = this.#options;
    this.#bytes += bytes;
    const allowed = times.formMs + this.#bytes / times.formBytesPerMs;
    if (isPaced && performance.now() - this.#begun - this.pausedMs > allowed) throw new RequestTimeoutError();
  }
}

const readFailure = (cause: unknown): Error =>
  cause instanceof StowageError
    ? cause
    : new BrokenBodyError({ message: 'The request body was cut off.', cause });

/**
 * Reads a body to its end, at the pace of `write`. On failure the body is only paused, not destroyed: with
 * `node:http` that would destroy the connection, which the response still needs. The owner of the body drains
 * it. Rejects with BrokenBodyError, RequestTimeoutError, errors of `write`, or the signal's reason.
 */
export const pour = (body: Readable, options: PourOptions): Promise<void> =>
  new Promise((resolve, reject) => {
    const pace = new Pace(options);
    let settled = false;
    const stalled = setTimeout(() => {
      if (!body.isPaused()) fail(new RequestTimeoutError());
    }, options.times.stallMs);

    const settle = (): boolean => {
      if (settled) return false;
      settled = true;
      clearTimeout(stalled);
      body.off('data', onData).off('end', onEnd).off('error', onError).off('close', onClose);
      options.signal.removeEventListener('abort', onAbort);
      return true;
    };
    const fail = (error: unknown): void => {
      if (!settle()) return;
      body.pause();
      // Without a listener, later errors of the stream would be uncaught exceptions.
      body.on('error', () => undefined);
      reject(error instanceof Error ? error : new Error('The request was given up.', { cause: error }));
    };
    const pauseUntil = (end: Promise<void>): void => {
      const pausedAt = performance.now();
      body.pause();
      end.then(() => {
        if (settled) return;
        pace.pausedMs += performance.now() - pausedAt;
        stalled.refresh();
        body.resume();
      }, fail);
    };
    const onData = (data: Buffer | string): void => {
      // The host may have set an encoding.
      const chunk = typeof data === 'string' ? Buffer.from(data, body.readableEncoding ?? 'utf8') : data;
      stalled.refresh();
      try {
        pace.count(chunk.length);
        const pause = options.write(chunk);
        if (pause !== undefined) pauseUntil(pause);
      } catch (error) {
        fail(error);
      }
    };
    const onEnd = (): void => {
      if (settle()) resolve();
    };
    const onError = (error: unknown): void => fail(readFailure(error));
    const onClose = (): void => fail(readFailure(undefined));
    const onAbort = (): void => fail(options.signal.reason);

    if (options.signal.aborted) return fail(options.signal.reason);
    if (body.readableEnded) return onEnd();
    if (body.destroyed) return fail(readFailure(body.errored));
    options.signal.addEventListener('abort', onAbort, { once: true });
    body.on('end', onEnd).on('error', onError).on('close', onClose).on('data', onData);
    body.resume();
  });

/** Memory of unread chunks at which the body is paused. */
const MOST_WAITING = 1024 * 1024;
/** Overhead of a chunk: a client may send each byte in its own chunk. */
const BYTES_OF_CHUNK = 256;

export interface BatchedBody {
  /** Chunks since the last batch, in order. Ends when the body ends or fails. */
  readonly batches: AsyncIterable<readonly Buffer[]>;
  /** Resolves when the body ends. @throws its failure */
  readonly received: Promise<void>;
  /** Fails the body. */
  readonly stop: (reason: Error) => void;
}

/** Queue of chunks between a writer and a reader that takes all of them together. */
class Batches {
  #chunks: Buffer[] = [];
  #bytes = 0;
  #isEnded = false;
  #onArrival: (() => void) | undefined;
  #onTaken: (() => void) | undefined;

  write(chunk: Buffer): Promise<void> | undefined {
    this.#chunks.push(chunk);
    this.#bytes += chunk.length + BYTES_OF_CHUNK;
    this.#onArrival?.();
    return this.#bytes < MOST_WAITING ? undefined : new Promise((resolve) => (this.#onTaken = resolve));
  }

  end(): void {
    this.#isEnded = true;
    this.#onArrival?.();
  }

  async *[Symbol.asyncIterator](): AsyncGenerator<readonly Buffer[]> {
    for (;;) {
      const chunks = this.#chunks;
      if (chunks.length > 0) {
        this.#chunks = [];
        this.#bytes = 0;
        this.#onTaken?.();
        yield chunks;
      } else if (this.#isEnded) return;
      else await new Promise<void>((resolve) => (this.#onArrival = resolve));
    }
  }
}

/** Rejects compressed bodies where they are not supported. @throws BrokenBodyError */
export const refuseEncoding = ({ headers }: Pick<ConnectorRequest, 'headers'>): void => {
  const encoding = headers['content-encoding']?.trim().toLowerCase() ?? '';
  if (encoding !== '' && encoding !== 'identity')
    throw new BrokenBodyError('The encoding of the request body is not supported.');
};

/**
 * Reads a body while `handle` runs. Reading starts immediately: received bytes count, even if the connection
 * fails before they are consumed.
 * @throws errors of `handle`, else the failure of the body
 */
export const withBatches = async <Result>(
  request: Pick<ConnectorRequest, 'body' | 'headers' | 'signal'>,
  times: BodyTimes = bodyTimes,
  handle: (body: BatchedBody) => Promise<Result>,
): Promise<Result> => {
  refuseEncoding(request);
  const { body, signal } = request;
  const batches = new Batches();
  const stopping = new AbortController();
  const handled = new Error('the request is handled');
  const read = async (): Promise<void> => {
    const bounds = { signal: AbortSignal.any([signal, stopping.signal]), times, isPaced: true };
    if (body !== undefined) await pour(body, { ...bounds, write: (chunk) => batches.write(chunk) });
  };
  const received = read().finally(() => batches.end());
  received.catch(() => undefined);
  try {
    const made = await handle({ batches, received, stop: (reason) => stopping.abort(reason) });
    stopping.abort(handled);
    await received.catch((error: unknown) => {
      if (error !== handled) throw error;
    });
    return made;
  } finally {
    stopping.abort(handled);
  }
};
