import * as z from 'zod';
import {
  alignments,
  leavesRoom,
  orientations,
  pageSizeOf,
  paperFormats,
  readLine,
  readMargin,
  type PageLine,
  type PageSetup,
} from '../documents/page-setup.ts';
import { choice, optionalTextField } from '../parameters/fields.ts';

/** Most characters of a header or footer. */
const MAX_LINE = 200;

const lineField = (where: string) =>
  optionalTextField
    .refine(
      (text) => text === undefined || text.length <= MAX_LINE,
      `must have at most ${MAX_LINE} characters`,
    )
    // A title may be long.
    .refine((text = '') => text.split('{title}').length <= 2, 'must have {title} only once')
    .describe(`Text ${where} of every page, with {page}, {pages}, {title} and {date}.`);

const alignField = choice(alignments).describe('center when absent.');

/** The pages of a document. */
export const documentOptionsField = z
  .object({
    format: choice(paperFormats).describe('A4 when absent.'),
    page_orientation: choice(orientations).describe('portrait when absent.'),
    margin: optionalTextField
      .refine((text) => text === undefined || readMargin(text) !== undefined, {
        error: 'must be one to four lengths in mm, cm, in, pt or px, such as "2cm"',
        abort: true,
      })
      .transform((text) => (text === undefined ? undefined : readMargin(text)))
      .describe('One to four lengths as in CSS: "20mm", "1in 2cm".'),
    header: lineField('above the text'),
    header_align: alignField,
    footer: lineField('below the text'),
    footer_align: alignField,
  })
  .refine(
    ({ format, page_orientation: orientation, margin }) =>
      margin === undefined || leavesRoom(pageSizeOf({ format, orientation }), margin),
    { path: ['margin'], message: 'must leave room for the text, and be at most half of the page' },
  )
  .optional();

const lineOf = (text: string | undefined, align: PageLine['align'] = 'center'): PageLine | undefined =>
  text === undefined ? undefined : { parts: readLine(text, new Date()), align };

/** What the options say of the pages. */
export const pageSetupOf = (options: z.output<typeof documentOptionsField>): PageSetup => ({
  format: options?.format,
  orientation: options?.page_orientation,
  margin: options?.margin,
  header: lineOf(options?.header, options?.header_align),
  footer: lineOf(options?.footer, options?.footer_align),
});
