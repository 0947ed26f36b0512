import type { Readable } from 'node:stream';

/** How much of an unwanted body is read, so that the client gets round to reading the answer. */
export interface DrainLimits {
  readonly bytes: number;
  readonly totalMs: number;
  /** Longest silence. */
  readonly idleMs: number;
}

const defaults: DrainLimits = { bytes: 1024 ** 3, totalMs: 30_000, idleMs: 5_000 };

/**
 * Reads and drops the rest of a body. A client that is still sending when its connection closes often loses
 * the answer, so the answer goes out first and the rest is taken for a while. True when the body has come to
 * its end; the stream is left to its owner. Never rejects.
 */
export const drain = (body: Readable, limits: DrainLimits = defaults): Promise<boolean> =>
  new Promise((resolve) => {
    let bytes = 0;
    const stop = (whole: boolean) => (): void => {
      clearTimeout(total);
      clearTimeout(idle);
      body.off('data', onData).off('end', onEnd).off('close', onEnd);
      if (!whole) body.pause();
      resolve(whole);
    };
    const giveUp = stop(false);
    const onEnd = stop(true);
    const total = setTimeout(giveUp, limits.totalMs);
    const idle = setTimeout(giveUp, limits.idleMs);
    const onData = (chunk: Buffer): void => {
      bytes += chunk.length;
      idle.refresh();
      if (bytes > limits.bytes) giveUp();
    };
    // Nothing waits for a drain: it must not keep a process alive.
    total.unref();
    idle.unref();
    body.on('error', () => undefined);
    if (body.readableEnded || body.destroyed) {
      onEnd();
      return;
    }
    body.on('data', onData).once('end', onEnd).once('close', onEnd);
    body.resume();
  });
