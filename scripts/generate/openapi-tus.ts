import type { JsonSchema } from './settings-schema.ts';

type Part = Readonly<Record<string, unknown>>;

const text = (description: string): Part => ({ description, schema: { type: 'string' } });
const bytes = (description: string): Part => ({ description, schema: { type: 'integer', minimum: 0 } });
const inHeader = (name: string, value: Part): Part => ({ name, in: 'header', required: true, ...value });

const version = inHeader('Tus-Resumable', { schema: { const: '1.0.0' } });
const content = { 'application/offset+octet-stream': {} };
const error = { $ref: '#/components/responses/Error' };
const answer: JsonSchema = {
  type: 'object',
  properties: { success: { const: true }, data: { $ref: '#/components/schemas/FileUploadData' } },
  required: ['success', 'data'],
};

/** Resumable uploads: not an action, and only with the setting `tus`. The protocol defines the rest. */
export const tusPaths: Part = {
  '/tus': {
    post: {
      operationId: 'tusCreate',
      summary: 'Begins an upload in parts (tus 1.0), if the setting `tus` is on.',
      externalDocs: { url: 'https://tus.io/protocols/resumable-upload' },
      parameters: [
        version,
        inHeader('Upload-Length', bytes('Bytes of the whole file.')),
        inHeader(
          'Upload-Metadata',
          text('Keys with values in Base64: `filename` or `name`, and `source` and `path` as in fileUpload.'),
        ),
      ],
      requestBody: { description: 'The first part, if any.', required: false, content },
      responses: {
        '201': {
          description: 'The upload has begun. If it is complete, the response is that of fileUpload.',
          headers: {
            Location: text('Address of the upload, relative to this one.'),
            'Upload-Offset': bytes('Number of received bytes.'),
            'Upload-Expires': text('Time at which the unfinished upload is removed.'),
          },
          content: { 'application/json': { schema: answer } },
        },
        default: error,
      },
    },
  },
  '/tus/{id}': {
    parameters: [
      { name: 'id', in: 'path', required: true, schema: { type: 'string', pattern: '^[0-9a-f]{40}$' } },
      version,
    ],
    head: {
      operationId: 'tusOffset',
      summary: 'Returns the offset at which an upload continues.',
      responses: {
        '200': {
          description: 'The upload exists.',
          headers: {
            'Upload-Offset': bytes(
              'Number of received bytes. If it is the size of the file, the file is stored.',
            ),
            'Upload-Length': bytes('Bytes of the whole file.'),
          },
        },
        default: { description: 'The upload does not exist (404), or cannot be stored now. Without a body.' },
      },
    },
    patch: {
      operationId: 'tusContinue',
      summary: 'Adds bytes to an upload.',
      parameters: [inHeader('Upload-Offset', bytes('Offset of the bytes, as returned by HEAD.'))],
      requestBody: { required: true, content },
      responses: {
        '200': {
          description:
            'The last byte has arrived and the file is stored. The response is that of fileUpload.',
          content: { 'application/json': { schema: answer } },
        },
        '204': {
          description: 'The bytes are stored; the upload is not complete.',
          headers: { 'Upload-Offset': bytes('Number of received bytes.') },
        },
        default: error,
      },
    },
    delete: {
      operationId: 'tusRemove',
      summary: 'Removes an unfinished upload.',
      responses: { '204': { description: 'The upload was removed.' }, default: error },
    },
  },
};
