import type { UploadedFile } from '../../changes/uploaded-file.ts';
import { BrokenBodyError } from '../../errors/errors.ts';
import { fromObject, noParameters, parseUrlencoded, type RawParameters } from '../../parameters/raw.ts';
import type { TextBounds } from '../../parameters/text-bounds.ts';
import type { ConnectorRequest, ParsedBody } from '../message.ts';
import { type BodyContext, readBoundedText } from './bounded-text.ts';
import type { FormContent, FormReading } from './multipart.ts';
import { bodyTimes, type BodyTimes } from './pour.ts';

/** The kinds of bodies that carry parameters. */
export type BodyKind = 'json' | 'urlencoded' | 'multipart';

/** What a body is by its `Content-Type`; undefined: it carries no parameters. */
const bodyKind = (contentType: string | undefined): BodyKind | undefined => {
  if (contentType === undefined) return undefined;
  const end = contentType.indexOf(';');
  const type = (end === -1 ? contentType : contentType.slice(0, end)).trim().toLowerCase();
  if (type === 'application/x-www-form-urlencoded') return 'urlencoded';
  if (type === 'multipart/form-data') return 'multipart';
  return type === 'application/json' || /^application\/[^/]+\+json$/u.test(type) ? 'json' : undefined;
};

/** Whether a charset is named that is not UTF-8. */
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
  if (typeof value !== 'object' || value === null) {
    throw new BrokenBodyError('The request body must be a JSON object.');
  }
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
        const upload = await taker.receive({ field, filename, content, fields: seen });
        if (upload !== undefined) uploads.push(upload);
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
    const { readMultipart } = await import('./multipart.ts');
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
