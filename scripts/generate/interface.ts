import { z } from 'zod';
import { createActions } from '../../packages/stowage/src/actions/registry.ts';
import type { Action } from '../../packages/stowage/src/actions/action.ts';
import type { JsonSchema } from './settings-schema.ts';

/** An action as clients see it. */
export interface DescribedAction extends Pick<
  Action,
  'name' | 'summary' | 'methods' | 'takesFiles' | 'filesAreOptional'
> {
  readonly answersEditors: Action['answersEditors'];
  /** What a client should send; the service takes more spellings than this. */
  readonly parameters: JsonSchema;
  /**
   * The shape of `data`, or the media type of the file that is answered; then `saved` is the shape of `data` where
   * the parameter `by` has the file saved instead.
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

/** A schema as zod gives it, with what clients should send in the place of all that is understood. */
const forClients = (schema: JsonSchema): JsonSchema => {
  const { sent, description, additionalProperties: values, $schema: _dialect, ...rest } = schema;
  const { properties, items, anyOf, ...plain } = rest;
  return {
    ...(description === undefined ? {} : { description }),
    ...((sent as JsonSchema | undefined) ?? {
      ...plain,
      ...(properties === undefined ? {} : { properties: eachProperty(properties) }),
      // That an object has no other members is no promise; what all members of a record are is one.
      ...(typeof values === 'object' && values.type !== undefined
        ? { additionalProperties: forClients(values) }
        : {}),
      ...(items === undefined ? {} : { items: forClients(items) }),
      ...(anyOf === undefined ? {} : { anyOf: anyOf.map(forClients) }),
    }),
  };
};

/** A schema as clients see it. */
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
  // Where texts are prepared first, only the schema itself knows whether it may be absent.
  const required = Object.entries(parameters.shape as Readonly<Record<string, z.ZodType>>)
    .filter(([, field]) => !field.safeParse(undefined).success)
    .map(([key]) => key);
  return required.length === 0 ? schema : { ...schema, required };
};

/** `fileRename` -> `FileRename`, as types are named. */
export const capitalised = (name: string): string => `${name.charAt(0).toUpperCase()}${name.slice(1)}`;

/** Every action of the registry, in its order. */
export const describedActions = (): readonly DescribedAction[] =>
  [...createActions().values()].map((action) => {
    const { name, summary, methods, takesFiles, filesAreOptional = false, answersEditors } = action;
    const parameters = parametersOf(action);
    const files = { takesFiles, filesAreOptional };
    return { name, summary, methods, ...files, answersEditors, parameters, answer: answerOf(action) };
  });
