import { z } from 'zod';
import { pathField, sourceField } from '../parameters/fields.ts';
import { defineAction } from './action.ts';
import { documentJob, htmlField } from './document-job.ts';
import { MadeFileAnswer } from './file-answer.ts';

const contentType = 'application/vnd.openxmlformats-officedocument.wordprocessingml.document';

/** Converts HTML into a DOCX file. */
export const generateDocxAction = defineAction({
  name: 'generateDocx',
  summary: 'Converts HTML into document.docx.',
  changes: false,
  takesLongText: true,
  parameters: z.object({ source: sourceField, path: pathField, html: htmlField }),
  result: { contentType },
  run: async (context, input) => {
    context.access.require('GENERATE_DOCX', input.path);
    const job = documentJob(context, input);
    return new MadeFileAnswer({
      filename: 'document.docx',
      contentType,
      make: () => context.services.documents.docx(job),
    });
  },
});
