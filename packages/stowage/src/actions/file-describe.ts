import * as z from 'zod';
import { carryOut } from '../changes/carry-out.ts';
import { InvalidParametersError } from '../errors/errors.ts';
import { itemShape } from '../parameters/fields.ts';
import {
  type AboutPatch,
  aboutSchema,
  isNothing,
  isWithin,
  MOST_TAG,
  MOST_TAGS,
  MOST_TEXT,
  plainText,
} from '../storage/about/about.ts';
import { defineAction } from './action.ts';
import { numberField } from './edit-image.ts';

const tooLong = (most: number): string => `must not be longer than ${String(most)} characters`;

const isEmpty = (value: unknown): boolean => typeof value === 'string' && value.trim() === '';

/** A text; null removes the field. A character outside the basic plane counts once. */
const wordsField = z
  .string()
  .transform(plainText)
  .refine((value) => isWithin(value, MOST_TEXT), tooLong(MOST_TEXT))
  .transform((value) => (isEmpty(value) ? null : value))
  .optional()
  .meta({ maxLength: 2 * MOST_TEXT, sent: { type: 'string', maxLength: MOST_TEXT } });

const tagsField = z
  .union([z.array(z.string()), z.string().transform((tag) => [tag])], 'must be a list')
  .transform((tags) => {
    const plain = tags.map((tag) => plainText(tag).trim());
    return [...new Set(plain)].filter((tag) => tag !== '');
  })
  .refine((tags) => tags.length <= MOST_TAGS, `must not be more than ${String(MOST_TAGS)}`)
  .refine((tags) => tags.every((tag) => isWithin(tag, MOST_TAG)), tooLong(MOST_TAG))
  .transform((tags) => (tags.length === 0 ? null : tags))
  .optional()
  .meta({
    sent: { type: 'array', maxItems: MOST_TAGS, items: { type: 'string', maxLength: MOST_TAG } },
  });

const shareField = numberField.refine((value) => value >= 0 && value <= 1, 'must be from 0 to 1');

/** A point; null removes it: an empty text, or a point without coordinates. */
const pointField = z
  .preprocess(
    (value) => {
      const parts = typeof value === 'object' && value !== null ? Object.values(value) : [value];
      return parts.every(isEmpty) ? null : value;
    },
    z.object({ x: shareField, y: shareField }, 'must be a set of values').nullable(),
  )
  .optional()
  .meta({
    sent: {
      type: 'object',
      properties: {
        x: { type: 'number', minimum: 0, maximum: 1 },
        y: { type: 'number', minimum: 0, maximum: 1 },
      },
    },
  });

const parameters = z.object({
  ...itemShape,
  alt: wordsField.describe('A description of the picture for readers who do not see it.'),
  title: wordsField,
  caption: wordsField,
  credit: wordsField.describe('The author or owner.'),
  tags: tagsField,
  focalPoint: pointField.describe(
    'The most important point of a picture, as fractions of its width and height from the upper left corner.',
  ),
});

/** Changes the description of a file: absent fields stay, empty ones are removed. */
export const fileDescribeAction = defineAction({
  name: 'fileDescribe',
  summary: 'Changes the description of a file: alternative text, title, caption, credit, tags, focal point.',
  changes: true,
  parameters,
  result: z.object({ about: aboutSchema.optional() }),
  run: async (context, input) => {
    const { alt, title, caption, credit, tags, focalPoint } = input;
    const patch: AboutPatch = { alt, title, caption, credit, tags, focalPoint };
    if (isNothing(patch)) throw new InvalidParametersError('Something must be said about the file.');
    const view = await context.views.open(input.source);
    const path = input.path.child(input.name);
    await view.find('FILE_DESCRIBE', path, 'file');
    const [done] = await carryOut(context, { type: 'describe', open: view, path, patch });
    return view.may('FILES', path, 'file') ? { about: done?.about ?? {} } : {};
  },
});
