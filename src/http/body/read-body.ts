import { BrokenBodyError } from '../../errors/errors.ts';
import { fromObject, noParameters, ParameterDraft, parseUrlencoded } from '../../parameters/raw.ts';
import type { UploadedFile } from '../../actions/uploaded-file.ts';
import type { ConnectorRequest, ParsedBody } from '../message.ts';
import { readBoundedText, type BodyContext } from './bounded-text.ts';
import { bodyKind, hasForeignCharset } from './content-type.ts';
import { parseJsonBody } from './json.ts';
import { bodyTimes, type BodyTimes } from './pour.ts';
import { readMultipart, type FileReceiver, type FormContent } from './multipart.ts';

const nothing = (): FormContent => ({ fields: noParameters(), uploads: [] });

/** Files that a host has received go the same way as those of a form that we read. */
const receiveParsed = async ({ fields, files }: ParsedBody, receiver: FileReceiver): Promise<FormContent> => {
  const parameters = typeof fields === 'object' && fields !== null ? fromObject(fields) : noParameters();
  const seen = ParameterDraft.of(parameters);
  const uploads: UploadedFile[] = [];
  try {
    for (const file of files) {
      const content = file.open();
      content.on('error', () => undefined);
      const { field, filename } = file;
      try {
        const upload = await receiver.receive({ field, filename, content, fields: seen });
        if (upload !== undefined) uploads.push(upload);
      } finally {
        // Read to its end, skipped or refused: nobody else closes it.
        content.destroy();
      }
    }
    return { fields: parameters, uploads };
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
 * Reads what a request's body says, by its content type; bodies of other types are left unread and say nothing. A body that
 * the host has read is taken as it was parsed.
 * `receiver` is asked for when the body is a form.
 * @throws BrokenBodyError, BodyTooLargeError, InvalidParametersError, and what the receiver throws.
 */
export const readBody = async (
  request: ConnectorRequest,
  receiver: () => FileReceiver,
  times: BodyTimes = bodyTimes,
): Promise<FormContent> => {
  if (request.parsedBody !== undefined) return receiveParsed(request.parsedBody, receiver());
  const { body, headers } = request;
  const contentType = headers['content-type'];
  const kind = body === undefined ? undefined : bodyKind(contentType);
  if (body === undefined || kind === undefined) return nothing();
  if (kind === 'multipart') return readMultipart(body, contextOf(request, times), receiver());
  if (hasForeignCharset(contentType)) throw new BrokenBodyError('The request body must be UTF-8.');
  const text = await readBoundedText(body, contextOf(request, times));
  return { fields: kind === 'json' ? parseJsonBody(text) : parseUrlencoded(text), uploads: [] };
};
