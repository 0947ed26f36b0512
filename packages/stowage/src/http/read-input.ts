import type { Readable } from 'node:stream';
import { promisify } from 'node:util';
import { brotliDecompress, gunzip, inflate } from 'node:zlib';
import { inTimeLimit } from '../basics/concurrency/abort.ts';
import * as errors from '../errors/errors.ts';
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
import type { ParsedBody } from './message.ts';
import { type FormContent, type FormReading, readMultipart } from './body/multipart.ts';
import { editorFor } from '../actions/action.ts';
import type { GrantedRequest, RequestScope } from './request-scope.ts';
import { actionParameter, type Target } from './target.ts';
import { UploadReceiver } from './upload-receiver.ts';

/** Maximum size of a JSON or urlencoded body in bytes, both compressed and decompressed. */
const TEXT_LIMIT = 102_400;

const decompressors = new Map([
  ['gzip', promisify(gunzip)],
  ['x-gzip', promisify(gunzip)],
  ['deflate', promisify(inflate)],
  ['br', promisify(brotliDecompress)],
]);

/** The raw body. @throws BodyTooLargeError as soon as the limit is exceeded */
const collect = async (body: Readable, signal: AbortSignal, times: BodyTimes): Promise<Buffer> => {
  const chunks: Buffer[] = [];
  let length = 0;
  await pour(body, {
    signal,
    times,
    write: (chunk) => {
      length += chunk.length;
      if (length > TEXT_LIMIT) throw new errors.BodyTooLargeError();
      chunks.push(chunk);
      return undefined;
    },
  });
  return Buffer.concat(chunks);
};

const decompressed = async (bytes: Buffer, encoding: string): Promise<Buffer> => {
  const decompress = decompressors.get(encoding);
  if (decompress === undefined)
    throw new errors.BrokenBodyError('The encoding of the request body is not supported.');
  try {
    return await decompress(bytes, { maxOutputLength: TEXT_LIMIT });
  } catch (error) {
    throw (error as NodeJS.ErrnoException).code === 'ERR_BUFFER_TOO_LARGE'
      ? new errors.BodyTooLargeError()
      : error;
  }
};

/**
 * Reads a JSON or urlencoded body as UTF-8 text. Compressed bodies (gzip, deflate, br) are supported; the
 * limit applies to the compressed and the decompressed bytes, regardless of `Content-Length`.
 * @throws BodyTooLargeError; BrokenBodyError for a body that is truncated or not valid text;
 *   RequestTimeoutError
 */
const readBoundedText = async (body: Readable, { headers, signal, times }: BodyContext): Promise<string> => {
  if (Number(headers['content-length']) > TEXT_LIMIT) throw new errors.BodyTooLargeError();
  const encoding = headers['content-encoding']?.trim().toLowerCase() ?? '';
  const isPlain = encoding === '' || encoding === 'identity';
  const late = (): Error => new errors.RequestTimeoutError();
  try {
    const sent = await inTimeLimit(times.textMs, signal, (limit) => collect(body, limit, times), late);
    const bytes = isPlain ? sent : await decompressed(sent, encoding);
    return new TextDecoder('utf-8', { fatal: true }).decode(bytes);
  } catch (error) {
    if (error instanceof errors.StowageError || signal.aborted) throw error;
    throw new errors.BrokenBodyError({ cause: error });
  }
};

type BodyKind = 'json' | 'urlencoded' | 'multipart';

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

/** Parameters of a JSON body; an empty body and a list have none. @throws BrokenBodyError */
const parseJsonBody = (text: string, bounds: TextBounds): RawParameters => {
  if (text.trim() === '') return noParameters();
  let value: unknown;
  try {
    value = JSON.parse(text);
  } catch (cause) {
    throw new errors.BrokenBodyError({ message: 'The request body is not valid JSON.', cause });
  }
  if (typeof value !== 'object' || value === null)
    throw new errors.BrokenBodyError('The request body must be a JSON object.');
  return Array.isArray(value) ? noParameters() : fromObject(value, bounds).all();
};

/** The message for a body that the host has read, and stored where this service cannot find it. */
export const READ_BEFORE =
  'Something in this server has read the body before the request reached the connector. Mount the connector before it.';

/** Files that the host has parsed are received like those of a form. */
const receiveParsed = async ({ fields, files }: ParsedBody, { receiver, bounds }: FormReading) => {
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
        // This function is the only owner of the content, whether it was read, skipped or rejected.
        content.destroy();
      }
    }
    return { fields: seen.all(), uploads };
  } catch (error) {
    await Promise.all(uploads.map((upload) => upload.staged.discard()));
    throw error;
  }
};

/**
 * Reads a body by its content type; bodies of other types are left unread and have no parameters. A body that
 * the host has parsed is used as it is.
 * @throws BrokenBodyError, BodyTooLargeError, InvalidParametersError, and errors of the receiver.
 */
const readBody = async ({ request, edge }: RequestScope, reading: FormReading): Promise<FormContent> => {
  const { body, headers, parsedBody } = request;
  const contentType = headers['content-type'];
  if (parsedBody !== undefined) {
    if (parsedBody.isMissing && bodyKind(contentType) !== undefined)
      throw new errors.BrokenBodyError(READ_BEFORE);
    return receiveParsed(parsedBody, reading);
  }
  const kind = body === undefined ? undefined : bodyKind(contentType);
  if (body === undefined || kind === undefined) return { fields: noParameters(), uploads: [] };
  // Reading the signal creates it, which requests without a body do not need.
  const context: BodyContext = { headers, signal: request.signal, times: edge.times ?? bodyTimes };
  if (kind === 'multipart') {
    return readMultipart(body, context, reading);
  }
  if (hasForeignCharset(contentType)) throw new errors.BrokenBodyError('The request body must be UTF-8.');
  const { bounds } = edge;
  const text = await readBoundedText(body, context);
  return {
    fields: kind === 'json' ? parseJsonBody(text, bounds) : parseUrlencoded(text, bounds),
    uploads: [],
  };
};

/** Action, parameters and files of a request. The path wins over the query, which wins over the body. */
export interface RequestInput {
  readonly actionName: string | undefined;
  readonly parameters: RawParameters;
  readonly uploads: readonly UploadedFile[];
}

/**
 * Reads the parameters of a request and receives its files, which the scope owns from then on.
 * @throws RateLimitedError; AccessDeniedError before the body is read, when no content of it could make the
 *   action allowed.
 */
export const readInput = async (granted: GrantedRequest, target: Target): Promise<RequestInput> => {
  const { scope } = granted;
  const { actions, bounds } = scope.edge;
  const query = parseQuery(target.query, bounds);
  const actionName = target.action ?? actionParameter(query);
  scope.noteAction(actionName);
  if (actionName !== undefined && !granted.mayAllow(actionName)) throw new errors.AccessDeniedError();
  await granted.count(actionName);
  const receiver = (): UploadReceiver => new UploadReceiver(granted, query, actionName);
  const { fields, uploads } = await readBody(scope, { receiver, bounds });
  scope.uploads = uploads;
  scope.form.isRead = true;
  const named = actionName ?? actionParameter(fields) ?? target.prefix;
  const parameters = mergeParameters(query, fields);
  await granted.count(named, parameters);
  scope.language = parameters['language'];
  scope.editor = editorFor(actions.get(named ?? ''), parameters['responseType']);
  return { actionName: named, parameters, uploads };
};
