import { errorTable } from '../../packages/stowage/src/errors/table.ts';
import {
  editorErrorSchema,
  editorListingSchema,
  editorUploadSchema,
} from '../../packages/stowage/src/actions/editor-responses.ts';
import { itemsDoneSchema } from '../../packages/stowage/src/actions/many.ts';
import { capitalised, describedActions, schemaOf, type DescribedAction } from './interface.ts';
import { tusPaths } from './openapi-tus.ts';
import type { JsonSchema } from './settings-schema.ts';

/** A part of the description that is not a schema. */
type Part = Readonly<Record<string, unknown>>;

/** The version of the interface, not of the package. */
const INTERFACE_VERSION = '0.1.1';

const reference = (kind: string, name: string): JsonSchema => ({ $ref: `#/components/${kind}/${name}` });

const parametersName = (name: string): string => `${capitalised(name)}Parameters`;
const dataName = (name: string): string => `${capitalised(name)}Data`;

const success = (data: JsonSchema): JsonSchema => ({
  type: 'object',
  properties: { success: { const: true }, data },
  required: ['success', 'data'],
});

const withCode = (data: JsonSchema): JsonSchema => ({
  ...data,
  properties: { code: { const: 220 }, ...data.properties },
  required: ['code', ...(data.required ?? [])],
});

const fileBody = { type: 'string', contentMediaType: 'application/octet-stream' };

const answered = ({ name, answer, editorResponses }: DescribedAction): JsonSchema => {
  const results = 'data' in answer ? answer.data.properties?.['results'] : undefined;
  const done = success(reference('schemas', dataName(name)));
  const others = [
    ...(results === undefined ? [] : [reference('schemas', 'SeveralError')]),
    ...(editorResponses === undefined ? [] : [reference('schemas', `Editor${capitalised(editorResponses)}`)]),
    // CKEditor gets failures with status 200.
    ...(editorResponses === 'upload' ? [reference('schemas', 'EditorError')] : []),
  ];
  return others.length === 0 ? done : { anyOf: [done, ...others] };
};

const succeeded = (action: DescribedAction): Part => {
  const { name, answer } = action;
  if (!('contentType' in answer))
    return { description: 'Success.', content: { 'application/json': { schema: answered(action) } } };
  const { contentType, saved } = answer;
  const file = { [contentType]: { schema: fileBody } };
  return {
    description: `The file${contentType === 'image/*' ? '' : ', as an attachment'}${saved === undefined ? '' : `; with \`${saved.by}\`, the stored file`}.`,
    headers: {
      'Content-Disposition': { schema: { type: 'string' }, ...(saved ? {} : { required: true }) },
    },
    content:
      saved === undefined
        ? file
        : { ...file, 'application/json': { schema: success(reference('schemas', dataName(name))) } },
  };
};

const unchanged = { description: 'The copy that `If-None-Match` names is still current. Without a body.' };

/** Responses to `Range` and to the copies of clients. */
const partial = ({ answer, changes }: DescribedAction, method: 'get' | 'post'): Part => {
  if ('data' in answer) return changes || method === 'post' ? {} : { 304: unchanged };
  if (answer.saved !== undefined) return {};
  const content = { [answer.contentType]: { schema: fileBody } };
  return { 206: { description: 'The part that `Range` names.', content }, 304: unchanged };
};

const responses = (action: DescribedAction, method: 'get' | 'post'): Part => ({
  200: succeeded(action),
  ...partial(action, method),
  default: reference('responses', action.editorResponses === undefined ? 'Error' : 'EditorsError'),
});

/** Objects are written with brackets: `mods[limit]=5`. */
const queryParameters = ({ properties = {}, required = [] }: JsonSchema): readonly Part[] =>
  Object.entries(properties).map(([name, schema]) => ({
    name,
    in: 'query',
    ...(required.includes(name) ? { required: true } : {}),
    ...(schema.type === 'object' ? { style: 'deepObject', explode: true } : {}),
    schema,
  }));

const ownSchemas = ({
  name,
  takesFiles,
  filesAreOptional = false,
  parameters,
  answer,
}: DescribedAction): readonly [string, JsonSchema][] => {
  const data = 'data' in answer ? answer.data : answer.saved?.data;
  return [
    [parametersName(name), takesFiles ? withFiles(parameters, filesAreOptional) : parameters],
    ...(data === undefined ? [] : [[dataName(name), withCode(data)] as [string, JsonSchema]]),
  ];
};

const withFiles = (parameters: JsonSchema, areOptional: boolean): JsonSchema => ({
  ...parameters,
  properties: { ...parameters.properties, 'files[0]': { ...fileBody, description: 'The first file.' } },
  patternProperties: { '^files\\[\\d+\\]$': fileBody },
  required: [...(parameters.required ?? []), ...(areOptional ? [] : ['files[0]'])],
});

const bracketed = ({ properties = {} }: JsonSchema): Part => {
  const names = Object.entries(properties).filter(([, { type }]) => type === 'object');
  return names.length === 0
    ? {}
    : { encoding: Object.fromEntries(names.map(([name]) => [name, { style: 'deepObject', explode: true }])) };
};

const bodyOf = ({ name, takesFiles, filesAreOptional = false, parameters }: DescribedAction): Part => {
  const plain = { schema: reference('schemas', parametersName(name)) };
  const form = { ...plain, ...bracketed(parameters) };
  const needsForm = takesFiles && !filesAreOptional;
  const content = needsForm
    ? { 'multipart/form-data': plain }
    : { 'application/json': plain, 'application/x-www-form-urlencoded': form, 'multipart/form-data': form };
  return { required: needsForm || (parameters.required ?? []).length > 0, content };
};

const pathOf = (action: DescribedAction): Part => {
  const { name, summary, methods, takesFiles } = action;
  const post = {
    operationId: name,
    summary,
    requestBody: bodyOf(action),
    responses: responses(action, 'post'),
  };
  // Files are sent in a body: a GET could only report that they are missing.
  if (!methods.includes('GET') || takesFiles) return { post };
  const get = {
    operationId: `${name}ByQuery`,
    summary,
    parameters: queryParameters(action.parameters),
    responses: responses(action, 'get'),
  };
  return { get, post };
};

const rootPath = (actions: readonly DescribedAction[]): Part => {
  const parameters = [
    {
      name: 'action',
      in: 'query',
      required: true,
      description: 'In a POST it may also be in the body; the query takes precedence.',
      schema: { type: 'string', enum: actions.map(({ name }) => name) },
    },
  ];
  const summary = 'Runs the action that the parameter `action` names.';
  const answers = {
    200: { description: 'The response of the action.' },
    default: reference('responses', 'Error'),
  };
  return {
    get: { operationId: 'actionByQuery', summary, parameters, responses: answers },
    post: { operationId: 'action', summary, parameters, responses: answers },
  };
};

const pingPath: Part = {
  get: {
    operationId: 'ping',
    summary: 'Reports that the service is running.',
    responses: {
      200: {
        description: 'The service is running.',
        content: {
          'application/json': {
            schema: { type: 'object', properties: { success: { const: true } }, required: ['success'] },
          },
        },
      },
      default: reference('responses', 'Error'),
    },
  },
};

const errorStatuses = (): readonly number[] =>
  [...new Set(Object.values(errorTable).map(({ status }) => status))].sort((one, other) => one - other);

const errorSchema = (more: JsonSchema = {}): JsonSchema => ({
  ...(more.description === undefined ? {} : { description: more.description }),
  type: 'object',
  properties: {
    success: { const: false },
    data: {
      type: 'object',
      properties: {
        code: {
          type: 'integer',
          description: `The status: ${errorStatuses().join(', ')}, or one that a hook of the host has set.`,
        },
        error: {
          type: 'string',
          enum: Object.keys(errorTable),
          description: 'The cause, for programs. Its name is stable; messages may change.',
        },
        messages: {
          type: 'array',
          items: { type: 'string' },
          description:
            'For the user, in the language that the request asks for. For 400 one message for each problem.',
        },
        details: {
          type: 'object',
          additionalProperties: { type: ['string', 'number'] },
          description: 'The values in the messages, such as `name` and `limit`.',
        },
        ...more.properties,
      },
      required: ['code', 'error', 'messages', ...Object.keys(more.properties ?? {})],
    },
  },
  required: ['success', 'data'],
});

/** The interface description (OpenAPI 3.1). */
export const openApi = (): Part => {
  const actions = describedActions();
  return {
    openapi: '3.1.1',
    info: {
      title: 'Stowage',
      version: INTERFACE_VERSION,
      summary: 'Connector for the file browser and uploader of a web editor',
      description:
        'Each action has a path; alternatively the parameter `action` at the root names it. Parameters are ' +
        'sent in the query or the body.',
      license: { name: 'MIT', identifier: 'MIT' },
    },
    servers: [{ url: 'http://localhost:8081', description: 'A service on this machine.' }],
    security: [],
    paths: {
      '/ping': pingPath,
      '/': rootPath(actions),
      ...Object.fromEntries(actions.map((action) => [`/${action.name}`, pathOf(action)])),
      ...tusPaths,
    },
    components: {
      responses: {
        Error: {
          description: 'Failure. The status line has the same number as the body.',
          content: { 'application/json': { schema: reference('schemas', 'Error') } },
        },
        EditorsError: {
          description: 'Failure. With `responseType=ckeditor` the status is always 200.',
          content: {
            'application/json': {
              schema: { anyOf: [reference('schemas', 'Error'), reference('schemas', 'EditorError')] },
            },
          },
        },
      },
      schemas: {
        Error: errorSchema(),
        SeveralError: errorSchema({
          ...schemaOf(itemsDoneSchema, 'output'),
          description:
            'Some of several items have failed. The cause is that of the first failure; the status is 200.',
        }),
        EditorUpload: {
          description: 'With `responseType`: the response to an upload in the format of that editor.',
          ...schemaOf(editorUploadSchema, 'output'),
        },
        EditorListing: {
          description:
            'With `responseType`: the listing in the format of the picture browser of that editor.',
          ...schemaOf(editorListingSchema, 'output'),
        },
        EditorError: {
          description: 'With `responseType`: a failure in the format of that editor.',
          ...schemaOf(editorErrorSchema, 'output'),
        },
        ...Object.fromEntries(actions.flatMap(ownSchemas)),
      },
    },
  };
};
