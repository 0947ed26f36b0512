import type { Readable } from 'node:stream';
import { BrokenBodyError, RequestTimeoutError, StowageError } from '../../errors/errors.ts';
import type { ConnectorRequest } from '../message.ts';

export interface BodyTimes {
  /** The request fails when the client sends nothing for this long while we are ready to read. */
  readonly stallMs: number;
  /**
   * A JSON or urlencoded body must have come by then: a client that sends a byte now and then would hold its
   * request for days.
   */
  readonly textMs: number;
  /** A form may be slow for so long; after that it must have come at `formBytesPerMs`. */
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
  /** Whether the body must come at `formBytesPerMs` after a while; pauses of `write` do not count. */
  readonly isPaced?: boolean;
  /** Takes a chunk; a promise pauses the body until it resolves. May throw to stop. */
  write(chunk: Buffer): Promise<void> | undefined;
}

class Pace {
  readonly #options: PourOptions;
  readonly #begun = Date.now();
  #bytes = 0;
  /** Time that the writer took is not the client's. */
  pausedMs = 0;

  constructor(options: PourOptions) {
    this.#options = options;
  }

  /** @throws RequestTimeoutError when the body is slower than its times allow */
  count(bytes: number): void {
    const { isPaced = false, times } = this.#options;
    this.#bytes += bytes;
    const allowed = times.formMs + this.#bytes / times.formBytesPerMs;
    if (isPaced && Date.now() - this.#begun - this.pausedMs > allowed) throw new RequestTimeoutError();
  }
}

const readFailure = (cause: unknown): Error =>
  cause instanceof StowageError
    ? cause
    : new BrokenBodyError({ message: 'The request body was cut off.', cause });

/**
 * Reads a body to its end, at the pace of `write`. The body is not destroyed when this fails, only paused:
 * with `node:http` that would destroy the connection that the answer has to go through. The owner of the body
 * drains it. Rejects with BrokenBodyError, RequestTimeoutError, what `write` threw, or the signal's reason.
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
      // A stream without a listener would throw its later errors at the process.
      body.on('error', () => undefined);
      reject(error instanceof Error ? error : new Error('The request was given up.', { cause: error }));
    };
    const pauseUntil = (end: Promise<void>): void => {
      const pausedAt = Date.now();
      body.pause();
      end.then(() => {
        if (settled) return;
        pace.pausedMs += Date.now() - pausedAt;
        stalled.refresh();
        body.resume();
      }, fail);
    };
    const onData = (data: Buffer | string): void => {
      // A host may have set an encoding.
      const chunk = typeof data === 'string' ? Buffer.from(data) : data;
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

/** The client waits while chunks of so much memory wait for the reader. */
const MOST_WAITING = 1024 * 1024;
/** A client may send each byte in a chunk of its own. */
const BYTES_OF_CHUNK = 256;

export interface BatchedBody {
  /** The chunks that have come since the last batch, in order. They end where the body does or breaks. */
  readonly batches: AsyncIterable<readonly Buffer[]>;
  /** Resolves where the body ends. @throws its failure */
  readonly received: Promise<void>;
  /** Ends the body with a failure. */
  readonly stop: (reason: Error) => void;
}

/** Chunks between the one who writes them and the one who reads them together. */
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

/** Rejects compressed bodies where they are not read. @throws BrokenBodyError */
export const refuseEncoding = ({ headers }: Pick<ConnectorRequest, 'headers'>): void => {
  const encoding = headers['content-encoding']?.trim().toLowerCase() ?? '';
  if (encoding !== '' && encoding !== 'identity')
    throw new BrokenBodyError('The encoding of the request body is not supported.');
};

/**
 * Reads a body while the answer to it is made. It is read from the start: bytes that have come count, also
 * when the connection breaks before the reader takes them.
 * @throws what `answer` throws, else the failure of the body
 */
export const withBatches = async <Answer>(
  request: Pick<ConnectorRequest, 'body' | 'headers' | 'signal'>,
  times: BodyTimes = bodyTimes,
  answer: (body: BatchedBody) => Promise<Answer>,
): Promise<Answer> => {
  refuseEncoding(request);
  const { body, signal } = request;
  const batches = new Batches();
  const stopping = new AbortController();
  const answered = new Error('answered');
  const read = async (): Promise<void> => {
    const bounds = { signal: AbortSignal.any([signal, stopping.signal]), times, isPaced: true };
    if (body !== undefined) await pour(body, { ...bounds, write: (chunk) => batches.write(chunk) });
  };
  const received = read().finally(() => batches.end());
  received.catch(() => undefined);
  try {
    const made = await answer({ batches, received, stop: (reason) => stopping.abort(reason) });
    stopping.abort(answered);
    await received.catch((error: unknown) => {
      if (error !== answered) throw error;
    });
    return made;
  } finally {
    stopping.abort(answered);
  }
};
