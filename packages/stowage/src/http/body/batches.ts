import { BrokenBodyError } from '../../errors/errors.ts';
import type { ConnectorRequest } from '../message.ts';
import { bodyTimes, type BodyTimes, pour } from './pour.ts';

/** The client waits while this many bytes wait for the reader. */
const MOST_WAITING = 1024 * 1024;

/** A body that is being read. */
export interface BatchedBody {
  /** The bytes that have come since the last batch: few large ones. They end where the body does or breaks. */
  readonly batches: AsyncIterable<Buffer>;
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
    this.#bytes += chunk.length;
    this.#onArrival?.();
    return this.#bytes < MOST_WAITING ? undefined : new Promise((resolve) => (this.#onTaken = resolve));
  }

  end(): void {
    this.#isEnded = true;
    this.#onArrival?.();
  }

  async *[Symbol.asyncIterator](): AsyncGenerator<Buffer> {
    for (;;) {
      const [first, ...more] = this.#chunks;
      if (first !== undefined) {
        this.#chunks = [];
        this.#bytes = 0;
        this.#onTaken?.();
        yield more.length === 0 ? first : Buffer.concat([first, ...more]);
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
    const made = await answer({ batches, stop: (reason) => stopping.abort(reason) });
    stopping.abort(answered);
    await received.catch((error: unknown) => {
      if (error !== answered) throw error;
    });
    return made;
  } finally {
    stopping.abort(answered);
  }
};
