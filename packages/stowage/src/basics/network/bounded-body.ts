import { PassThrough, pipeline, Transform, type Readable, type TransformCallback } from 'node:stream';
import { createBrotliDecompress, createGunzip, createInflate } from 'node:zlib';
import { FileTooLargeError, RemoteFailedError } from '../../errors/errors.ts';

/** More layers of compression than this are an attack, not a saving. */
const MAX_ENCODINGS = 2;

const makers: Readonly<Record<string, () => Transform>> = {
  gzip: createGunzip,
  'x-gzip': createGunzip,
  deflate: createInflate,
  br: createBrotliDecompress,
};

/** The compressions of a `Content-Encoding` header, the first applied first; empty for plain content. */
export const encodingsOf = (header: string | undefined): readonly string[] =>
  (header ?? '')
    .toLowerCase()
    .split(',')
    .map((name) => name.trim())
    .filter((name) => name !== '' && name !== 'identity');

const decodersFor = (encodings: readonly string[]): Transform[] => {
  if (encodings.length > MAX_ENCODINGS) throw new RemoteFailedError({ detail: 'Too many encodings.' });
  return encodings.toReversed().map((name) => {
    const create = Object.hasOwn(makers, name) ? makers[name] : undefined;
    if (create === undefined) throw new RemoteFailedError({ detail: `Unknown encoding ${name}.` });
    return create();
  });
};

const limitTo = (maxBytes: number): Transform => {
  let left = maxBytes;
  return new Transform({
    transform: (chunk: Buffer, _encoding, callback: TransformCallback) => {
      left -= chunk.length;
      if (left < 0) callback(new FileTooLargeError());
      else callback(null, chunk);
    },
  });
};

/** How a body is bounded. */
export interface BodyBounds {
  readonly maxBytes: number;
  /** The same before decompression. */
  readonly maxWireBytes: number;
  readonly encodings: readonly string[];
  /** Ends the stream, with the signal's reason. */
  readonly signal: AbortSignal;
  readonly explain: (error: unknown) => Error;
  /** Called once, when the stream is over in whatever way. */
  readonly onClose: () => void;
}

/**
 * The decompressed content of a body, cut off with FileTooLargeError past its limit. A compressed bomb is
 * stopped while it unfolds: no more than one chunk beyond the limit is ever in memory.
 * @throws RemoteFailedError for a compression that is not known
 */
export const boundBody = (body: Readable, bounds: BodyBounds): Readable => {
  const decoders = decodersFor(bounds.encodings);
  const steps = decoders.length === 0 ? [] : [limitTo(bounds.maxWireBytes), ...decoders];
  const limited = limitTo(bounds.maxBytes);
  // A stream of its own, so that errors of the library are not visible, not even in `errored`.
  const content = new PassThrough();
  const fail = (error: unknown): void => {
    content.destroy(bounds.explain(error));
  };
  const giveUp = (): void => fail(bounds.signal.reason);
  // The reader hears of failures by a listener of its own; before it has one, they must not end the process.
  content.on('error', () => undefined);
  content.once('close', () => {
    bounds.signal.removeEventListener('abort', giveUp);
    limited.destroy();
    bounds.onClose();
  });
  pipeline([body, ...steps, limited], (error) => {
    if (error) fail(error);
  });
  limited.pipe(content);
  if (bounds.signal.aborted) giveUp();
  else bounds.signal.addEventListener('abort', giveUp, { once: true });
  return content;
};
