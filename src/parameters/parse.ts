import type * as z from 'zod';
import { InvalidParametersError, UnprocessableError } from '../errors/errors.ts';
import type { RawParameters } from './raw.ts';

/** What users call the parameters that they can get wrong. */
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

/**
 * What an issue says of a parameter: a sentence where users have filled it in, and its name where a client
 * has made it up, such as `mods[limit]: must be a number`.
 */
const messageOf = ({ path: [first = 'parameters', ...rest], message }: z.core.$ZodIssue): string => {
  if (message.endsWith('.')) return message;
  const name = String(first) + rest.map((key) => `[${String(key)}]`).join('');
  const words = WORDS.get(name);
  return words === undefined ? `${name}: ${message}` : `${words} ${message}.`;
};

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
  const messages = issues.map(messageOf);
  if (issues.some((issue) => issue.code === 'custom' && issue.params?.['unprocessable'] === true)) {
    throw new UnprocessableError({ messages });
  }
  throw new InvalidParametersError(messages);
};
