import type { Readable } from 'node:stream';
import { BrokenBodyError, RequestTimeoutError, StowageError } from '../../errors/errors.ts';

/** How long a body may take. */
export interface BodyTimes {
  /** A client that sends nothing for this long, while we are ready to read, is given up. */
  readonly stallMs: number;
  /** A JSON or urlencoded body must have come by then: a client that sends a byte now and then would hold its request for days. */
  readonly textMs: number;
  /** A form may be slow for so long; after that it must have come at `formBytesPerMs`. */
  readonly formMs: number;
  readonly formBytesPerMs: number;
}

export const bodyTimes: BodyTimes = { stallMs: 60_000, textMs: 30_000, formMs: 60_000, formBytesPerMs: 1 };

/** What a body is poured into: any Writable, or less. */
export interface BodySink {
  /** False: pause until `drain`. */
  write(chunk: Buffer): boolean;
  once(event: 'drain' | 'error', listener: (error: Error) => void): unknown;
}

/** What pouring needs besides its ends. */
export interface PourOptions {
  readonly signal: AbortSignal;
  readonly stallMs: number;
  /** Sees every chunk's length before it is written; may throw to stop. */
  readonly onBytes?: (length: number) => void;
}

const readFailure = (cause: unknown): Error =>
  cause instanceof StowageError
    ? cause
    : new BrokenBodyError({ message: 'The request body was cut off.', cause });

/**
 * Reads a body to its end into a sink, at the sink's pace. The body is not destroyed when this fails, only paused: with
 * `node:http` that would destroy the connection that the answer has to go through. Whoever owns the body drains it.
 * The sink is not ended. Rejects with BrokenBodyError, StowageError REQUEST_TIMEOUT, the sink's error, what `onBytes` threw, or the signal's reason.
 */
export const pour = (body: Readable, sink: BodySink, options: PourOptions): Promise<void> =>
  new Promise((resolve, reject) => {
    let settled = false;
    const stalled = setTimeout(() => {
      if (!body.isPaused()) fail(new RequestTimeoutError());
    }, options.stallMs);

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
    const onDrain = (): void => {
      if (settled) return;
      stalled.refresh();
      body.resume();
    };
    const onData = (data: Buffer | string): void => {
      // A host may have set an encoding.
      const chunk = typeof data === 'string' ? Buffer.from(data) : data;
      stalled.refresh();
      try {
        options.onBytes?.(chunk.length);
        if (sink.write(chunk)) return;
      } catch (error) {
        fail(error);
        return;
      }
      body.pause();
      sink.once('drain', onDrain);
    };
    const onEnd = (): void => {
      if (settle()) resolve();
    };
    const onError = (error: unknown): void => {
      fail(readFailure(error));
    };
    const onClose = (): void => {
      fail(readFailure(undefined));
    };
    const onAbort = (): void => {
      fail(options.signal.reason);
    };

    if (options.signal.aborted) return fail(options.signal.reason);
    if (body.readableEnded) return onEnd();
    if (body.destroyed) return fail(readFailure(body.errored));
    options.signal.addEventListener('abort', onAbort, { once: true });
    sink.once('error', fail);
    body.on('end', onEnd).on('error', onError).on('close', onClose).on('data', onData);
    body.resume();
  });
