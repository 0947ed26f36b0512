import * as z from 'zod';
import { pathField, sourceField } from '../../parameters/fields.ts';
import type { SourcePath } from '../../storage/source-path.ts';
import { countField, flagField, isBlank } from '../listing/fields.ts';
import { cursorField } from './cursor.ts';

const MOST_LETTERS = 400;
const MOST_ITEMS = 1000;
const ITEMS = 100;

/** The words of a query. */
const queryField = z
  .string()
  .refine((text) => text.trim() !== '', 'must not be empty')
  .refine((text) => text.length <= MOST_LETTERS, `must not be longer than ${String(MOST_LETTERS)} characters`)
  .transform((text) => text.split(/\s+/u).filter((word) => word !== ''))
  .describe('Words that a name must hold, all of them, whatever their case and order.');

const TIME = /^(\d{4}-\d\d-\d\d)(?:T\d\d:\d\d(?::\d\d(?:\.\d{1,9})?)?(?:Z|[+-]\d\d:\d\d))?$/u;

/** Milliseconds since 1970; undefined for what is not a moment. `Date.parse` takes February 30 for March 2. */
const timeOf = (text: string): number | undefined => {
  const day = TIME.exec(text)?.[1];
  if (day === undefined || Number.isNaN(Date.parse(text))) return undefined;
  return new Date(day).toISOString().startsWith(day) ? Date.parse(text) : undefined;
};

/** A moment, in milliseconds since 1970; undefined when absent or blank. */
const timeField = z
  .unknown()
  .optional()
  .transform((value, context): number | undefined => {
    if (isBlank(value)) return undefined;
    const time = typeof value === 'string' ? timeOf(value.trim()) : undefined;
    if (time !== undefined) return time;
    const message = 'must be a date or time of ISO 8601, such as 2026-01-31 or 2026-01-31T12:00:00Z';
    context.issues.push({ code: 'custom', input: value, message });
    return z.NEVER;
  })
  .meta({ sent: { type: 'string' } });

const types = ['image', 'file', 'folder'] as const;

const typeField = z
  .unknown()
  .optional()
  .transform((value, context): (typeof types)[number] | undefined => {
    if (isBlank(value)) return undefined;
    const type = types.find((one) => one === value);
    if (type !== undefined) return type;
    context.issues.push({ code: 'custom', input: value, message: `must be one of ${types.join(', ')}` });
    return z.NEVER;
  })
  .meta({ sent: { type: 'string', enum: types } });

/** What `filesSearch` takes. */
export const searchParameters = z.object({
  source: sourceField,
  path: pathField.describe('The folder in and below which is searched; the root when absent.'),
  query: queryField,
  type: typeField.describe(
    'Items of this type alone, as `files` reports it: `file` is what is not an image.',
  ),
  modifiedAfter: timeField.describe('Changed at this moment or later. A date means its beginning, in UTC.'),
  modifiedBefore: timeField.describe('Changed before this moment.'),
  minBytes: countField.describe('Files of so many bytes or more.'),
  maxBytes: countField.describe('Files of so many bytes or fewer.'),
  // An answer without items would never get any further.
  limit: countField
    .refine((count) => count !== 0, 'must be 1 or more')
    .transform((count) => Math.min(count ?? ITEMS, MOST_ITEMS))
    .meta({ sent: { type: 'integer', minimum: 1, maximum: MOST_ITEMS } })
    .describe(`Most items of an answer; ${String(ITEMS)} when absent, ${String(MOST_ITEMS)} at most.`),
  cursor: cursorField,
  mods: z.preprocess(
    (value) => (isBlank(value) ? {} : value),
    z.object({
      details: flagField.describe('Adds bytes, modified, mime, etag, width and height, as in `files`.'),
    }),
  ),
});

export interface SearchParameters extends z.output<typeof searchParameters> {
  readonly path: SourcePath;
}
