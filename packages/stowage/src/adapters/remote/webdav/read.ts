import { Readable } from 'node:stream';
import { ChangedMeanwhileError, CorruptError } from '../../../errors/errors.ts';
import { strongEtag, wholeSize } from '../core/http.ts';
import { passBody } from '../core/body.ts';
import type { ByteRange, ReadOptions, ReadResult, Stat } from '../../../storage/adapter.ts';
import { isSameVersion } from '../../../storage/entry.ts';
import type { SourcePath } from '../../../storage/source-path.ts';
import { type DavAnswer, type DavRequest, dropBody } from './client.ts';
import { errorOfFailure, errorOfStatus } from './errors.ts';
import { lengthOf, timeOf } from './multistatus.ts';
import type { Resources } from './requests.ts';

const sizeOf = ({ status, headers }: DavAnswer): number | undefined =>
  status === 206 ? wholeSize(headers['content-range']) : lengthOf(headers['content-length']);

/** Properties from the response; missing ones from the earlier stat. */
const statFrom = (answer: DavAnswer, known: Stat): Stat => ({
  ...known,
  size: sizeOf(answer) ?? known.size,
  modifiedAt: timeOf(answer.headers['last-modified']) ?? known.modifiedAt,
  // When PROPFIND reports no ETag, that of the response is not used: the two would not compare.
  etag: known.etag === undefined ? undefined : (strongEtag(answer.headers['etag']) ?? known.etag),
});

const headersFor = ({ range, ifMatch }: ReadOptions): Record<string, string> => ({
  'accept-encoding': 'identity',
  ...(range === undefined ? {} : { range: `bytes=${String(range.start)}-${String(range.end)}` }),
  ...(ifMatch === undefined ? {} : { 'if-match': ifMatch }),
});

/** The bytes of a range from a body that begins at byte `first` of the file; ends the transfer after them. */
async function* cutOut(body: Readable, first: number, { start, end }: ByteRange): AsyncGenerator<Uint8Array> {
  let at = first;
  for await (const chunk of body as AsyncIterable<Uint8Array>) {
    const part = chunk.subarray(Math.max(0, start - at), Math.max(0, end + 1 - at));
    at += chunk.byteLength;
    if (part.byteLength > 0) yield part;
    if (at > end) return;
  }
}

/** The part of the file in a response; undefined for the whole file. */
const partIn = ({ status, headers }: DavAnswer): ByteRange | undefined => {
  if (status !== 206) return undefined;
  const [, start, end] = /^bytes (\d+)-(\d+)/iu.exec(headers['content-range'] ?? '') ?? [];
  return { start: Number(start), end: Number(end) };
};

interface Content {
  readonly range: ByteRange | undefined;
  /** The part in the body, see `partIn`. */
  readonly part: ByteRange | undefined;
  readonly stat: Stat;
  readonly isReplaced: () => Promise<boolean>;
}

/** The requested part of a body. Some servers send more: the whole file, or all from the start on. */
const contentOf = (
  asked: DavRequest,
  { body }: DavAnswer,
  { range, part, stat, isReplaced }: Content,
): Readable => {
  const isLonger = range !== undefined && part?.end !== range.end;
  const first = part?.start ?? 0;
  const wanted = isLonger ? Readable.from(cutOut(body, first, range), { objectMode: false }) : body;
  const stream = passBody(wanted, {
    length: range === undefined ? stat.size : range.end - range.start + 1,
    signal: asked.signal,
    isReplaced,
    failure: (error) => errorOfFailure(asked, error),
  });
  // Also when reading has not begun.
  stream.once('close', () => body.destroy());
  return stream;
};

/** Attempts to reopen a file that is being replaced, until it has the reported size. */
const REOPENINGS = 2;

/** Opens an existing file. @throws NotFoundError, ChangedMeanwhileError, CorruptError */
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
    // 416: the file has become shorter than the requested range.
    const isChanged = answer.status === 412 || answer.status === 416;
    throw isChanged ? new ChangedMeanwhileError() : errorOfStatus(asked, answer.status);
  }
  const stat = statFrom(answer, known);
  if (ifMatch !== undefined && stat.etag !== ifMatch) {
    answer.body.destroy();
    throw new ChangedMeanwhileError();
  }
  const part = partIn(answer);
  if (part !== undefined && part.start !== range?.start) {
    answer.body.destroy();
    throw new CorruptError({ detail: 'the server sent another part of the file' });
  }
  if (known.size !== undefined && stat.size !== known.size && reopenings > 0) {
    answer.body.destroy();
    const now = await resources.stat(path, options);
    if (isSameVersion(now, known)) throw new CorruptError({ detail: 'the server sent another length' });
    return openFile(resources, path, now, options, reopenings - 1);
  }
  const isReplaced = async (): Promise<boolean> => !isSameVersion(await resources.stat(path, options), known);
  return { stat, stream: contentOf(asked, answer, { range, part, stat, isReplaced }) };
};
