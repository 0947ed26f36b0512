import { Readable } from 'node:stream';
import { ChangedMeanwhileError, CorruptError, StowageError } from '../../../errors/errors.ts';

const CHUNK = 64 * 1024;

interface BodyOptions {
  /** Expected bytes; CorruptError when there are more or fewer. Undefined when unknown. */
  readonly length: number | undefined;
  readonly signal: AbortSignal | undefined;
  /** Called when the length differs: whether the file was replaced meanwhile, which is not a CorruptError. */
  readonly isReplaced?: (() => Promise<boolean>) | undefined;
  /** Converts an error of the connection. */
  readonly failure: (error: unknown) => Error;
  /**
   * Opens the rest of the same version again. Used when the connection ended while the reader paused for at
   * least `afterMs`: servers and this process close idle connections. Without it such a download fails.
   */
  readonly reopen?:
    | { readonly afterMs: number; readonly open: (offset: number) => Promise<Readable> }
    | undefined;
}

/**
 * The body of a download as a stream with converted errors. The transfer ends when the stream is destroyed or
 * the signal aborts; the stream then fails with the signal's reason.
 */
export const passBody = (
  first: Readable,
  { length, signal, failure, isReplaced, reopen }: BodyOptions,
): Readable => {
  let body = first;
  const openedAt = performance.now();
  const check = (seen: number, isWhole: boolean): void => {
    if (length === undefined || (isWhole ? seen === length : seen <= length)) return;
    throw new CorruptError({ detail: `a download has ${String(seen)} of ${String(length)} bytes` });
  };
  async function* chunks(): AsyncGenerator<Uint8Array, void, undefined> {
    let seen = 0;
    let pausedMs = performance.now() - openedAt;
    for (;;) {
      try {
        for await (const chunk of body as AsyncIterable<Uint8Array>) {
          seen += chunk.byteLength;
          check(seen, false);
          const since = performance.now();
          yield chunk;
          pausedMs = performance.now() - since;
        }
        return check(seen, true);
      } catch (error) {
        signal?.throwIfAborted();
        if (error instanceof CorruptError && (await isReplaced?.()) === true)
          throw new ChangedMeanwhileError({ cause: error });
        if (error instanceof StowageError || stream.destroyed) throw error;
        if (reopen === undefined || pausedMs < reopen.afterMs) throw failure(error);
      }
      pausedMs = 0;
      use(await reopen.open(seen));
    }
  }
  const use = (opened: Readable): void => {
    body = opened;
    // The reader gets errors when it reads; an earlier one must not crash the process.
    body.on('error', () => undefined);
    if (stream.destroyed) body.destroy();
  };
  const parts = chunks();
  const stream: Readable = new Readable({
    highWaterMark: CHUNK,
    read: () => {
      parts.next().then(
        ({ done, value }) => stream.push(done === true ? null : value),
        (error: unknown) => stream.destroy(error as Error),
      );
    },
    // Destroy the body first: a pending read of it ends only then.
    destroy: (error, done) => {
      signal?.removeEventListener('abort', abort);
      body.destroy();
      done(error);
    },
    // Likewise: the signal may abort before the stream is read.
  }).on('error', () => undefined);
  use(first);
  const abort = (): void => void stream.destroy(signal?.reason as Error);
  signal?.addEventListener('abort', abort, { once: true });
  if (signal?.aborted === true) abort();
  return stream;
};
