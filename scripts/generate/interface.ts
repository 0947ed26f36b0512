import { z } from 'zod';
import { createActions } from '../../packages/stowage/src/actions/registry.ts';
import type { Action } from '../../packages/stowage/src/actions/action.ts';
import type { JsonSchema } from './settings-schema.ts';

/** The public description of an action. */
export interface DescribedAction extends Pick<
  Action,
  'name' | 'summary' | 'methods' | 'changes' | 'takesFiles' | 'filesAreOptional'
> {
  readonly editorResponses: Action['editorResponses'];
  /** The recommended format of parameters; the service accepts more variants. */
  readonly parameters: JsonSchema;
  /**
   * The shape of `data`, or the media type of the returned file; then `saved` is the shape of `data` for
   * requests with the parameter `by`, which save the file instead.
   */
  readonly answer:
    | { readonly data: JsonSchema }
    | { readonly contentType: string; readonly saved?: { readonly by: string; readonly data: JsonSchema } };
}

type Properties = Readonly<Record<string, JsonSchema>>;

const eachProperty = (properties: Properties): Properties =>
  Object.fromEntries(
    Object.entries(properties)
      .filter(([, { sent }]) => sent !== false)
      .map(([name, schema]) => [name, forClients(schema)]),
  );

/** Converts a schema from zod: the recommended format (`sent`) replaces all accepted variants. */
const forClients = (schema: JsonSchema): JsonSchema => {
  const { sent, description, additionalProperties: values, $schema: _dialect, ...rest } = schema;
  const { properties, items, anyOf, ...plain } = rest;
  return {
    ...(description === undefined ? {} : { description }),
    ...((sent as JsonSchema | undefined) ?? {
      ...plain,
      ...(properties === undefined ? {} : { properties: eachProperty(properties) }),
      // `additionalProperties: false` is not a promise and is left out; the type of a record's values is one.
      ...(typeof values === 'object' && values.type !== undefined
        ? { additionalProperties: forClients(values) }
        : {}),
      ...(items === undefined ? {} : { items: forClients(items) }),
      ...(anyOf === undefined ? {} : { anyOf: anyOf.map(forClients) }),
    }),
  };
};

/** The public form of a schema. */
export const schemaOf = (schema: z.ZodType, io: 'input' | 'output'): JsonSchema =>
  forClients(z.toJSONSchema(schema, { io, unrepresentable: 'any' }) as JsonSchema);

const answerOf = ({ result, changesWith: by = '' }: Action): DescribedAction['answer'] => {
  if (!('contentType' in result)) return { data: schemaOf(result, 'output') };
  const { contentType, data } = result;
  return { contentType, ...(data === undefined ? {} : { saved: { by, data: schemaOf(data, 'output') } }) };
};

const parametersOf = ({ name, parameters }: Action): JsonSchema => {
  if (!(parameters instanceof z.ZodObject)) throw new Error(`The parameters of ${name} are no object.`);
  const { required: _claimed, ...schema } = schemaOf(parameters, 'input');
  // For fields with preprocessing, only the schema itself shows whether they are optional.
  const required = Object.entries(parameters.shape as Readonly<Record<string, z.ZodType>>)
    .filter(([, field]) => !field.safeParse(undefined).success)
    .map(([key]) => key);
  return required.length === 0 ? schema : { ...schema, required };
};

/** Name of a type: `fileRename` -> `FileRename`. */
export const capitalised = (name: string): string => `${name.charAt(0).toUpperCase()}${name.slice(1)}`;

/** Every action of the registry, in its order. */
export const describedActions = (): readonly DescribedAction[] =>
  [...createActions().values()].map((action) => {
    const { name, summary, methods, changes, takesFiles, filesAreOptional = false, editorResponses } = action;
    const parameters = parametersOf(action);
    const files = { takesFiles, filesAreOptional };
    return {
      name,
      summary,
      methods,
      changes,
      ...files,
      editorResponses,
      parameters,
      answer: answerOf(action),
    };
  });
