import * as z from 'zod';
import { InvalidParametersError, StowageError, UnprocessableError } from '../errors/errors.ts';
import { MOST_PATH_UNITS, segmentOf, SourcePath } from '../storage/source-path.ts';

/** User-facing names of the parameters that users fill in. */
const WORDS: ReadonlyMap<string, string> = new Map([
  ['name', 'The name'],
  ['newname', 'The new name'],
  ['path', 'The folder'],
  ['from', 'The item'],
  ['url', 'The address'],
  ['html', 'The document'],
  ['box', 'The box'],
  ['box[w]', 'The width'],
  ['box[h]', 'The height'],
  ['box[x]', 'The left edge'],
  ['box[y]', 'The top edge'],
]);

/** A parameter as requests write it: `mods[limit]`. */
export const nameOf = ([first = 'parameters', ...rest]: readonly PropertyKey[]): string =>
  String(first) + rest.map((key) => `[${String(key)}]`).join('');

/**
 * The message for an invalid parameter: a sentence where users fill it in; with the parameter's name where
 * the client sets it, such as `mods[limit]: must be a number`.
 */
const problemOf = ([first = 'parameters', ...rest]: readonly PropertyKey[], message: string): string => {
  if (message.endsWith('.')) return message;
  const name = nameOf([first, ...rest]);
  const words = WORDS.get(name);
  return words === undefined ? `${name}: ${message}` : `${words} ${message}.`;
};

/** The error for one parameter. @see problemOf */
export const invalidParameter = (parameter: string, problem: string): InvalidParametersError =>
  new InvalidParametersError({
    message: problemOf([parameter], problem),
    details: { parameters: parameter },
  });

declare module 'zod' {
  interface GlobalMeta {
    /** Maximum UTF-16 units of each text in this parameter, where it may be longer than a name. */
    readonly maxLength?: number;
    /** JSON schema of the values that clients should send, if the schema accepts more; false: none. */
    readonly sent?: Readonly<Record<string, unknown>> | false;
  }
}

/**
 * Maximum UTF-16 units of a text and of a parameter name, unless the parameter's schema declares another
 * bound. Keeps work of quadratic cost, such as Unicode normalization, below a millisecond.
 */
export const MOST_UNITS = 1024;

/** Maximum UTF-16 units of the texts in a parameter, by its name; undefined for an unknown parameter. */
export type TextBounds = (parameter: string) => number | undefined;

/** Parameters that are common to all actions. */
const ALWAYS = ['action', 'source', 'path', 'language', 'responseType'];

interface Inner {
  readonly innerType?: z.core.$ZodType;
  readonly in?: z.core.$ZodType;
  readonly out?: z.core.$ZodType;
  readonly element?: z.core.$ZodType;
}

/** The bound that a schema, or a schema inside it, declares. */
const declaredIn = (schema: z.core.$ZodType | undefined): number | undefined => {
  if (schema === undefined) return undefined;
  const own = z.globalRegistry.get(schema)?.maxLength;
  if (own !== undefined) return own;
  const inner = schema._zod.def as z.core.$ZodTypeDef & Inner;
  return (
    declaredIn(inner.innerType) ?? declaredIn(inner.in) ?? declaredIn(inner.out) ?? declaredIn(inner.element)
  );
};

/** The bounds that object schemas declare; for a name in several schemas the largest. */
export const textBoundsOf = (schemas: Iterable<z.core.$ZodType>): TextBounds => {
  const bounds = new Map(ALWAYS.map((name) => [name, MOST_UNITS]));
  for (const schema of schemas) {
    const shape = schema instanceof z.ZodObject ? (schema.shape as Record<string, z.core.$ZodType>) : {};
    for (const [name, field] of Object.entries(shape))
      bounds.set(name, Math.max(bounds.get(name) ?? MOST_UNITS, declaredIn(field) ?? 0));
  }
  return (parameter) => bounds.get(parameter);
};

/** Maximum number of problems whose parameters the details name. */
const MOST_NAMED = 10;

const KINDS: Readonly<Record<string, string>> = {
  string: 'a text',
  number: 'a number',
  boolean: 'true or false',
  object: 'a set of values',
  array: 'a list',
};

/** Plain messages for type errors of the schema library; undefined keeps its own message. */
const plainWords: z.core.$ZodErrorMap = (issue) => {
  if (issue.code === 'invalid_union') return issue.errors.at(-1)?.[0]?.message;
  if (issue.code !== 'invalid_type') return undefined;
  // The name occurs several times in a query or form.
  if (issue.expected === 'string' && Array.isArray(issue.input)) return 'must be given only once';
  return issue.input === undefined ? 'is required' : `must be ${KINDS[issue.expected] ?? issue.expected}`;
};

/**
 * Checks raw parameters against an action's schema.
 * @throws InvalidParametersError with one message per problem; code UNPROCESSABLE (422) when an issue has
 * `params.unprocessable`
 */
export const parseParameters = <Schema extends z.ZodType>(
  schema: Schema,
  raw: Readonly<Record<string, unknown>>,
): z.output<Schema> => {
  const outcome = schema.safeParse(raw, { error: plainWords });
  if (outcome.success) return outcome.data;
  const { issues } = outcome.error;
  const messages = issues.map(({ path, message }) => problemOf(path, message));
  const details = {
    parameters: [...new Set(issues.slice(0, MOST_NAMED).map(({ path }) => nameOf(path)))].join(', '),
  };
  if (issues.some((issue) => issue.code === 'custom' && issue.params?.['unprocessable'] === true))
    throw new UnprocessableError({ messages, details });
  throw new InvalidParametersError({ messages, details });
};

/** Wraps a parser that throws StowageErrors into a schema that reports them as problems. */
const parsed = <Output>(parse: (text: string) => Output) =>
  z.string().transform((text, context): Output => {
    try {
      return parse(text);
    } catch (error) {
      if (!(error instanceof StowageError)) throw error;
      context.issues.push({ code: 'custom', input: text, message: error.messages.join(' ') });
      return z.NEVER;
    }
  });

/** A folder or item inside the source, the root when absent or empty. */
export const pathField = parsed((text) => SourcePath.parse(text))
  .optional()
  .transform((path) => path ?? SourcePath.root)
  .meta({ maxLength: MOST_PATH_UNITS })
  .describe('A folder inside the source. Default: the root.');

/** A required path inside the source that is not the root (`from`). */
export const itemPathField = parsed((text) => SourcePath.parse(text))
  .refine((path) => path.toString().trim() !== '', 'must name a file or folder')
  .meta({ maxLength: MOST_PATH_UNITS })
  .describe('Path of the file or folder, relative to the root of its source.');

/** A text; undefined when absent or empty. */
export const filledField = z
  .string()
  .optional()
  .transform((text) => (text === '' ? undefined : text));

/** Name or key of a source. The source set resolves the alias `default`. */
export const sourceField = filledField.describe(
  'Name of a source. Default: all sources for listings, the first one for other actions.',
);

/** The name of an existing entry: exactly one path segment, never sanitised. */
export const nameField = z
  .string()
  .transform((name, context): string => {
    const segment = segmentOf(name);
    if (segment !== undefined && name.trim() !== '') return segment;
    const message = name.trim() === '' ? 'must not be empty' : 'must be a single name';
    context.issues.push({ code: 'custom', input: name, message });
    return z.NEVER;
  })
  .describe('Name of an existing file or folder in `path`.');

/** Parameters of actions on one existing item. */
export const itemShape = { source: sourceField, path: pathField, name: nameField };

/** A required text that is not blank. */
export const textField = z.string().refine((text) => text.trim() !== '', 'must not be empty');

export const newNameField = textField.describe('The new name. Unsafe characters become `_`.');

/** Maximum UTF-16 units of an address. */
export const MOST_ADDRESS_UNITS = 8192;

export const addressField = textField.meta({ maxLength: MOST_ADDRESS_UNITS });

/** An optional text; blank counts as absent. */
export const optionalTextField = z
  .string()
  .optional()
  .transform((text) => (text === undefined || text.trim() === '' ? undefined : text));

/** One of the values, undefined when absent or empty. */
export const choice = <Value extends string>(values: readonly [Value, ...Value[]]) =>
  filledField
    .pipe(z.enum(values, `must be one of ${values.join(', ')}`).optional())
    .meta({ sent: { type: 'string', enum: values } });
