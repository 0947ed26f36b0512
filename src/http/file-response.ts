import { Readable } from 'node:stream';
import { FileAnswer, type MadeFileAnswer } from '../actions/file-answer.ts';
import { ChangedMeanwhileError, RangeNotSatisfiableError } from '../errors/errors.ts';
import type { ByteRange } from '../storage/adapter.ts';
import { attachment } from './content-disposition.ts';
import type { ConnectorResponse, HookRequest } from './message.ts';
import { judgePreconditions, rangeStillApplies } from './preconditions.ts';
import { parseRange } from './range.ts';

/** The answer depends on who asks; it may be kept, but not shown again without asking. */
const CACHE_CONTROL = 'private, no-cache';

const validatorHeaders = ({ stat: { etag, modifiedAt } }: FileAnswer): Record<string, string> => ({
  ...(etag === undefined ? {} : { etag }),
  ...(modifiedAt === undefined ? {} : { 'last-modified': new Date(modifiedAt).toUTCString() }),
  'cache-control': CACHE_CONTROL,
});

const contentHeaders = (answer: FileAnswer | MadeFileAnswer): Record<string, string> => ({
  'content-type': answer.contentType,
  'content-disposition': attachment(answer.filename),
  'x-content-type-options': 'nosniff',
  // Should a browser show it after all, it is a page without scripts and without an origin.
  'content-security-policy': 'sandbox',
});

/** The part that a GET asks for. @throws StowageError RANGE_NOT_SATISFIABLE */
const requestedRange = (answer: FileAnswer, request: HookRequest): ByteRange | undefined => {
  const { size } = answer.stat;
  if (size === undefined || request.method !== 'GET' || !rangeStillApplies(request.headers, answer.stat)) {
    return undefined;
  }
  const range = parseRange(request.headers['range'], size);
  if (range !== 'unsatisfiable') return range;
  throw new RangeNotSatisfiableError({
    headers: { 'Content-Range': `bytes */${String(size)}` },
  });
};

/**
 * Answers with a file: whole (200), a part (206), or not at all because of a condition (304, and 412 and 416 as errors).
 * Conditions and ranges count for GET and HEAD; a request for several ranges gets the whole file. The file is opened only
 * when its bytes are sent.
 */
export const fileResponse = async (answer: FileAnswer, request: HookRequest): Promise<ConnectorResponse> => {
  const reads = request.method === 'GET' || request.method === 'HEAD';
  const judgement = reads ? judgePreconditions(request.headers, answer.stat) : 'send';
  // Not a ChangedMeanwhileError: nothing has changed under the download, which is not a reason to start over.
  if (judgement === 'failed') throw new ChangedMeanwhileError();
  if (judgement === 'not-modified') {
    return { status: 304, headers: validatorHeaders(answer), body: undefined };
  }
  const { size } = answer.stat;
  const range = requestedRange(answer, request);
  const headers = { ...validatorHeaders(answer), ...contentHeaders(answer) };
  if (size !== undefined) {
    headers['accept-ranges'] = 'bytes';
    headers['content-length'] = String(range === undefined ? size : range.end - range.start + 1);
    if (range !== undefined) {
      headers['content-range'] = `bytes ${String(range.start)}-${String(range.end)}/${String(size)}`;
    }
  }
  const body = request.method === 'HEAD' ? undefined : await answer.open(range);
  return { status: range === undefined ? 200 : 206, headers, body };
};

/** The bytes of a made file, whole or in part. Made anew at every request, so there is no version of it. */
const ofBytes = ({ filename, contentType }: MadeFileAnswer, bytes: Uint8Array): FileAnswer =>
  new FileAnswer({
    filename,
    contentType,
    stat: { size: bytes.length, modifiedAt: undefined, etag: undefined },
    open: async (range) =>
      Readable.from([range === undefined ? bytes : bytes.subarray(range.start, range.end + 1)], {
        objectMode: false,
      }),
  });

/**
 * Answers with a file that has to be made. HEAD learns all but the length and makes nothing.
 * @see https://www.rfc-editor.org/rfc/rfc9110#section-9.3.2
 */
export const madeFileResponse = async (
  answer: MadeFileAnswer,
  request: HookRequest,
): Promise<ConnectorResponse> => {
  if (request.method !== 'HEAD') return fileResponse(ofBytes(answer, await answer.make()), request);
  const headers = { 'cache-control': CACHE_CONTROL, ...contentHeaders(answer) };
  return { status: 200, headers, body: undefined };
};
