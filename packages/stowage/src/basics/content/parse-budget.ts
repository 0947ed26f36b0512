import { type Readable, Transform, type TransformCallback } from 'node:stream';

export interface ParseLimits {
  /** Parts: chunks, segments, entries, elements, rules that are tried. */
  readonly items: number;
  /** Nesting of parts. */
  readonly depth: number;
  /** Bytes that a parser buffers, copies or scans again. */
  readonly bytes: number;
}

/**
 * Limits the cost of parsing one input, whatever sizes it claims. The caller chooses the limits and the
 * error; a parser reports each step before it takes it, and parsers of nested content share one budget. So a
 * small input that causes much work fails early, and the work is at most linear in the limits.
 */
export class ParseBudget {
  readonly #limits: ParseLimits;
  readonly #failure: (limit: keyof ParseLimits) => Error;
  #items = 0;
  #depth = 0;
  #bytes = 0;

  /** @param failure creates the error for the exceeded limit */
  constructor(limits: ParseLimits, failure: (limit: keyof ParseLimits) => Error) {
    this.#limits = limits;
    this.#failure = failure;
  }

  /** @throws the caller's error, like all methods that count up */
  spendItems(count = 1): void {
    this.#items += count;
    if (this.#items > this.#limits.items) throw this.#failure('items');
  }

  spendBytes(count: number): void {
    this.#bytes += count;
    if (this.#bytes > this.#limits.bytes) throw this.#failure('bytes');
  }

  freeBytes(): void {
    this.#bytes = 0;
  }

  enter(): void {
    this.#depth += 1;
    if (this.#depth > this.#limits.depth) throw this.#failure('depth');
  }

  leave(): void {
    this.#depth -= 1;
  }
}

/** Joins chunks of this length together; a single one is not copied. */
export const joined = (chunks: readonly Uint8Array[], length: number): Buffer => {
  const [first] = chunks;
  return Buffer.isBuffer(first) && first.length === length ? first : Buffer.concat(chunks, length);
};

/**
 * Reads a stream of other people's bytes into memory: at most `most` bytes. The stream is destroyed in every case.
 * @throws the error of `failure` as soon as it is longer
 */
export const boundedBytes = async (
  stream: AsyncIterable<Uint8Array>,
  most: number,
  failure: () => Error,
): Promise<Buffer> => {
  const chunks: Uint8Array[] = [];
  let length = 0;
  for await (const chunk of stream) {
    length += chunk.length;
    if (length > most) throw failure();
    chunks.push(chunk);
  }
  return joined(chunks, length);
};

/** Passes bytes on, at most `most`. Fails with the error of `failure` as soon as there are more. */
export const limitTo = (most: number, failure: () => Error): Transform => {
  let left = most;
  return new Transform({
    transform: (chunk: Buffer, _encoding, done: TransformCallback) => {
      left -= chunk.length;
      if (left < 0) done(failure());
      else done(null, chunk);
    },
  });
};

/**
 * The content, which fails with the error of `failure` as soon as there are more than `most` bytes. If the
 * result is destroyed, so is the content. Not a `pipeline`, which takes as long for each file as a call of
 * the system.
 */
export const limited = (content: Readable, most: number, failure: () => Error): Readable => {
  const limit = limitTo(most, failure);
  const cut = (): void => {
    if (!content.readableEnded) limit.destroy(content.errored ?? new Error('The content was cut off.'));
  };
  // Its reader gets the errors; without one they must not be uncaught exceptions.
  limit.on('error', () => undefined).once('close', () => content.destroy());
  content.on('error', cut).once('close', cut);
  if (content.destroyed) cut();
  return content.pipe(limit);
};
