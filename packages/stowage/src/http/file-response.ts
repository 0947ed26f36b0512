import { randomUUID } from 'node:crypto';
import {
  bytesResponse,
  type FileResponse,
  type FileResponseFields,
  type GeneratedFileResponse,
} from '../actions/responses.ts';
import { contentDisposition } from '../basics/content/file-name.ts';
import { RangeNotSatisfiableError, StowageError } from '../errors/errors.ts';
import type { ByteRange, Stat } from '../storage/adapter.ts';
import type { ConnectorResponse, HookRequest } from './message.ts';
import { listMatches } from './representation.ts';

/**
 * Parses a `Range` header for a file of that size. Undefined: the header is ignored (other unit, malformed,
 * several ranges; nothing to divide), and the whole file is sent. `unsatisfiable`: the range lies outside of the
 * file. Proxies that cache files in slices ask for a range of every file, also of empty ones.
 * @see https://www.rfc-editor.org/rfc/rfc9110#section-14.1.2
 */
const parseRange = (header: string | undefined, size: number): ByteRange | 'unsatisfiable' | undefined => {
  const match = /^bytes=\s*(\d*)-(\d*)\s*$/iu.exec(header ?? '');
  if (match === null || size === 0) return undefined;
  const [, first = '', last = ''] = match;
  if (first === '' && last === '') return undefined;
  if (first === '') {
    const length = Math.min(Number(last), size);
    return length === 0 ? 'unsatisfiable' : { start: size - length, end: size - 1 };
  }
  const start = Number(first);
  const end = last === '' ? size - 1 : Math.min(Number(last), size - 1);
  if (last !== '' && Number(last) < start) return undefined;
  return start >= size ? 'unsatisfiable' : { start, end };
};

const seconds = (milliseconds: number): number => Math.floor(milliseconds / 1000);

/** Store clocks may be ahead or behind by this much. */
const CLOCK_MS = 60_000;

interface Comparable extends Pick<Stat, 'etag' | 'modifiedAt'> {
  /** Another version may have the same time. */
  readonly isRecent: boolean;
}

/**
 * The version as clients compare it. A file of a store without ETags gets one of its size and time, which is
 * strong, because browsers continue downloads by strong tags only. A time in whole seconds does not distinguish a
 * version from one that replaces it within the same second, so a recent file gets a tag that no later request
 * matches: clients that send a tag do not compare the time.
 */
const comparable = ({ etag, modifiedAt, size }: FileResponseFields['stat']): Comparable => {
  if (etag !== undefined || modifiedAt === undefined) return { etag, modifiedAt, isRecent: false };
  const isRecent = Date.now() - modifiedAt < CLOCK_MS;
  const tag = isRecent ? `W/"${randomUUID()}"` : `"${String(size)}-${String(seconds(modifiedAt))}"`;
  return { etag: tag, modifiedAt, isRecent };
};

type Headers = Readonly<Record<string, string | undefined>>;

/** The three forms of a date in HTTP. That without a zone is in GMT, too. */
const HTTP_DATE = /^[A-Z][a-z]+,? .*\d\d:\d\d (?:GMT|\d{4})$/u;

/** Undefined for what is not a date, which has no effect. */
const parseDate = (header = ''): number | undefined => {
  const text = header.trim();
  const time = HTTP_DATE.test(text) ? Date.parse(text.endsWith('GMT') ? text : `${text} GMT`) : Number.NaN;
  return Number.isNaN(time) ? undefined : seconds(time);
};

/** Undefined where it is unknown: a recent version may have the time of the one that it replaced. */
const modifiedSince = ({ modifiedAt, isRecent }: Comparable, date: number | undefined) => {
  if (modifiedAt === undefined || date === undefined) return undefined;
  return seconds(modifiedAt) > date || (isRecent ? undefined : false);
};

/**
 * Evaluates a conditional GET or HEAD in the order of the standard.
 * @see https://www.rfc-editor.org/rfc/rfc9110#section-13.2.2
 */
const checkPreconditions = (headers: Headers, version: Comparable): 'send' | 'not-modified' | 'failed' => {
  const ifMatch = headers['if-match'];
  if (ifMatch !== undefined) {
    if (!listMatches(ifMatch, version.etag, false)) return 'failed';
  } else if (modifiedSince(version, parseDate(headers['if-unmodified-since'])) === true) {
    return 'failed';
  }
  const ifNoneMatch = headers['if-none-match'];
  if (ifNoneMatch !== undefined)
    return listMatches(ifNoneMatch, version.etag, true) ? 'not-modified' : 'send';
  return modifiedSince(version, parseDate(headers['if-modified-since'])) === false ? 'not-modified' : 'send';
};

/** Whether `If-Range`, if present, matches this version: the same strong tag or modification time. */
const rangeStillApplies = (headers: Headers, { etag, modifiedAt, isRecent }: Comparable): boolean => {
  const header = headers['if-range']?.trim();
  if (header === undefined) return true;
  if (header.endsWith('"')) return header === etag;
  return modifiedAt !== undefined && !isRecent && parseDate(header) === seconds(modifiedAt);
};

/**
 * The response depends on the requester; caches may store it, but must revalidate it. Not to be transformed:
 * the compression of Express hosts would take any download, which costs time and removes its length.
 */
const CACHE_CONTROL = 'private, no-cache, no-transform';

/** Mutates `headers`: nested spreads take a tenth of the time of a small file. */
const addValidators = (
  headers: Record<string, string>,
  { etag, modifiedAt }: Comparable,
  own: FileResponseFields['headers'],
): Record<string, string> => {
  if (etag !== undefined) headers['etag'] = etag;
  if (modifiedAt !== undefined) headers['last-modified'] = new Date(modifiedAt).toUTCString();
  headers['cache-control'] = CACHE_CONTROL;
  return Object.assign(headers, own);
};

const contentHeaders = (response: Pick<FileResponseFields, 'contentType' | 'filename' | 'isInline'>) => ({
  'content-type': response.contentType,
  'content-disposition': contentDisposition(
    response.isInline === true ? 'inline' : 'attachment',
    response.filename,
  ),
  'x-content-type-options': 'nosniff',
  // If a browser displays it nevertheless, the page has no scripts and no origin.
  'content-security-policy': 'sandbox',
});

/** The range that a GET requests. @throws StowageError RANGE_NOT_SATISFIABLE */
const requestedRange = (size: number | undefined, version: Comparable, request: HookRequest) => {
  if (size === undefined || request.method !== 'GET' || !rangeStillApplies(request.headers, version))
    return undefined;
  const range = parseRange(request.headers['range'], size);
  if (range !== 'unsatisfiable') return range;
  throw new RangeNotSatisfiableError({ headers: { 'Content-Range': `bytes */${String(size)}` } });
};

/**
 * Responds with a file: whole (200), a part (206), or only a status because of a condition (304; 412 and 416
 * as errors). Conditions and ranges apply to GET and HEAD; a request for several ranges gets the whole file.
 * The file is opened only when its bytes are sent.
 */
export const fileResponse = async (
  { file }: FileResponse,
  request: HookRequest,
): Promise<ConnectorResponse> => {
  const reads = request.method === 'GET' || request.method === 'HEAD';
  const version = comparable(file.stat);
  const verdict = reads ? checkPreconditions(request.headers, version) : 'send';
  // Not a ChangedMeanwhileError: the file has not changed during the download, so the download is not
  // restarted.
  if (verdict === 'failed') throw new StowageError('CHANGED_MEANWHILE');
  if (verdict === 'not-modified')
    return { status: 304, headers: addValidators({}, version, file.headers), body: undefined };
  const { size } = file.stat;
  const range = requestedRange(size, version, request);
  const headers = addValidators(contentHeaders(file), version, file.headers);
  if (size !== undefined) {
    headers['accept-ranges'] = 'bytes';
    headers['content-length'] = String(range === undefined ? size : range.end - range.start + 1);
    if (range !== undefined) {
      headers['content-range'] = `bytes ${String(range.start)}-${String(range.end)}/${String(size)}`;
      // The compression of Express hosts takes parts too, which then are not the bytes of their range.
      const { 'cache-control': caching = '' } = headers;
      if (!caching.includes('no-transform')) headers['cache-control'] = `${caching}, no-transform`;
    }
  }
  const body = request.method === 'HEAD' ? undefined : await file.open(range);
  return { status: range === undefined ? 200 : 206, headers, body };
};

/**
 * Responds with a generated file. HEAD gets all headers but the length, and generates nothing.
 * @see https://www.rfc-editor.org/rfc/rfc9110#section-9.3.2
 */
export const generatedFileResponse = async (
  { file, make }: GeneratedFileResponse,
  request: HookRequest,
): Promise<ConnectorResponse> => {
  // Generated for every request, so it has no version.
  if (request.method !== 'HEAD') return fileResponse(bytesResponse(await make(), file), request);
  const headers = { 'cache-control': CACHE_CONTROL, ...contentHeaders(file) };
  return { status: 200, headers, body: undefined };
};
