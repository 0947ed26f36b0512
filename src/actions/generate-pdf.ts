import { z } from 'zod';
import { orientations, paperFormats } from '../documents/pdf/paper.ts';
import { pathField, sourceField } from '../parameters/fields.ts';
import { defineAction } from './action.ts';
import { documentJob, htmlField } from './document-job.ts';
import { MadeFileAnswer } from './file-answer.ts';

const contentType = 'application/pdf';

/** One of the values, undefined when absent or empty. */
const choice = <Value extends string>(values: readonly [Value, ...Value[]]) =>
  z
    .string()
    .optional()
    .transform((value) => (value === '' ? undefined : value))
    .pipe(z.enum(values, `must be one of ${values.join(', ')}`).optional())
    .meta({ sent: { type: 'string', enum: values } });

/** Renders HTML as a PDF file. */
export const generatePdfAction = defineAction({
  name: 'generatePdf',
  summary: 'Renders HTML as document.pdf.',
  changes: false,
  takesLongText: true,
  parameters: z.object({
    source: sourceField,
    path: pathField,
    html: htmlField,
    options: z
      .object({
        format: choice(paperFormats).describe('A4 when absent.'),
        page_orientation: choice(orientations).describe('portrait when absent.'),
      })
      .optional(),
  }),
  result: { contentType },
  run: async (context, input) => {
    context.access.require('GENERATE_PDF', input.path);
    const paper = { format: input.options?.format, orientation: input.options?.page_orientation };
    const job = { ...documentJob(context, input), paper };
    return new MadeFileAnswer({
      filename: 'document.pdf',
      contentType,
      make: () => context.services.documents.pdf(job),
    });
  },
});
