import { z } from 'zod';
import { pathField, sourceField, textField } from '../parameters/fields.ts';
import { defineAction } from './action.ts';
import { documentJob } from './document-job.ts';
import { MadeFileAnswer } from './file-answer.ts';

const DOCX_TYPE = 'application/vnd.openxmlformats-officedocument.wordprocessingml.document';

/** Converts HTML into a DOCX file. */
export const generateDocxAction = defineAction({
  name: 'generateDocx',
  summary: 'Converts HTML into document.docx.',
  methods: ['GET', 'POST'],
  changes: false,
  takesFiles: false,
  parameters: z.object({ source: sourceField, path: pathField, html: textField }),
  result: undefined,
  run: async (context, input) => {
    context.access.require('GENERATE_DOCX', input.path);
    const job = documentJob(context, input);
    return new MadeFileAnswer({
      filename: 'document.docx',
      contentType: DOCX_TYPE,
      make: () => context.services.documents.docx(job),
    });
  },
});
