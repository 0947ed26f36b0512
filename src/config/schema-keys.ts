import { z } from 'zod';

/** The schema beneath defaults and optional marks. */
const innerSchema = (schema: z.core.$ZodType): z.core.$ZodType =>
  schema instanceof z.ZodDefault || schema instanceof z.ZodPrefault || schema instanceof z.ZodOptional
    ? innerSchema(schema.unwrap())
    : schema;

/** The keys that a schema knows for the object at a path, none where it knows none. */
export const keysAt = (schema: z.core.$ZodType, path: readonly PropertyKey[]): readonly string[] => {
  const inner = innerSchema(schema);
  if (!(inner instanceof z.ZodObject)) return [];
  const [key, ...rest] = path;
  if (key === undefined) return Object.keys(inner.shape);
  const child: unknown = Object.hasOwn(inner.shape, key) ? inner.shape[String(key)] : undefined;
  return child instanceof z.ZodType ? keysAt(child, rest) : [];
};
