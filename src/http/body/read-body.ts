import { BrokenBodyError } from '../../errors/errors.ts';
import { fromObject, parseUrlencoded } from '../../parameters/brackets.ts';
import { noParameters } from '../../parameters/raw.ts';
import type { UploadedFile } from '../../actions/uploaded-file.ts';
import { FormFields } from '../../parameters/form-fields.ts';
import type { ConnectorRequest, ParsedBody } from '../message.ts';
import { readBoundedText } from './bounded-text.ts';
import { bodyKind, hasForeignCharset } from './content-type.ts';
import { parseJsonBody } from './json.ts';
import { readMultipart, type FileReceiver, type FormContent } from './multipart.ts';

const nothing = (): FormContent => ({ fields: noParameters(), uploads: [] });

/** Files that a host has received go the same way as those of a form that we read. */
const receiveParsed = async ({ fields, files }: ParsedBody, receiver: FileReceiver): Promise<FormContent> => {
  const parameters = typeof fields === 'object' && fields !== null ? fromObject(fields) : noParameters();
  const seen = FormFields.of(parameters);
  const uploads: UploadedFile[] = [];
  try {
    for (const file of files) {
      const content = file.open();
      content.on('error', () => undefined);
      const { field, filename } = file;
      const upload = await receiver.receive({ field, filename, content, fields: seen });
      if (upload === undefined) content.destroy();
      else uploads.push(upload);
    }
    return { fields: parameters, uploads };
  } catch (error) {
    await Promise.all(uploads.map((upload) => upload.staged.discard()));
    throw error;
  }
};

/**
 * Reads what a request's body says, by its content type; bodies of other types are left unread and say nothing. A body that
 * the host has read is taken as it was parsed.
 * `receiver` is asked for when the body is a form.
 * @throws BrokenBodyError, BodyTooLargeError, InvalidParametersError, and what the receiver throws.
 */
export const readBody = async (
  request: ConnectorRequest,
  receiver: () => FileReceiver,
): Promise<FormContent> => {
  if (request.parsedBody !== undefined) return receiveParsed(request.parsedBody, receiver());
  const { body, headers } = request;
  const contentType = headers['content-type'];
  const kind = body === undefined ? undefined : bodyKind(contentType);
  if (body === undefined || kind === undefined) return nothing();
  if (kind === 'multipart') return readMultipart(body, request, receiver());
  if (hasForeignCharset(contentType)) throw new BrokenBodyError('The request body must be UTF-8.');
  const text = await readBoundedText(body, request);
  return { fields: kind === 'json' ? parseJsonBody(text) : parseUrlencoded(text), uploads: [] };
};
