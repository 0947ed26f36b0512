import { Readable } from 'node:stream';
import { ChangedMeanwhileError, CorruptError } from '../../../errors/errors.ts';
import { lengthOf, strongEtag, timeOf, wholeSize } from '../core/http.ts';
import { passBody } from '../core/body.ts';
import type { ByteRange, ReadOptions, ReadResult, Stat } from '../../../storage/adapter.ts';
import { isSameVersion } from '../../../storage/entry.ts';
import type { SourcePath } from '../../../storage/source-path.ts';
import { type DavResponse, type DavRequest, dropBody } from './client.ts';
import { errorOfFailure, errorOfStatus } from './errors.ts';
import type { Resources } from './requests.ts';

const sizeOf = ({ status, headers }: DavResponse): number | undefined =>
  status === 206 ? wholeSize(headers['content-range']) : lengthOf(headers['content-length']);

/** Size and time from the response, where it has them; the ETag always from PROPFIND, as in listings. */
const statFrom = (response: DavResponse, known: Stat): Stat => ({
  ...known,
  size: sizeOf(response) ?? known.size,
  modifiedAt: timeOf(response.headers['last-modified']) ?? known.modifiedAt,
});

const headersFor = (range: ByteRange | undefined, ifMatch: string | undefined): Record<string, string> => ({
  'accept-encoding': 'identity',
  // IIS finds files of types that it does not know, such as WebP, only with this header.
  translate: 'f',
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

interface Content {
  readonly range: ByteRange | undefined;
  /** The part in the body; undefined for the whole file. */
  readonly part: ByteRange | undefined;
  readonly stat: Stat;
  readonly isReplaced: () => Promise<boolean>;
}

/** The requested part of a body. Some servers send more: the whole file, or all from the start on. */
const contentOf = (asked: DavRequest, { body }: DavResponse, { range, part, stat, isReplaced }: Content) => {
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

type Difference = 'none' | 'size' | 'version';

/** How content differs from the file that PROPFIND has described; `tag` is the expected ETag. */
const differenceOf = (response: DavResponse, known: Stat, tag: string | undefined): Difference => {
  const seen = strongEtag(response.headers['etag']);
  if (response.status === 412 || (seen !== undefined && tag !== undefined && seen !== tag)) return 'version';
  return known.size === undefined || statFrom(response, known).size === known.size ? 'none' : 'size';
};

/** Rejects responses without content, except 412 to `If-Match`. */
const requireContent = async (asked: DavRequest, response: DavResponse): Promise<void> => {
  const { status } = response;
  const isCompared = status === 412 && asked.headers?.['if-match'] !== undefined;
  if (status === 200 || status === 206 || isCompared) return;
  await dropBody(response);
  // 416: the file has become shorter than the requested range.
  throw status === 416 ? new ChangedMeanwhileError() : errorOfStatus(asked, status);
};

/** The part in a response; undefined for the whole file. @throws CorruptError for another part */
const partFor = (range: ByteRange | undefined, { status, headers, body }: DavResponse) => {
  if (status !== 206) return undefined;
  const [, start, end] = /^bytes (\d+)-(\d+)/iu.exec(headers['content-range'] ?? '') ?? [];
  if (Number(start) === range?.start) return { start: Number(start), end: Number(end) };
  body.destroy();
  throw new CorruptError({ detail: 'the server sent another part of the file' });
};

/** Attempts to reopen a file that is being replaced, until it is the version that PROPFIND describes. */
const REOPENINGS = 2;

/**
 * Opens an existing file. Some servers send another ETag with the content than PROPFIND reports, for example
 * when they redirect to an object store: it must then be the same before and after another PROPFIND.
 * @param tag expected ETag of the content
 * @throws NotFoundError, ChangedMeanwhileError, CorruptError
 */
export const openFile = async (
  resources: Resources,
  path: SourcePath,
  known: Stat,
  options: ReadOptions,
  tag = known.etag,
  reopenings = REOPENINGS,
): Promise<ReadResult> => {
  const { range, ifMatch, signal } = options;
  const url = resources.url(path, 'file');
  const headers = headersFor(range, reopenings === REOPENINGS ? ifMatch : undefined);
  const asked: DavRequest = { method: 'GET', path, url, signal, headers };
  const response = await resources.client.send(asked);
  await requireContent(asked, response);
  const difference = differenceOf(response, known, tag);
  if (difference !== 'none' && reopenings > 0) {
    response.body.destroy();
    const now = await resources.stat(path, options);
    const isSame = isSameVersion(now, known);
    if (!isSame && ifMatch !== undefined) throw new ChangedMeanwhileError();
    if (isSame && difference === 'size') throw new CorruptError({ detail: 'the server sent another length' });
    const next = isSame ? strongEtag(response.headers['etag']) : now.etag;
    return openFile(resources, path, now, options, next, reopenings - 1);
  }
  if (difference === 'version' && ifMatch !== undefined) {
    response.body.destroy();
    throw new ChangedMeanwhileError();
  }
  const stat = statFrom(response, known);
  const part = partFor(range, response);
  const isReplaced = async (): Promise<boolean> => !isSameVersion(await resources.stat(path, options), known);
  return { stat, stream: contentOf(asked, response, { range, part, stat, isReplaced }) };
};
