import type { Readable } from 'node:stream';
import { promisify } from 'node:util';
import { brotliDecompress, gunzip, inflate } from 'node:zlib';
import {
  AccessDeniedError,
  BodyTooLargeError,
  BrokenBodyError,
  RequestTimeoutError,
  StowageError,
} from '../errors/errors.ts';
import { type BodyContext, type BodyTimes, bodyTimes, pour } from './body/pour.ts';
import type { UploadedFile } from '../changes/uploaded-file.ts';
import {
  fromObject,
  mergeParameters,
  noParameters,
  parseQuery,
  parseUrlencoded,
  type RawParameters,
} from '../parameters/raw.ts';
import type { TextBounds } from '../parameters/fields.ts';
import type { ConnectorRequest, ParsedBody } from './message.ts';
import type { FormContent, FormReading } from './body/multipart.ts';
import { editorFor, type Load, mayAllowAction } from '../actions/action.ts';
import type { SourceLease } from '../sources/tenants.ts';
import { SourcePath } from '../storage/source-path.ts';
import type { PipelineDependencies, RequestScope } from './request-scope.ts';
import { actionParameter, type Target } from './target.ts';
import { type Admit, createUploadReceiver, type UploadContext } from './upload-receiver.ts';

/** Largest JSON or urlencoded body in bytes, as sent and after decompression. */
const TEXT_LIMIT = 102_400;

const decompressors = new Map([
  ['gzip', promisify(gunzip)],
  ['x-gzip', promisify(gunzip)],
  ['deflate', promisify(inflate)],
  ['br', promisify(brotliDecompress)],
]);

/** The body as it was sent. @throws BodyTooLargeError as soon as the limit is passed */
const collect = async (body: Readable, signal: AbortSignal, times: BodyTimes): Promise<Buffer> => {
  const chunks: Buffer[] = [];
  let length = 0;
  await pour(body, {
    signal,
    times,
    write: (chunk) => {
      length += chunk.length;
      if (length > TEXT_LIMIT) throw new BodyTooLargeError();
      chunks.push(chunk);
      return undefined;
    },
  });
  return Buffer.concat(chunks);
};

const decompressed = async (bytes: Buffer, encoding: string): Promise<Buffer> => {
  const decompress = decompressors.get(encoding);
  if (decompress === undefined)
    throw new BrokenBodyError('The encoding of the request body is not supported.');
  try {
    return await decompress(bytes, { maxOutputLength: TEXT_LIMIT });
  } catch (error) {
    throw (error as NodeJS.ErrnoException).code === 'ERR_BUFFER_TOO_LARGE' ? new BodyTooLargeError() : error;
  }
};

/**
 * Reads a JSON or urlencoded body as UTF-8 text. Compressed bodies (gzip, deflate, br) are read; the limit
 * holds for the bytes as sent and as decompressed, whatever `Content-Length` says.
 * @throws BodyTooLargeError; BrokenBodyError for a body that is cut off or is not such a text;
 *   RequestTimeoutError
 */
export const readBoundedText = async (
  body: Readable,
  { headers, signal, times }: BodyContext,
): Promise<string> => {
  if (Number(headers['content-length']) > TEXT_LIMIT) throw new BodyTooLargeError();
  const encoding = headers['content-encoding']?.trim().toLowerCase() ?? '';
  const isPlain = encoding === '' || encoding === 'identity';
  const late = new AbortController();
  const timer = setTimeout(() => late.abort(new RequestTimeoutError()), times.textMs);
  try {
    const sent = await collect(body, AbortSignal.any([signal, late.signal]), times);
    const bytes = isPlain ? sent : await decompressed(sent, encoding);
    return new TextDecoder('utf-8', { fatal: true }).decode(bytes);
  } catch (error) {
    if (error instanceof StowageError || signal.aborted) throw error;
    throw new BrokenBodyError({ cause: error });
  } finally {
    clearTimeout(timer);
  }
};

export type BodyKind = 'json' | 'urlencoded' | 'multipart';

const bodyKind = (contentType: string | undefined): BodyKind | undefined => {
  if (contentType === undefined) return undefined;
  const end = contentType.indexOf(';');
  const type = (end === -1 ? contentType : contentType.slice(0, end)).trim().toLowerCase();
  if (type === 'application/x-www-form-urlencoded') return 'urlencoded';
  if (type === 'multipart/form-data') return 'multipart';
  return type === 'application/json' || /^application\/[^/]+\+json$/u.test(type) ? 'json' : undefined;
};

const hasForeignCharset = (contentType: string | undefined): boolean => {
  const charset = /;\s*charset\s*=\s*"?([^\s";]+)/iu.exec(contentType ?? '')?.[1]?.toLowerCase();
  return charset !== undefined && !['utf-8', 'utf8', 'us-ascii'].includes(charset);
};

/**
 * Parameters of a JSON body. An empty body and a list count as no parameters.
 * @throws BrokenBodyError for broken text and for a bare scalar.
 */
const parseJsonBody = (text: string, bounds: TextBounds): RawParameters => {
  if (text.trim() === '') return noParameters();
  let value: unknown;
  try {
    value = JSON.parse(text);
  } catch (cause) {
    throw new BrokenBodyError({ message: 'The request body is not valid JSON.', cause });
  }
  if (typeof value !== 'object' || value === null)
    throw new BrokenBodyError('The request body must be a JSON object.');
  return Array.isArray(value) ? noParameters() : fromObject(value, bounds).all();
};

const READ_BEFORE =
  'Something in this server has read the body before the request reached the connector. Mount the connector before it.';

const nothing = (): FormContent => ({ fields: noParameters(), uploads: [] });

/** Files that a host has received go the same way as those of a form that we read. */
const receiveParsed = async (
  { fields, files }: ParsedBody,
  { receiver, bounds }: FormReading,
): Promise<FormContent> => {
  const seen = fromObject(typeof fields === 'object' && fields !== null ? fields : {}, bounds);
  const taker = receiver();
  const uploads: UploadedFile[] = [];
  try {
    for (const file of files) {
      const content = file.open();
      content.on('error', () => undefined);
      const { field, filename } = file;
      try {
        const store = await taker.accept({ field, filename, content, fields: seen });
        if (store !== undefined) uploads.push(await store());
      } finally {
        // Read to its end, skipped or refused: this is its only owner.
        content.destroy();
      }
    }
    return { fields: seen.all(), uploads };
  } catch (error) {
    await Promise.all(uploads.map((upload) => upload.staged.discard()));
    throw error;
  }
};

const contextOf = (request: ConnectorRequest, times: BodyTimes): BodyContext => ({
  headers: request.headers,
  signal: request.signal,
  times,
});

/**
 * Reads what a request's body says, by its content type; bodies of other types are left unread and say
 * nothing. A body that the host has read is taken as it was parsed.
 * @throws BrokenBodyError, BodyTooLargeError, InvalidParametersError, and what the receiver throws.
 */
export const readBody = async (
  request: ConnectorRequest,
  reading: FormReading,
  times: BodyTimes = bodyTimes,
): Promise<FormContent> => {
  const { body, headers, parsedBody } = request;
  const contentType = headers['content-type'];
  if (parsedBody !== undefined) {
    if (parsedBody.isMissing && bodyKind(contentType) !== undefined) throw new BrokenBodyError(READ_BEFORE);
    return receiveParsed(parsedBody, reading);
  }
  const kind = body === undefined ? undefined : bodyKind(contentType);
  if (body === undefined || kind === undefined) return nothing();
  if (kind === 'multipart') {
    // The parser is loaded with the first form: a service starts without it.
    const { readMultipart } = await import('./body/multipart.ts');
    return readMultipart(body, contextOf(request, times), reading);
  }
  if (hasForeignCharset(contentType)) throw new BrokenBodyError('The request body must be UTF-8.');
  const { bounds } = reading;
  const text = await readBoundedText(body, contextOf(request, times));
  return {
    fields: kind === 'json' ? parseJsonBody(text, bounds) : parseUrlencoded(text, bounds),
    uploads: [],
  };
};

/** All that a request says, after precedence: the path wins over the query, the query over the body. */
export interface RequestInput {
  readonly actionName: string | undefined;
  readonly parameters: RawParameters;
  readonly uploads: readonly UploadedFile[];
}

/**
 * Reads the parameters of a request and receives its files, which `scope` holds from then on.
 * @throws RateLimitedError; AccessDeniedError before the body is read, when nothing in it could make the
 *   action allowed.
 */
export const readInput = async (
  request: ConnectorRequest,
  target: Target,
  context: Omit<UploadContext, 'query' | 'actionName' | 'request' | 'scope'> & {
    readonly times?: BodyTimes | undefined;
    readonly bounds: TextBounds;
  },
  scope: RequestScope,
): Promise<RequestInput> => {
  const { bounds } = context;
  const query = parseQuery(target.query, bounds);
  const actionName = target.action ?? actionParameter(query);
  const { access, actions } = context;
  if (actionName !== undefined && !mayAllowAction(access, actions, actionName, SourcePath.root))
    throw new AccessDeniedError();
  await context.admit(actionName);
  const { fields, uploads } = await readBody(
    request,
    { receiver: () => createUploadReceiver({ ...context, request, query, actionName, scope }), bounds },
    context.times,
  );
  scope.uploads = uploads;
  scope.form.isRead = true;
  const named = actionName ?? actionParameter(fields) ?? target.prefix;
  const parameters = mergeParameters(query, fields);
  await context.admit(named, parameters);
  scope.language = parameters['language'];
  scope.editor = editorFor(actions.get(named ?? ''), parameters['responseType']);
  return { actionName: named, parameters, uploads };
};

/**
 * Counts a request once for each kind of load, as soon as it is known which action it asks for: a form may
 * hold files before it names another action than an upload. @see Admit
 */
export const createAdmission = (
  { actions, rateLimits, clientOf }: PipelineDependencies,
  request: ConnectorRequest,
  { about }: RequestScope,
  lease: SourceLease,
): Admit => {
  const counted = new Map<Load, Promise<void>>();
  return async (actionName = '', parameters) => {
    const load = rateLimits && actions.get(actionName)?.load;
    const known = typeof load === 'function' ? parameters && load(parameters) : load;
    if (rateLimits === undefined || known === undefined) return;
    let counting = counted.get(known);
    if (counting === undefined) {
      const tenant = lease.sources.all.find((source) => source.tenant !== undefined)?.tenant;
      counting = rateLimits.count(known, clientOf(request, about.subject, tenant));
      counted.set(known, counting);
    }
    await counting;
  };
};
