import { Readable } from 'node:stream';
import { ChangedMeanwhileError, CorruptError, StowageError } from '../../../errors/errors.ts';

const CHUNK = 64 * 1024;

/** How the body of a download is passed on. */
export interface BodyOptions {
  /** Bytes that must arrive; CorruptError when there are more or fewer. Undefined: not known. */
  readonly length: number | undefined;
  readonly signal: AbortSignal | undefined;
  /** Asked when the length is another one: whether the file was replaced meanwhile, which is no CorruptError then. */
  readonly isReplaced?: (() => Promise<boolean>) | undefined;
  /** The error of ours for one of the connection. */
  readonly failure: (error: unknown) => Error;
  /**
   * Opens the rest of the same version again. Used when the connection ended while the reader paused for at
   * least `afterMs`: servers and we ourselves close connections on which nothing moves. Without it such a
   * download fails.
   */
  readonly reopen?:
    { readonly afterMs: number; readonly open: (offset: number) => Promise<Readable> } | undefined;
}

/**
 * The body of a download as a stream that fails with errors of ours. The transfer ends when the stream is
 * destroyed or the signal aborts; the stream then fails with the signal's reason.
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
    // The reader learns of errors as it reads; one that comes before must not end the process.
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
    // The body first: a read that waits for it ends only with it.
    destroy: (error, done) => {
      signal?.removeEventListener('abort', abort);
      body.destroy();
      done(error);
    },
    // As with the body: the signal may abort before anybody reads.
  }).on('error', () => undefined);
  use(first);
  const abort = (): void => void stream.destroy(signal?.reason as Error);
  signal?.addEventListener('abort', abort, { once: true });
  if (signal?.aborted === true) abort();
  return stream;
};
