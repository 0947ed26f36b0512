import { z } from 'zod';
import { settingMeta, settingsSchema, type SettingMeta } from '../../packages/stowage/src/config/settings.ts';

/** The part of JSON schema (draft 7) that the configuration needs. */
export interface JsonSchema {
  readonly type?: string | readonly string[];
  readonly description?: string;
  readonly default?: unknown;
  readonly deprecated?: boolean;
  readonly enum?: readonly unknown[];
  readonly anyOf?: readonly JsonSchema[];
  readonly items?: JsonSchema;
  readonly properties?: Readonly<Record<string, JsonSchema>>;
  readonly required?: readonly string[];
  readonly additionalProperties?: boolean | JsonSchema;
  readonly [keyword: string]: unknown;
}

/** A setting in the generated files. */
export interface DocumentedSetting {
  readonly key: string;
  readonly meta: SettingMeta;
  readonly schema: JsonSchema;
}

const withoutBounds = (schema: JsonSchema): JsonSchema =>
  // "At most the largest safe integer" does not inform a reader.
  schema['maximum'] === Number.MAX_SAFE_INTEGER
    ? Object.fromEntries(Object.entries(schema).filter(([keyword]) => keyword !== 'maximum'))
    : schema;

const tidy = (schema: JsonSchema): JsonSchema => {
  const inner = withoutBounds(schema);
  return {
    ...inner,
    ...(inner.properties === undefined
      ? {}
      : {
          properties: Object.fromEntries(
            Object.entries(inner.properties).map(([key, property]) => [key, tidy(property)]),
          ),
        }),
  };
};

/** JSON schema of the input of a zod schema. */
export const writtenSchema = (schema: z.ZodType): JsonSchema => {
  const { $schema: _dialect, ...rest } = z.toJSONSchema(schema, { io: 'input', target: 'draft-7' });
  return tidy(rest as JsonSchema);
};

const defaults: Readonly<Record<string, unknown>> = settingsSchema.parse({});

const withDefault = (key: string, schema: JsonSchema): JsonSchema =>
  // Lists whose entries are converted lose their default in the conversion to JSON schema.
  schema.default === undefined && defaults[key] !== undefined
    ? { ...schema, default: defaults[key] }
    : schema;

/** All settings, in the order of the reference page. */
export const documentedSettings = (): readonly DocumentedSetting[] => {
  const { properties = {} } = writtenSchema(settingsSchema);
  return Object.entries(settingsSchema.shape).map(([key, zodSchema]) => {
    const meta = settingMeta.get(zodSchema);
    const schema = properties[key];
    if (meta === undefined || schema === undefined) throw new Error(`The setting ${key} is not documented.`);
    return { key, meta, schema: withDefault(key, schema) };
  });
};
