import type * as z from 'zod';
import { InvalidParametersError, UnprocessableError } from '../errors/errors.ts';
import { nameOf, problemOf } from './problems.ts';
import type { RawParameters } from './raw.ts';

/** Most problems whose parameters the details name. */
const MOST_NAMED = 10;

const KINDS: Readonly<Record<string, string>> = {
  string: 'a text',
  number: 'a number',
  boolean: 'true or false',
  object: 'a set of values',
  array: 'a list',
};

/** Plain words for what the schema library says in terms of types; undefined leaves its own message. */
const plainWords: z.core.$ZodErrorMap = (issue) => {
  if (issue.code !== 'invalid_type') return undefined;
  // A name that stands several times in a query or form.
  if (issue.expected === 'string' && Array.isArray(issue.input)) return 'must be given only once';
  return issue.input === undefined ? 'is required' : `must be ${KINDS[issue.expected] ?? issue.expected}`;
};

/**
 * Checks raw parameters against an action's schema.
 * @throws InvalidParametersError with one message per problem; code UNPROCESSABLE (422) when an issue carries
 *   `params.unprocessable`.
 */
export const parseParameters = <Schema extends z.ZodType>(
  schema: Schema,
  raw: RawParameters,
): z.output<Schema> => {
  const outcome = schema.safeParse(raw, { error: plainWords });
  if (outcome.success) return outcome.data;
  const { issues } = outcome.error;
  const messages = issues.map(({ path, message }) => problemOf(path, message));
  const details = {
    parameters: [...new Set(issues.slice(0, MOST_NAMED).map(({ path }) => nameOf(path)))].join(', '),
  };
  if (issues.some((issue) => issue.code === 'custom' && issue.params?.['unprocessable'] === true)) {
    throw new UnprocessableError({ messages, details });
  }
  throw new InvalidParametersError({ messages, details });
};
