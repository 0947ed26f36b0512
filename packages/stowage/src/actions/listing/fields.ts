import * as z from 'zod';
import { sortOrders } from '../../config/settings/values.ts';
import { foldersPositions } from './page.ts';

/** Values that count as absent. Clients send the words `undefined` and `null` for missing values. */
const BLANKS = [null, '', 'undefined', 'null'] as const;

export const isBlank = (value: unknown): boolean =>
  value === undefined || BLANKS.some((blank) => blank === value);

const blank = z.literal(BLANKS);

/** A boolean; undefined when absent or blank. Accepts text and numbers as PHP clients send them. */
export const flagField = z
  .union([z.boolean(), z.literal(['true', 'false', '1', '0', 1, 0]), blank], {
    error: 'must be true or false',
  })
  .optional()
  .transform((value) =>
    isBlank(value) ? undefined : value === true || value === 'true' || Number(value) === 1,
  )
  .meta({ sent: { type: 'boolean' } });

const NUMBER = /^[+-]?\d+(?:\.\d+)?(?:e[+-]?\d+)?$/iu;

/** The number that a value denotes, as near as possible: `1e400` is the largest one. */
const numberOf = (value: unknown): number | undefined => {
  const isNumber = typeof value === 'number' || (typeof value === 'string' && NUMBER.test(value.trim()));
  return isNumber ? Math.min(Number(value), Number.MAX_VALUE) : undefined;
};

/**
 * A count, undefined when absent. A value that is not a number, an empty text included, is the only error
 * with status 422; a negative number or a fraction is rejected with 400.
 */
export const countField = z
  .unknown()
  .optional()
  .transform((value, context): number | undefined => {
    if (value !== '' && isBlank(value)) return undefined;
    const number = numberOf(value);
    if (number === undefined) {
      context.issues.push({
        code: 'custom',
        input: value,
        message: 'must be a number',
        params: { unprocessable: true },
      });
      return z.NEVER;
    }
    if (number >= 0 && Number.isInteger(number)) return number;
    context.issues.push({ code: 'custom', input: value, message: 'must be a whole number, zero or more' });
    return z.NEVER;
  })
  .meta({ sent: { type: 'integer', minimum: 0 } });

/** One of several words; undefined when absent or blank. */
export const choiceField = <const Choices extends readonly string[]>(choices: Choices) =>
  z
    .union([blank, z.enum(choices)], { error: `must be one of ${choices.join(', ')}` })
    .optional()
    .transform((value) => (isBlank(value) ? undefined : (value as Choices[number])))
    .meta({ sent: { type: 'string', enum: choices } });

/** A text that may look like a number or a boolean; undefined when absent or blank. */
const wordField = z
  .union([z.string(), z.number(), z.boolean(), z.null()], { error: 'must be a text' })
  .optional()
  .transform((value) => (isBlank(value) ? undefined : String(value)))
  .meta({ sent: { type: 'string' } });

/** `mods[...]` of a listing; empty when absent or blank. */
export const modsField = z.preprocess(
  (value) => (isBlank(value) ? {} : value),
  z.object({
    withFolders: flagField.describe('Lists folders too.'),
    onlyImages: flagField.describe('Omits files that are not images.'),
    offset: countField.describe('Number of items before the page.'),
    limit: countField.describe('Maximum number of items of a page. Default: the setting countInChunk.'),
    sortBy: choiceField(sortOrders).describe('Default: the setting defaultSortBy.'),
    foldersPosition: choiceField(foldersPositions).describe(
      'Position of folders: among the files, above or below them.',
    ),
    details: flagField.describe(
      'Adds bytes, modified, mime, etag, about (the description), and width and height of images, to each item, and ' +
        'total to each source.',
    ),
    variants: flagField.describe('Adds `variants` to images: one path for each of the imagePresets.'),
    filterWord: wordField.describe('Returns only names that contain this text, in any letter case.'),
  }),
);
