import { z } from 'zod';
import { pathField, sourceField, textField } from '../parameters/fields.ts';
import { defineAction } from './action.ts';
import { documentAnswer, documentJob } from './document-answer.ts';

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
    const bytes = await context.services.documents.docx(documentJob(context, input));
    return documentAnswer('document.docx', DOCX_TYPE, bytes);
  },
});
