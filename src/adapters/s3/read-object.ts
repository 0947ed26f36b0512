import { addAbortSignal, Transform, type Readable } from 'node:stream';
import { CorruptError } from '../../errors/errors.ts';
import type { ReadOptions, ReadResult } from '../../storage/adapter.ts';
import type { SourcePath } from '../../storage/source-path.ts';
import type { Bucket } from './bucket.ts';
import { fromS3Error } from './errors.ts';
import { fileStat, wholeSize } from './stats.ts';

/** How a body is passed on. */
interface BodyOptions {
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
const passBody = (body: Readable, { key, length, signal, release }: BodyOptions): Readable => {
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

/** Opens an object, or a range of it. @throws NotFoundError, ChangedMeanwhileError, CorruptError */
export const openObject = async (
  bucket: Bucket,
  path: SourcePath,
  key: string,
  options: ReadOptions,
): Promise<ReadResult> => {
  const { signal, range } = options;
  const { output, release } = await bucket.get(key, options);
  const { Body, ContentLength, ContentRange } = output;
  if (Body === undefined) {
    release();
    throw new CorruptError({ detail: 'an answer to GetObject has no body' });
  }
  const length = range === undefined ? ContentLength : range.end - range.start + 1;
  return {
    stat: fileStat(path, output, wholeSize(ContentRange, ContentLength)),
    stream: passBody(Body as Readable, { key, length, signal, release }),
  };
};
