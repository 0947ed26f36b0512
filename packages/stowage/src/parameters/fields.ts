import * as z from 'zod';
import { StowageError } from '../errors/errors.ts';
import { MOST_PATH_UNITS, segmentOf, SourcePath } from '../storage/source-path.ts';

declare module 'zod' {
  interface GlobalMeta {
    /**
     * JSON schema of what a client should send, where the schema itself takes more than that; false: nothing.
     */
    readonly sent?: Readonly<Record<string, unknown>> | false;
  }
}

/** Wraps a parser that throws our errors into a schema that reports them as problems. */
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

/** A directory or item inside the source, the root when absent or empty. */
export const pathField = parsed((text) => SourcePath.parse(text))
  .optional()
  .transform((path) => path ?? SourcePath.root)
  .meta({ maxLength: MOST_PATH_UNITS })
  .describe('A folder inside the source; the root when absent.');

/** A required path inside the source that is not the root (`from`). */
export const itemPathField = parsed((text) => SourcePath.parse(text))
  .refine((path) => !path.isRoot, 'must name a file or folder')
  .meta({ maxLength: MOST_PATH_UNITS })
  .describe('Path of the file or folder, relative to the root of its source.');

/**
 * Name or key of a source; undefined when absent or empty. The alias `default` is resolved by the source set.
 */
export const sourceField = z
  .string()
  .optional()
  .transform((name) => (name === undefined || name === '' ? undefined : name))
  .describe('Name of a source. When absent, listings cover every source, and other actions use the first.');

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

/** A required text that is not blank. */
export const textField = z.string().refine((text) => text.trim() !== '', 'must not be empty');

/** The name that a file or folder shall get. */
export const newNameField = textField.describe('The new name. Unsafe characters become `_`.');

/** Longest address that is looked at, in UTF-16 units. */
export const MOST_ADDRESS_UNITS = 8192;

/** A required address. */
export const addressField = textField.meta({ maxLength: MOST_ADDRESS_UNITS });

/** An optional text; blank counts as absent. */
export const optionalTextField = z
  .string()
  .optional()
  .transform((text) => (text === undefined || text.trim() === '' ? undefined : text));

/** One of the values, undefined when absent or empty. */
export const choice = <Value extends string>(values: readonly [Value, ...Value[]]) =>
  z
    .string()
    .optional()
    .transform((value) => (value === '' ? undefined : value))
    .pipe(z.enum(values, `must be one of ${values.join(', ')}`).optional())
    .meta({ sent: { type: 'string', enum: values } });
