import * as z from 'zod';

declare module 'zod' {
  interface GlobalMeta {
    /** Most UTF-16 units of each text in this parameter, where it may be longer than names are. */
    readonly maxLength?: number;
  }
}

/**
 * Most UTF-16 units of a text of a request, and of its name, unless the schema of its parameter declares
 * another bound. Work that grows with the square of the length, such as Unicode normalization, stays below a
 * millisecond.
 */
export const MOST_UNITS = 1024;

/** Most UTF-16 units of the texts in a parameter, by its name; undefined for one that no action takes. */
export type TextBounds = (parameter: string) => number | undefined;

/** What a request says whatever its action is. */
const ALWAYS = ['action', 'source', 'path', 'language', 'responseType'];

interface Inner {
  readonly innerType?: z.core.$ZodType;
  readonly in?: z.core.$ZodType;
  readonly out?: z.core.$ZodType;
  readonly element?: z.core.$ZodType;
}

/** The bound that a schema, or what it wraps, declares. */
const declaredIn = (schema: z.core.$ZodType | undefined): number | undefined => {
  if (schema === undefined) return undefined;
  const own = z.globalRegistry.get(schema)?.maxLength;
  if (own !== undefined) return own;
  const inner = schema._zod.def as z.core.$ZodTypeDef & Inner;
  return (
    declaredIn(inner.innerType) ?? declaredIn(inner.in) ?? declaredIn(inner.out) ?? declaredIn(inner.element)
  );
};

/** The bounds that schemas of objects declare; of one name in several, the largest. */
export const textBoundsOf = (schemas: Iterable<z.core.$ZodType>): TextBounds => {
  const bounds = new Map(ALWAYS.map((name) => [name, MOST_UNITS]));
  for (const schema of schemas) {
    const shape = schema instanceof z.ZodObject ? (schema.shape as Record<string, z.core.$ZodType>) : {};
    for (const [name, field] of Object.entries(shape)) {
      bounds.set(name, Math.max(bounds.get(name) ?? MOST_UNITS, declaredIn(field) ?? 0));
    }
  }
  return (parameter) => bounds.get(parameter);
};
