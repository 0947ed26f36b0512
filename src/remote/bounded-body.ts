import { pipeline, Transform, type Readable, type TransformCallback } from 'node:stream';
import { createBrotliDecompress, createGunzip, createInflate } from 'node:zlib';
import { FileTooLargeError, RemoteFailedError } from '../errors/errors.ts';

/** More layers of compression than this are an attack, not a saving. */
const MAX_ENCODINGS = 2;

const decoders: Readonly<Record<string, () => Transform>> = {
  gzip: createGunzip,
  'x-gzip': createGunzip,
  deflate: createInflate,
  br: createBrotliDecompress,
};

/** The compressions of a `Content-Encoding` header in the order in which they were applied; empty for plain content. */
export const encodingsOf = (header: string | undefined): readonly string[] =>
  (header ?? '')
    .toLowerCase()
    .split(',')
    .map((name) => name.trim())
    .filter((name) => name !== '' && name !== 'identity');

const decodersFor = (encodings: readonly string[]): Transform[] => {
  if (encodings.length > MAX_ENCODINGS) throw new RemoteFailedError({ detail: 'Too many encodings.' });
  return encodings.toReversed().map((name) => {
    const create = Object.hasOwn(decoders, name) ? decoders[name] : undefined;
    if (create === undefined) throw new RemoteFailedError({ detail: `Unknown encoding ${name}.` });
    return create();
  });
};

/** Passes at most `maxBytes` and turns every failure into one of our errors. */
class Gate extends Transform {
  #left: number;
  readonly #explain: (error: Error) => Error;

  constructor(maxBytes: number, explain: (error: Error) => Error) {
    super();
    this.#left = maxBytes;
    this.#explain = explain;
  }

  override _transform(chunk: Buffer, _encoding: BufferEncoding, callback: TransformCallback): void {
    this.#left -= chunk.length;
    if (this.#left < 0) callback(new FileTooLargeError());
    else callback(null, chunk);
  }

  override _destroy(error: Error | null, callback: (error?: Error | null) => void): void {
    callback(error === null ? null : this.#explain(error));
  }
}

/** How a body is bounded. */
export interface BodyBounds {
  readonly maxBytes: number;
  readonly encodings: readonly string[];
  /** Ends the stream, with the signal's reason. */
  readonly signal: AbortSignal;
  readonly explain: (error: Error) => Error;
  /** Called once, when the stream is over in whatever way. */
  readonly onClose: () => void;
}

/**
 * The decompressed content of a body, cut off with FileTooLargeError past its limit. A compressed bomb is stopped while it
 * unfolds: no more than one chunk beyond the limit is ever in memory.
 * @throws RemoteFailedError for a compression that is not known
 */
export const boundBody = (body: Readable, bounds: BodyBounds): Readable => {
  const steps = decodersFor(bounds.encodings);
  const gate = new Gate(bounds.maxBytes, bounds.explain);
  const giveUp = (): void => {
    gate.destroy(bounds.signal.reason as Error);
  };
  // The reader hears of failures by a listener of its own; before it has one, they must not end the process.
  gate.on('error', () => undefined);
  gate.once('close', () => {
    bounds.signal.removeEventListener('abort', giveUp);
    bounds.onClose();
  });
  pipeline([body, ...steps, gate], () => undefined);
  if (bounds.signal.aborted) giveUp();
  else bounds.signal.addEventListener('abort', giveUp, { once: true });
  return gate;
};
