import { optionsSchemas } from '../../packages/stowage/src/adapters/table.ts';
import {
  documentedSettings,
  writtenSchema,
  type DocumentedSetting,
  type JsonSchema,
} from './settings-schema.ts';

type Properties = Readonly<Record<string, JsonSchema>>;

const adapterNames = Object.keys(optionsSchemas);

const REFERENCE: JsonSchema = { $ref: '#/definitions/reference' };
const isText = ({ type, enum: values }: JsonSchema): boolean => type === 'string' && values === undefined;

/** A text, or a reference to one. */
const orReference = (schema: JsonSchema): JsonSchema => {
  if (schema.anyOf?.some(isText) === true) return { ...schema, anyOf: [...schema.anyOf, REFERENCE] };
  if (!isText(schema)) return schema;
  const { description, default: value, ...text } = schema;
  return {
    ...(description === undefined ? {} : { description }),
    ...(value === undefined ? {} : { default: value }),
    anyOf: [text, REFERENCE],
  };
};

const orNull = (written: JsonSchema): JsonSchema => {
  const schema = orReference(written);
  const { properties } = schema;
  const inner = properties === undefined ? schema : { ...schema, properties: orNullEach(properties) };
  if (inner.enum !== undefined) return { ...inner, type: ['string', 'null'], enum: [...inner.enum, null] };
  if (inner.anyOf !== undefined) {
    return inner.anyOf.some(({ type }) => type === 'null')
      ? inner
      : { ...inner, anyOf: [...inner.anyOf, { type: 'null' }] };
  }
  return { ...inner, type: [inner.type ?? 'object', 'null'].flat() };
};

/** Null means the default of every key, at every depth. */
const orNullEach = (properties: Properties): Properties =>
  Object.fromEntries(Object.entries(properties).map(([key, schema]) => [key, orNull(schema)]));

const described = ({ key, meta, schema }: DocumentedSetting): readonly [string, JsonSchema] => [
  key,
  {
    description: meta.meaning,
    ...(meta.unused === true ? { deprecated: true } : {}),
    ...schema,
  },
];

const reference = ({ key }: DocumentedSetting): readonly [string, JsonSchema] => [
  key,
  { $ref: `#/definitions/settings/properties/${key}` },
];

const PUBLIC_URL = '^([Hh][Tt][Tt][Pp][Ss]?://[^/\\\\\\s]|/(?![/\\\\]))';

const ownProperties: Properties = {
  name: {
    type: ['string', 'null'],
    minLength: 1,
    description: 'Name used in requests; the key when absent.',
  },
  title: { anyOf: [{ type: 'string' }, REFERENCE], description: 'Name shown in the browser.' },
  baseurl: {
    anyOf: [{ type: 'string', pattern: PUBLIC_URL }, REFERENCE, { type: 'null' }],
    description:
      'Public URL of the source root, or its path (`/photos/`); file links and thumbnails are built from it. Required unless the service serves the files itself (`serve`).',
  },
  baseurlAliases: {
    type: ['array', 'null'],
    items: { type: 'string', pattern: PUBLIC_URL },
    description: 'Other public URLs of the source root, for links to files that are recognised as its own.',
  },
  root: {
    anyOf: [{ type: 'string' }, REFERENCE, { type: 'null' }],
    description: 'Directory of a local source; a virtual prefix with other adapters.',
  },
  storageAdapter: {
    type: ['string', 'null'],
    minLength: 1,
    default: 'local',
    examples: ['local', ...adapterNames],
    description: `${['local', ...adapterNames].join(', ')}, or the name of a registered adapter.`,
  },
};

const adapterProperties = (): Properties => ({
  ...Object.fromEntries(
    Object.entries(optionsSchemas).map(([adapter, schema]) => {
      const written = writtenSchema(schema);
      const properties = orNullEach(written.properties ?? {});
      return [adapter, { description: `Options of the ${adapter} adapter.`, ...written, properties }];
    }),
  ),
});

const whenAdapter = (adapter: string, key: string): JsonSchema => ({
  if: { properties: { storageAdapter: { const: adapter } }, required: ['storageAdapter'] },
  then: { required: [key] },
});

const sourceSchema = (settings: readonly DocumentedSetting[]): JsonSchema => ({
  type: 'object',
  properties: {
    ...ownProperties,
    ...adapterProperties(),
    ...Object.fromEntries(settings.filter(({ key }) => !(key in ownProperties)).map(reference)),
  },
  required: ['title'],
  allOf: [
    ...adapterNames.map((name) => whenAdapter(name, name)),
    whenAdapter('local', 'root'),
    { if: { not: { required: ['storageAdapter'] } }, then: { required: ['root'] } },
  ],
  // A registered adapter has its options under its own name, which is unknown here.
  additionalProperties: { type: 'object' },
});

/** The JSON schema (draft 7) of a configuration file, for editors and for checks before a deployment. */
export const configSchema = (): JsonSchema => {
  const settings = documentedSettings();
  return {
    $schema: 'http://json-schema.org/draft-07/schema#',
    title: 'Configuration of Stowage',
    description: 'Only what differs from the defaults is written. Null keeps a default.',
    type: 'object',
    properties: {
      $schema: {
        type: 'string',
        description: 'Address of this schema, for editors. Ignored by the service.',
      },
      sources: {
        type: ['object', 'null'],
        description:
          'Sources by their names. Without it, one named default is built from SOURCE_NAME, SOURCE_ROOT and SOURCE_BASEURL.',
        additionalProperties: { $ref: '#/definitions/source' },
      },
      ...Object.fromEntries(settings.map(reference)),
    },
    additionalProperties: false,
    definitions: {
      reference: {
        description: 'A text that stands in an environment variable or a file.',
        type: 'object',
        properties: { env: { type: 'string' }, file: { type: 'string' } },
        minProperties: 1,
        maxProperties: 1,
        additionalProperties: false,
      },
      settings: { properties: orNullEach(Object.fromEntries(settings.map(described))) },
      source: sourceSchema(settings),
    },
  };
};
