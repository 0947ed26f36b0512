import * as z from 'zod';

export type Schemas = readonly z.core.$ZodType[];

/** The alternative schemas of a value, without defaults, optional marks and conversions. */
export const alternativesOf = (schema: z.core.$ZodType): Schemas => {
  if (
    schema instanceof z.ZodDefault ||
    schema instanceof z.ZodPrefault ||
    schema instanceof z.ZodOptional ||
    schema instanceof z.ZodNullable
  )
    return alternativesOf(schema.unwrap());
  if (schema instanceof z.ZodPipe) return alternativesOf(schema.in);
  if (schema instanceof z.ZodUnion) return schema.options.flatMap(alternativesOf);
  return [schema];
};

/** The schemas for a key of an object, or an entry of a list. */
export const below = (schemas: Schemas, key: string): Schemas =>
  schemas.flatMap((schema) => {
    if (schema instanceof z.ZodObject) {
      const inner: unknown = Object.hasOwn(schema.shape, key) ? schema.shape[key] : undefined;
      return inner instanceof z.ZodType ? alternativesOf(inner) : [];
    }
    if (schema instanceof z.ZodRecord) return alternativesOf(schema.valueType);
    return schema instanceof z.ZodArray ? alternativesOf(schema.element) : [];
  });

const takesAll = (schema: z.core.$ZodType): boolean => schema instanceof z.ZodUnknown;

/** The valid keys of the object at a path; undefined where any key is accepted. */
export const keysAt = (
  schema: z.core.$ZodType,
  path: readonly PropertyKey[],
): readonly string[] | undefined => {
  const found = path.reduce<Schemas>(
    (schemas, key) => (schemas.some(takesAll) ? schemas : below(schemas, String(key))),
    alternativesOf(schema),
  );
  if (found.some(takesAll)) return undefined;
  return found.flatMap((one) => (one instanceof z.ZodObject ? Object.keys(one.shape) : []));
};
