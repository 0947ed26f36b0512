import { addAbortSignal, Transform, type Readable } from 'node:stream';
import { CorruptError } from '../../errors/errors.ts';
import { fromS3Error } from './errors.ts';

/** How a body is passed on. */
export interface BodyOptions {
  /** Of the object, for the log. */
  readonly key: string;
  /** Bytes that the service announced. */
  readonly length: number | undefined;
  readonly signal: AbortSignal | undefined;
  /** Called once when the body has ended, whichever way. */
  readonly release: () => void;
}

const tooShort = (seen: number, length: number): CorruptError =>
  new CorruptError({ detail: `the body of an object ended after ${seen} of ${length} bytes` });

/**
 * The body of an object as a stream of ours: it fails with errors of ours, also when the body is shorter or longer than announced, and
 * destroying it ends the transfer at once.
 */
export const passBody = (body: Readable, { key, length, signal, release }: BodyOptions): Readable => {
  let seen = 0;
  const gate = new Transform({
    transform(chunk: Buffer, _encoding, done) {
      seen += chunk.length;
      if (length !== undefined && seen > length) {
        done(new CorruptError({ detail: `the body of an object is longer than ${length} bytes` }));
      } else done(null, chunk);
    },
    flush(done) {
      done(length !== undefined && seen < length ? tooShort(seen, length) : null);
    },
  });
  body.once('error', (error) => gate.destroy(fromS3Error(error, `GetObject ${key}`)));
  body.once('close', () => {
    if (!body.readableEnded) gate.destroy(fromS3Error(new Error('closed early'), `GetObject ${key}`));
  });
  gate.once('close', () => {
    body.destroy();
    release();
  });
  body.pipe(gate);
  return signal === undefined ? gate : addAbortSignal(signal, gate);
};
