import { Readable, Transform, type TransformCallback } from 'node:stream';
import { ChangedMeanwhileError, CorruptError } from '../../errors/errors.ts';
import type { ByteRange, ReadOptions, ReadResult, Stat } from '../../storage/adapter.ts';
import { isSameVersion } from '../../storage/same-version.ts';
import type { SourcePath } from '../../storage/source-path.ts';
import { dropBody, type DavAnswer, type DavRequest } from './client.ts';
import { lengthOf, strongEtag, timeOf } from './entry.ts';
import { errorOfStatus } from './errors.ts';
import type { Resources } from './resources.ts';

const CHUNK = 64 * 1024;

/** A server's answer that ignored the range: lets only the range through. */
class Cut extends Transform {
  #skip: number;
  #take: number;

  constructor({ start, end }: ByteRange) {
    super({ highWaterMark: CHUNK });
    this.#skip = start;
    this.#take = end - start + 1;
  }

  override _transform(chunk: Buffer, _encoding: BufferEncoding, done: TransformCallback): void {
    const part = chunk.subarray(this.#skip, this.#skip + this.#take);
    this.#skip = Math.max(0, this.#skip - chunk.length);
    this.#take -= part.length;
    done(null, part);
  }
}

const wholeSize = ({ status, headers }: DavAnswer): number | undefined =>
  status === 206
    ? lengthOf(/\/(\d+)$/u.exec(headers['content-range'] ?? '')?.[1])
    : lengthOf(headers['content-length']);

/** What the answer says of the file; where it says nothing, what was known before. */
const statFrom = (answer: DavAnswer, known: Stat): Stat => ({
  ...known,
  size: wholeSize(answer) ?? known.size,
  modifiedAt: timeOf(answer.headers['last-modified']) ?? known.modifiedAt,
  // Where PROPFIND reports no version, neither do we: the two would not compare.
  etag: known.etag === undefined ? undefined : (strongEtag(answer.headers['etag']) ?? known.etag),
});

const headersFor = ({ range, ifMatch }: ReadOptions): Record<string, string> => ({
  'accept-encoding': 'identity',
  ...(range === undefined ? {} : { range: `bytes=${String(range.start)}-${String(range.end)}` }),
  ...(ifMatch === undefined ? {} : { 'if-match': ifMatch }),
});

/** The body in chunks of 64 KiB, `length` bytes in all where that is known; its failures in our terms. */
const streamOf = (
  resources: Resources,
  asked: DavRequest,
  body: Readable,
  { cut, length }: { readonly cut: Cut | undefined; readonly length: number | undefined },
): Readable => {
  const source = cut === undefined ? body : body.pipe(cut);
  // A pipe does not carry errors on.
  if (cut !== undefined) body.once('error', (error) => cut.destroy(error));
  async function* chunks(): AsyncGenerator<Uint8Array> {
    let seen = 0;
    try {
      for await (const chunk of source as AsyncIterable<Uint8Array>) {
        seen += chunk.byteLength;
        yield chunk;
      }
      if (length !== undefined && seen !== length)
        throw new CorruptError({ detail: `the server sent ${String(seen)} of ${String(length)} bytes` });
    } catch (error) {
      asked.signal?.throwIfAborted();
      throw resources.client.failure(asked, error);
    }
  }
  const stream = Readable.from(chunks(), { objectMode: false, highWaterMark: CHUNK });
  // Also when nobody has begun to read.
  stream.once('close', () => body.destroy());
  return stream;
};

/** Whether an answer is another part of the file than the one that was asked for. */
const isOtherPart = ({ status, headers }: DavAnswer, range: ByteRange | undefined): boolean => {
  if (status !== 206) return false;
  const start = /^bytes (\d+)-/iu.exec(headers['content-range'] ?? '')?.[1];
  return range === undefined || start !== String(range.start);
};

/** How often a file that is being replaced is opened again, until its size is the one that was reported before. */
const REOPENINGS = 2;

/**
 * Opens a file that is known to be one.
 * @throws NotFoundError, ChangedMeanwhileError, CorruptError
 */
export const openFile = async (
  resources: Resources,
  path: SourcePath,
  known: Stat,
  options: ReadOptions,
  reopenings = REOPENINGS,
): Promise<ReadResult> => {
  const { range, ifMatch, signal } = options;
  const url = resources.url(path, 'file');
  const asked: DavRequest = { method: 'GET', path, url, signal, headers: headersFor(options) };
  const answer = await resources.client.send(asked);
  if (answer.status !== 200 && answer.status !== 206) {
    await dropBody(answer);
    throw answer.status === 412 ? new ChangedMeanwhileError() : errorOfStatus(asked, answer.status);
  }
  const stat = statFrom(answer, known);
  if (ifMatch !== undefined && stat.etag !== ifMatch) {
    answer.body.destroy();
    throw new ChangedMeanwhileError();
  }
  if (isOtherPart(answer, range)) {
    answer.body.destroy();
    throw new CorruptError({ detail: 'the server sent another part of the file' });
  }
  if (known.size !== undefined && stat.size !== known.size && reopenings > 0) {
    answer.body.destroy();
    const now = await resources.stat(path, options);
    if (isSameVersion(now, known)) throw new CorruptError({ detail: 'the server sent another length' });
    return openFile(resources, path, now, options, reopenings - 1);
  }
  const cut = range === undefined || answer.status === 206 ? undefined : new Cut(range);
  const length = range === undefined ? stat.size : range.end - range.start + 1;
  return { stat, stream: streamOf(resources, asked, answer.body, { cut, length }) };
};
